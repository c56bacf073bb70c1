"""Several rows in one sentence: a trend, a ranking, a range, or merely their number.

"Leads" is said only where the rows are sorted by the measure, a share only where the rows are
everything, a trend only where the rows are one series in time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgask_server.answer import text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pgask_server.answer.field import Field
    from pgask_server.answer.shape import Order, Shape

_LISTED = 5
"""Rows that one sentence can list."""


def describe(shape: Shape) -> str:
    """The sentence for a result of two rows or more."""
    return _series(shape) or _ranking(shape) or _range(shape) or _listing(shape)


def _series(shape: Shape) -> str | None:
    measure = shape.measures[0] if shape.measures else None
    if measure is None or measure.numbers is None or not shape.is_series:
        return None
    rows = list(range(shape.row_count))
    if shape.order_in_time == "descending":
        rows.reverse()
    numbers = measure.numbers
    first, last = numbers[rows[0]], numbers[rows[-1]]
    if first is None or last is None or first != first or last != last:
        return None
    subject = text.capital(measure.words or "the value")
    begin, end = shape.when(rows[0]), shape.when(rows[-1])
    said = measure.say(measure.values[rows[0]]), measure.say(measure.values[rows[-1]])
    known = [(number, row) for row in rows if (number := numbers[row]) is not None]
    peak, low = max(known)[0], min(known)[0]
    if peak == low:
        return f"{subject} stayed at {said[0]} from {_bare(begin)} to {_bare(end)}."
    if first == last:
        sentence = f"{subject} stood at {said[0]} both {begin} and {end}"
    else:
        change = _change(first, last, measure)
        verb = "rose" if last > first else "fell"
        sentence = f"{subject} {verb} from {said[0]} {begin} to {said[1]} {end}{change}"
    for extreme, words in ((peak, "with a peak of"), (low, "with a low of")):
        at = [row for number, row in known if number == extreme]
        if extreme not in (first, last) and len(at) == 1:
            return f"{sentence}, {words} {measure.say(measure.values[at[0]])} {shape.when(at[0])}."
    return f"{sentence}."


def _bare(when: str) -> str:
    return when.partition(" ")[2]


def _change(first: float, last: float, measure: Field) -> str:
    if measure.kind != "measure" or first <= 0 or last < 0:
        return ""
    percent = (last - first) / first * 100
    return f" ({percent:+,.0f} %)" if 1 <= abs(percent) < 1000 else ""


def _ranking(shape: Shape) -> str | None:
    measure = shape.measure
    if measure is None or measure.numbers is None or not shape.has_distinct_labels:
        return None
    if shape.labels[0] in shape.time:
        return None
    order = shape.order(measure)
    first = measure.numbers[0]
    if order == "none" or first is None:
        return None
    said = measure.say(measure.values[0])
    if order != "constant" and len(shape.measures) > 1 and measure.words:
        said += f" ({measure.words})"
    if order == "constant":
        if None in measure.numbers:
            return None
        what = f" for {measure.words}" if measure.words else ""
        rows = "Both" if shape.row_count == 2 else f"All {shape.row_count:,}"
        return f"{rows} rows show the same value{what}: {said}."
    level = [row for row, number in enumerate(measure.numbers) if number == first]
    if len(level) > 1:
        return _tie(shape, measure, level, order, said)
    second = measure.numbers[1]
    name = shape.label(0)
    if order == "ascending":
        rest = ""
        if second is not None:
            rest = f", followed by {shape.label(1)} with {measure.say(measure.values[1])}"
        return f"The lowest is {name} with {said}{rest}."
    verb = "leads with" if first > 0 else "is highest with"
    return f"{name} {verb} {said}{_lead(shape, measure, first, second)}{_share(shape, measure)}."


def _tie(shape: Shape, measure: Field, level: Sequence[int], order: Order, said: str) -> str:
    names = [shape.label(row) for row in level[:3]]
    if len(level) == 4:
        names.append(shape.label(level[3]))
    elif len(level) > 4:
        names.append(f"{len(level) - 3:,} others")
    if order == "ascending":
        return f"{text.enumerate_words(names)} are lowest with {said} each."
    first = (measure.numbers or (0.0,))[0] or 0.0
    verb = "lead with" if first > 0 else "are highest with"
    return f"{text.enumerate_words(names)} {verb} {said} each."


def _lead(shape: Shape, measure: Field, first: float, second: float | None) -> str:
    """', 18 % ahead of Oak shelf': how far the first stands from the second."""
    if second is None:
        return ""
    name, said = shape.label(1), measure.say(measure.values[1])
    if measure.kind != "measure" or second <= 0 or first == float("inf"):
        return f", ahead of {name} with {said}"
    percent = (first / second - 1) * 100
    if percent >= 200:
        return f", {first / second:,.1f} times the {said} of {name}"
    if percent < 1:
        return f", just ahead of {name} with {said}"
    return f", {percent:.0f} % ahead of {name}"


def _share(shape: Shape, measure: Field) -> str:
    total = shape.total(measure)
    first = (measure.numbers or (None,))[0]
    if total is None or first is None:
        return ""
    share = first / total * 100
    if not 1 <= share < 99.5:
        return ""
    return f", and makes up {share:.0f} % of the total shown"


def _range(shape: Shape) -> str | None:
    measure = shape.measure
    if measure is None or measure.numbers is None:
        return None
    known = [(n, row) for row, n in enumerate(measure.numbers) if n is not None and n == n]
    if len(known) < 2:
        return None
    low, high = min(known), max(known, key=lambda pair: (pair[0], -pair[1]))
    rows = text.plural(shape.row_count, "row")
    subject = measure.words or "values"
    if low[0] == high[0]:
        rest = "" if len(known) == shape.row_count else " where there is one"
        what = f" for {measure.words}" if measure.words else ""
        return f"{rows}, all with {measure.say(measure.values[low[1]])}{what}{rest}."
    ends: list[str] = []
    for number, row in (low, high):
        once = sum(1 for other, _ in known if other == number) == 1
        name = shape.label(row) if once and shape.has_distinct_labels else ""
        ends.append(measure.say(measure.values[row]) + (f" ({name})" if name else ""))
    return f"{rows}, with {subject} from {ends[0]} to {ends[1]}."


def _listing(shape: Shape) -> str:
    count = text.plural(shape.row_count, "row")
    if not shape.has_distinct_labels or shape.label(0) == "":
        return f"{count}."
    if shape.row_count <= _LISTED:
        names = [shape.label(row) for row in range(shape.row_count)]
        return f"{count}: {text.enumerate_words(names)}."
    return f"{count}, the first being {shape.label(0)}."
