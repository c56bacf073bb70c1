"""A result as a text chart in a fenced block, where its display hint asks for one that fits.

The renderer is small on purpose: the libraries for charts in a terminal draw whole screens with
colours and axes, none of which survives a result cell or Markdown.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from pgask_server.answer import shape as shapes
from pgask_server.answer import text
from pgask_server.answer.field import NULL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pgask_server.answer.field import Field
    from pgask_server.answer.shape import Shape
    from pgask_server.answer.value import ResultTable

BAR_WIDTH = 30
LABEL_WIDTH = 30
MOST_BARS = 20
MOST_POINTS = 60

_BLOCK = "▇"
_SLIVER = "▏"
_AXIS = "│"
_LEVELS = "▁▂▃▄▅▆▇█"


def render(table: ResultTable, shape: Shape | None = None) -> str | None:
    """The chart that the hint asks for; None where it asks for none, or the result has no shape
    for it: no measure, nothing that names the rows, no order in time for a line."""
    if table.display in {"table", "number"} or not table.rows:
        return None
    shape = shape or shapes.read(table)
    measure = shape.measure
    if measure is None or measure.numbers is None:
        return None
    if table.display == "line":
        lines = _sparklines(shape)
    elif not shape.labels:
        return None
    elif table.display == "pie" and (shares := _shares(measure)) is not None:
        lines = _bars(shape, measure.numbers, shares)
    else:
        lines = _bars(shape, measure.numbers, [measure.show(v) for v in measure.values[:MOST_BARS]])
    return text.code_block("\n".join(lines)) if lines else None


def number_line(shape: Shape) -> str | None:
    """The figures of a single row, bold; None where there is more than a figure or two to show."""
    figures = [f for f in shape.fields if f.kind not in {"text", "identifier"}]
    if shape.row_count != 1 or not figures or len(figures) < len(shape.fields):
        return None
    figures = [f for f in figures if f in shape.spoken]
    return " · ".join(
        f"**{text.escape(f.say(f.values[0]))}** {text.escape(f.words)}".rstrip() for f in figures
    )


# Bars ---------------------------------------------------------------------------------------


def _bars(shape: Shape, numbers: Sequence[float | None], values: Sequence[str]) -> list[str]:
    count = min(shape.row_count, MOST_BARS)
    labels = [text.cut(shape.label(row), LABEL_WIDTH) for row in range(count)]
    drawn = _draw([_finite(number) for number in numbers[:count]])
    label_width = max(map(text.width, labels))
    value_width = max(map(text.width, values[:count]))
    lines = [
        f"{text.pad(label, label_width)}  {bar}  {text.pad(value, value_width, right=True)}"
        for label, bar, value in zip(labels, drawn, values, strict=False)
    ]
    if shape.row_count > count:
        lines.append(f"… {shape.row_count - count:,} more")
    return lines


def _draw(numbers: Sequence[float]) -> list[str]:
    """Bars of one width each; those below zero run to the left of an axis."""
    high, low = max(0.0, *numbers), min(0.0, *numbers)
    # Scaled before they are subtracted: two large numbers may differ by more than a float holds.
    largest = max(high, -low) or 1.0
    high, low = high / largest, low / largest
    span = high - low or 1.0
    left = round(BAR_WIDTH * -low / span)
    left = min(max(left, 1), BAR_WIDTH - 1) if low < 0 < high else left
    right = BAR_WIDTH - left
    bars: list[str] = []
    for number in numbers:
        part = number / largest
        if not low:
            bars.append(_block(part / (high or 1.0), right).ljust(right))
        else:
            below = _block(part / low, left) if part < 0 else ""
            above = _block(part / high, right) if part > 0 else ""
            bars.append(f"{below.replace(_SLIVER, '▕').rjust(left)}{_AXIS}{above.ljust(right)}")
    return bars


def _block(share: float, columns: int) -> str:
    length = round(share * columns)
    return _BLOCK * length if length or share <= 0 else _SLIVER


def _finite(number: float | None) -> float:
    # NaN and the infinities have no length; their value stands beside the bar.
    return number if number is not None and abs(number) < float("inf") else 0.0


def _shares(measure: Field) -> list[str] | None:
    """Each value's share of the whole in percent; None where they are no parts of a whole."""
    known = [number for number in measure.numbers or () if number is not None]
    total = sum(known)
    if not 0 < total < float("inf") or min(known) < 0:
        return None
    return [
        NULL if number is None else f"{number / total * 100:.1f} %"
        for number in measure.numbers or ()
    ]


# Lines --------------------------------------------------------------------------------------


def _sparklines(shape: Shape) -> list[str]:
    order = shape.order_in_time if shape.time and shape.row_count > 1 else "none"
    if order == "none":
        return []
    rows = list(range(shape.row_count))
    if order == "descending":
        rows.reverse()
    lines: list[tuple[str, str, str]] = []
    for measure in shape.measures:
        numbers = [number for row in rows if (number := (measure.numbers or ())[row]) is not None]
        if len(numbers) < 2 or not all(abs(number) < float("inf") for number in numbers):
            continue
        ends = [value for row in rows if (value := measure.values[row]) is not None]
        said = f"{measure.say(ends[0])} → {measure.say(ends[-1])}"
        lines.append((measure.words or "value", _spark(numbers), said))
    if not lines:
        return []
    name_width = max(text.width(name) for name, _, _ in lines)
    spark_width = max(len(spark) for _, spark, _ in lines)
    begin = shape.when(rows[0], preposition=False)
    end = shape.when(rows[-1], preposition=False)
    dates = begin + " " * max(2, spark_width - text.width(begin) - text.width(end)) + end
    return [
        f"{text.pad(name, name_width)}  {spark.ljust(spark_width)}  {said}"
        for name, spark, said in lines
    ] + [f"{' ' * name_width}  {dates}"]


def _spark(numbers: Sequence[float]) -> str:
    """One character a point; more points than MOST_POINTS are averaged."""
    points = list(numbers)
    if len(points) > MOST_POINTS:
        cuts = [round(i * len(points) / MOST_POINTS) for i in range(MOST_POINTS + 1)]
        points = [sum(points[a:b]) / (b - a) for a, b in pairwise(cuts)]
    low, high = min(points), max(points)
    step = (high - low) / (len(_LEVELS) - 1)
    return "".join(_LEVELS[round((point - low) / step) if step else 3] for point in points)
