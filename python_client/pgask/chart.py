"""What of a result is drawn, and its Vega-Lite specification."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pgask.value import Value, as_float, is_time, show

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pgask.table import Column, Table

_SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"


@dataclass(frozen=True, slots=True)
class Chart:
    """The drawn part of a result: a label and one or more numbers per row, in row order."""

    label: Column
    labels: tuple[Value, ...]
    measures: tuple[Column, ...]
    numbers: tuple[tuple[float | None, ...], ...]
    """For each measure its numbers, row by row; None where there is none to draw."""

    def label_texts(self) -> list[str]:
        """The labels as a person reads them; NULL as a dash."""
        return [show(label, grouped=False) or "–" for label in self.labels]


def chart_of(table: Table) -> Chart | None:
    """What to draw for a display of bar, line or pie; None where the result does not fit it."""
    if table.display not in ("bar", "line", "pie") or not table.rows:
        return None
    columns = table.columns
    label = next((i for i, column in enumerate(columns) if not column.is_measure), 0)
    measures = [i for i, column in enumerate(columns) if i != label and column.is_measure]
    if not measures:
        return None
    # Bars and slices compare one quantity; lines may share their axis.
    measures = measures if table.display == "line" else measures[:1]
    return Chart(
        label=columns[label],
        labels=tuple(row[label] for row in table.rows),
        measures=tuple(columns[i] for i in measures),
        numbers=tuple(tuple(as_float(row[i]) for row in table.rows) for i in measures),
    )


def vega_lite(table: Table) -> Mapping[str, object] | None:
    """A Vega-Lite v5 specification, or None where nothing is to be drawn.

    Column names and values appear as titles and data only, never as field names or expressions.
    """
    chart = chart_of(table)
    if chart is None:
        return None
    temporal = is_time(chart.label.type)
    labels = [str(label) for label in chart.labels] if temporal else _distinct(chart.label_texts())
    records: list[dict[str, object]] = [
        {"label": label, "value": number, "series": measure.name, "row": position}
        for measure, numbers in zip(chart.measures, chart.numbers, strict=True)
        for position, (label, number) in enumerate(zip(labels, numbers, strict=True))
    ]
    axis_title = chart.measures[0].name if len(chart.measures) == 1 else None
    order = {"field": "row", "op": "min", "order": "ascending"}
    value = {"field": "value", "type": "quantitative", "title": axis_title}
    label: dict[str, object] = {"field": "label", "type": "nominal", "title": chart.label.name}
    encoding: dict[str, object]
    mark: dict[str, object]
    match table.display:
        case "pie":
            mark = {"type": "arc", "tooltip": True}
            encoding = {"theta": value, "color": {**label, "sort": order}}
        case "line":
            mark = {"type": "line", "point": True, "tooltip": True}
            kind = {"type": "temporal"} if temporal else {"type": "ordinal", "sort": order}
            encoding = {"x": {**label, **kind}, "y": value}
            if len(chart.measures) > 1:
                encoding["color"] = {"field": "series", "type": "nominal", "title": None}
        case _:
            mark = {"type": "bar", "tooltip": True}
            encoding = {"y": {**label, "sort": order}, "x": value}
    specification: dict[str, object] = {
        "$schema": _SCHEMA,
        "data": {"values": records},
        "mark": mark,
        "encoding": encoding,
    }
    if table.title:
        specification["title"] = table.title
    return specification


def _distinct(labels: list[str]) -> list[str]:
    """Number what is repeated: Vega-Lite would draw rows of one label as one bar."""
    seen: dict[str, int] = {}
    numbered: list[str] = []
    for label in labels:
        seen[label] = seen.get(label, 0) + 1
        numbered.append(label if seen[label] == 1 else f"{label} ({seen[label]})")
    return numbered
