"""Dates and timestamps of one column, written no finer than the column's values need."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pgask_server.answer import text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pgask_server.answer.wire import Scalar

Precision = Literal["year", "quarter", "month", "day", "second"]

MONTHS: tuple[str, ...] = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)

_MOMENT = re.compile(
    r"(\d{4,})-(\d\d)-(\d\d)(?:[ T](\d\d:\d\d:\d\d)(?:\.\d+)?([+-]\d\d(?::?\d\d)*)?)?\Z"
)


@dataclass(frozen=True, slots=True)
class Style:
    """How the moments of a column are written."""

    precision: Precision

    def show(self, value: str) -> str:
        """As a cell shows it: '2025', '2025 Q1', '2025-01', '2025-01-31'."""
        match = _MOMENT.match(value)
        if match is None:
            return text.clean(value)
        year, month, day, time, zone = match.groups()
        if self.precision == "year":
            return year
        if self.precision == "quarter":
            return f"{year} Q{(int(month) + 2) // 3}"
        if self.precision == "month":
            return f"{year}-{month}"
        if self.precision == "day" or time is None:
            return f"{year}-{month}-{day}"
        return f"{year}-{month}-{day} {time}{zone or ''}"

    def say(self, value: str) -> str:
        """With its preposition: 'in January 2025', 'on 2025-01-31'."""
        match = _MOMENT.match(value)
        if match is None or self.precision in {"day", "second"}:
            return f"{'at' if self.precision == 'second' else 'on'} {self.show(value)}"
        if self.precision == "month":
            return f"in {MONTHS[int(match[2]) - 1]} {match[1]}"
        return f"in {self.show(value)}"


def style(values: Sequence[Scalar], words: Sequence[str]) -> Style:
    """The coarsest style that loses nothing; the column's words say what date_trunc() cut to."""
    seen: set[str] = set()
    days: set[str] = set()
    months: set[str] = set()
    for value in values:
        match = _MOMENT.match(value) if isinstance(value, str) else None
        if match is not None:
            months.add(match[2])
            days.add(match[3])
            seen.add(match[4] or "00:00:00")
    if seen and seen != {"00:00:00"}:
        return Style("second")
    if days == {"01"}:
        if "year" in words and months == {"01"}:
            return Style("year")
        if "quarter" in words and months <= {"01", "04", "07", "10"}:
            return Style("quarter")
        if "month" in words:
            return Style("month")
    return Style("day")
