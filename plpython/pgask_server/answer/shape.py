"""What a result is about: which columns name its rows, which one measures them, in what order.

The narrative and the chart both read this, so that they speak of the same measure.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from pgask_server.answer import field as fields_of
from pgask_server.answer import moment, text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pgask_server.answer.field import Field
    from pgask_server.answer.value import ResultTable
    from pgask_server.answer.wire import Scalar

Order = Literal["descending", "ascending", "constant", "none"]

_LABEL_COLUMNS = 40
"""Columns that the name of a row may take in a sentence or beside a bar."""

# Adding these up means nothing, so no share of their total is claimed.
_NOT_ADDITIVE = frozenset(
    {"average", "avg", "mean", "median", "min", "max", "minimum", "maximum", "highest", "lowest"}
    | {"percent", "percentage", "pct", "ratio", "rate", "share", "price", "per", "age", "score"}
    | {"rating", "temperature", "similarity", "cumulative", "running", "rank", "distinct", "level"}
    | {"margin", "growth", "change", "difference", "unique", "limit", "maximal", "first", "last"}
)
# What may have kept rows out of the result, or counted one thing in several rows.
_PARTIAL = re.compile(
    r"\b(limit|fetch|offset|having|rank|dense_rank|percent_rank|row_number|ntile|tablesample"
    r"|distinct|intersect|except|rollup|cube|grouping)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Shape:
    """A result read by columns."""

    fields: tuple[Field, ...]
    row_count: int
    is_whole: bool
    """True where nothing but the WHERE clause can have kept a row out."""

    @cached_property
    def time(self) -> tuple[Field, ...]:
        """The columns that place a row in time: a date, a year, a year and a month."""
        first = next((f for f in self.fields if f.kind in {"moment", "year", "period"}), None)
        if first is None:
            return ()
        if first.kind == "year":
            rest = self.fields[self.fields.index(first) + 1 :]
            if rest and rest[0].kind == "period":
                return (first, rest[0])
        return (first,)

    @cached_property
    def labels(self) -> tuple[Field, ...]:
        """The columns whose values name a row."""
        texts = [f for f in self.fields if f.kind == "text" and f.type != "money"]
        if not texts:
            named = [f for f in self.fields if f.kind == "boolean"] if not self.time else []
            keys = [f for f in self.fields if f.kind == "identifier"]
            return self.time or tuple(named[:1]) or tuple(keys[:1])
        first = texts[0]
        if len(texts) > 1:
            words, following = fields_of.words_of(first.name), fields_of.words_of(texts[1].name)
            if words[-2:] == ("first", "name") and following[-2:] == ("last", "name"):
                return (first, texts[1])
            if "schema" in words:
                return (first, texts[1])
        for candidate in texts:
            if len(set(candidate.values)) == self.row_count:
                return (candidate,)
        return (first,)

    def label(self, row: int) -> str:
        """What the row is called: cleaned and cut; '' where no column names it."""
        if self.labels == self.time and self.time:
            return self.when(row, preposition=False)
        shown = [f.show(f.values[row]) for f in self.labels]
        separator = "." if "schema" in fields_of.words_of(self.labels[0].name) else " "
        return text.cut(separator.join(shown), _LABEL_COLUMNS) if self.labels else ""

    @cached_property
    def has_distinct_labels(self) -> bool:
        """True where every row has a name of its own."""
        if not self.labels:
            return False
        return len(set(zip(*(f.values for f in self.labels), strict=True))) == self.row_count

    @cached_property
    def spoken(self) -> tuple[Field, ...]:
        """The columns worth a word: where a size as text stands beside its bytes, the former."""
        if any(f.kind == "size" for f in self.fields):
            return tuple(f for f in self.fields if "bytes" not in fields_of.words_of(f.name))
        return self.fields

    @cached_property
    def measures(self) -> tuple[Field, ...]:
        """The columns that can be compared, from left to right."""
        return tuple(
            f
            for f in self.spoken
            if f.kind in {"measure", "percent", "size"} and f.numbers is not None
        )

    @cached_property
    def measure(self) -> Field | None:
        """The measure that the rows are sorted by, else the first one that has values."""
        for wanted in ("descending", "ascending"):
            for candidate in self.measures:
                if self.order(candidate) == wanted:
                    return candidate
        valued = (f for f in self.measures if any(n is not None for n in f.numbers or ()))
        return next(valued, None)

    def order(self, measure: Field) -> Order:
        """How the rows stand by this measure; NULLs may follow at the end."""
        numbers = list(measure.numbers or ())
        while numbers and numbers[-1] is None:
            numbers.pop()
        known = [number for number in numbers if number is not None]
        if len(known) != len(numbers) or not known or any(number != number for number in known):
            return "none"
        if len(known) > 1 and known[0] == known[-1] and len(set(known)) == 1:
            return "constant"
        if all(a >= b for a, b in pairwise(known)):
            return "descending"
        if all(a <= b for a, b in pairwise(known)):
            return "ascending"
        return "none"

    @cached_property
    def is_series(self) -> bool:
        """True where the rows are one measure over time, in order, oldest or newest first."""
        if not self.time or self.row_count < 2:
            return False
        others = [f for f in self.fields if f.kind in {"text", "identifier", "boolean"}]
        if others or not self.measures:
            return False
        return self.order_in_time != "none"

    @cached_property
    def order_in_time(self) -> Order:
        """How the rows stand in time."""
        keys = [
            tuple(f"{value:>20}" if isinstance(value, str) else f"{value!s:>20}" for value in row)
            for row in zip(*(f.values for f in self.time), strict=True)
        ]
        if any(f.values[row] is None for f in self.time for row in range(self.row_count)):
            return "none"
        if all(a < b for a, b in pairwise(keys)):
            return "ascending"
        if all(a > b for a, b in pairwise(keys)):
            return "descending"
        return "none"

    def when(self, row: int, *, preposition: bool = True) -> str:
        """The row's time in words: 'in March 2025'; without preposition as a cell shows it."""
        shown = [f.show(f.values[row]) for f in self.time]
        last = self.time[-1]
        value = last.values[row]
        if last.kind == "moment" and isinstance(value, str) and last.moments is not None:
            return last.moments.say(value) if preposition else last.moments.show(value)
        if last.kind == "period" and value is not None:
            return _period(last.name, shown, preposition=preposition)
        return f"in {shown[0]}" if preposition else shown[0]

    def total(self, measure: Field) -> float | None:
        """The sum of the measure, where the rows are everything and a sum means something."""
        numbers = measure.numbers or ()
        if not self.is_whole or measure.kind != "measure" or self.row_count < 2:
            return None
        if not _NOT_ADDITIVE.isdisjoint(fields_of.words_of(measure.name)):
            return None
        known = [number for number in numbers if number is not None]
        if not known or any(number < 0 or number != number for number in known):
            return None
        return sum(known) or None


def _period(name: str, shown: Sequence[str], *, preposition: bool) -> str:
    unit = fields_of.words_of(name)[-1]
    number = shown[-1]
    year = f" {shown[0]}" if len(shown) > 1 else ""
    if unit == "month":
        return f"{'in ' if preposition else ''}{moment.MONTHS[int(number) - 1]}{year}"
    if unit == "quarter":
        return f"{'in ' if preposition else ''}{year.strip()}{' ' if year else ''}Q{number}"
    if not preposition:
        return f"{shown[0]}-{number}" if year else number
    words = {"hour": f"at hour {number}", "week": f"in week {number}"}
    return words.get(unit, f"on {unit} {number}") + (f" of{year}" if year else "")


def read(table: ResultTable, sql: str | None = None) -> Shape:
    """Read a result; `sql` is the statement that it came from, where it is known."""
    by_column: list[Sequence[Scalar]] = list(zip(*table.rows, strict=True))
    columns = by_column or [()] * len(table.columns)
    return Shape(
        fields=tuple(
            fields_of.read(column, values)
            for column, values in zip(table.columns, columns, strict=True)
        ),
        row_count=len(table.rows),
        is_whole=not table.truncated and sql is not None and _PARTIAL.search(sql) is None,
    )
