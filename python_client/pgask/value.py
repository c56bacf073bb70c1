"""One value of a result: from JSON back to its type, and to the text a person reads."""

from __future__ import annotations

import re
from datetime import date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING
from uuid import UUID

if TYPE_CHECKING:
    from collections.abc import Callable

    from pgask.document import Json

Value = None | bool | int | float | Decimal | str | date | datetime | time | UUID
"""What a cell holds; a type that has no counterpart here stays the text PostgreSQL printed."""

_READERS: dict[str, Callable[[str], Value]] = {
    "date": date.fromisoformat,
    "timestamp without time zone": datetime.fromisoformat,
    "timestamp with time zone": datetime.fromisoformat,
    "time without time zone": time.fromisoformat,
    "time with time zone": time.fromisoformat,
    "uuid": UUID,
    "numeric": Decimal,
    "double precision": float,
    "real": float,
    "bigint": int,
    "integer": int,
    "smallint": int,
}

_NUMBERS = {"numeric", "double precision", "real", "bigint", "integer", "smallint"}
_INTEGERS = {"bigint", "integer", "smallint"}
_TIMES = {"date", "timestamp without time zone", "timestamp with time zone"}


def base_type(type_name: str) -> str:
    """A type's name without its modifier: numeric(10,2) is numeric."""
    return re.sub(r"\([^)]*\)", "", type_name).strip()


def is_number(type_name: str) -> bool:
    """Whether values of the type are numbers."""
    return base_type(type_name) in _NUMBERS


def is_integer(type_name: str) -> bool:
    """Whether values of the type are whole numbers."""
    return base_type(type_name) in _INTEGERS


def is_time(type_name: str) -> bool:
    """Whether values of the type are points in time."""
    return base_type(type_name) in _TIMES


def restore(value: Json, type_name: str) -> Value:
    """The value of a PostgreSQL type from its JSON form.

    What Python cannot hold (infinity as a date, years before Christ) stays text.
    """
    if value is None or isinstance(value, bool):
        return value
    base = base_type(type_name)
    reader = _READERS.get(base)
    if reader is None:
        return value
    try:
        return reader(str(value))
    except (ValueError, ArithmeticError):
        return value


def as_float(value: Value) -> float | None:
    """A finite number for drawing; None for everything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    number = float(value)
    return number if abs(number) < float("inf") else None


_UNREADABLE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def plain(text: str, *, lines: bool = False) -> str:
    """Text without what a terminal acts upon: control, escape and direction characters.

    lines: keep line breaks; otherwise they become a visible mark.
    """
    kept = text.replace("\r\n", "\n").replace("\t", "    ")
    if not lines:
        kept = kept.replace("\n", "⏎")
    return _UNREADABLE.sub(lambda found: "\n" if found[0] == "\n" else "�", kept)


def show(value: Value, *, grouped: bool = True) -> str:
    """A value in one line, as a person reads it. NULL is an empty text.

    grouped: whole numbers and decimals carry thousands separators (not for years and keys).
    """
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case int() | Decimal():
            return f"{value:,}" if grouped else str(value)
        case float():
            if not grouped or abs(value) < 1000 or abs(value) >= 1e15:
                return f"{value:.6g}"
            return f"{value:,.0f}" if value.is_integer() else f"{value:,.2f}"
        case datetime():
            return value.isoformat(sep=" ")
        case date() | time() | UUID():
            return str(value)
        case str():
            return plain(value)
