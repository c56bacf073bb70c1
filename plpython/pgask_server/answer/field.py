"""One column of a result as a person reads it: what kind of thing it holds, and how it is written.

Years and keys are numbers that nobody adds up or compares; the kind keeps them apart from
measures.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Literal

from pgask_server.answer import moment, text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pgask_server.answer.value import Column
    from pgask_server.answer.wire import Scalar

Kind = Literal[
    "measure",
    "percent",
    "size",
    "identifier",
    "rank",
    "year",
    "period",
    "moment",
    "boolean",
    "text",
]

NULL = "—"
"""How NULL is shown; an empty text is an empty cell."""

_NUMBER_TYPES = frozenset(
    {"smallint", "integer", "bigint", "numeric", "real", "double precision", "oid", "xid"}
)
_MOMENT_TYPES = ("date", "timestamp")
_IDENTIFIER_WORDS = frozenset(
    {"id", "ids", "key", "oid", "pid", "uuid", "guid", "xid", "code", "zip", "postcode", "isbn"}
    | {"sku", "ean", "phone", "port", "number", "nr", "no"}
)
_NO_IDENTIFIER = frozenset(
    {"paid", "unpaid", "prepaid", "repaid", "bid", "aid", "valid", "invalid", "void", "covid"}
    | {"grid", "overpaid", "underpaid"}
)
_RANK_WORDS = frozenset({"rank", "ranking", "position", "place"})
_PERCENT_WORDS = frozenset({"percent", "percentage", "pct"})
_PERIODS = {
    "month": (1, 12),
    "quarter": (1, 4),
    "week": (0, 53),
    "day": (1, 366),
    "dow": (0, 7),
    "isodow": (1, 7),
    "weekday": (0, 7),
    "hour": (0, 23),
}
# 'revenue last year' holds no year.
_NOT_BEFORE_PERIOD = frozenset(
    {"last", "this", "next", "per", "each", "previous", "prior", "every", "a", "current"}
)
_ABBREVIATIONS = {
    "avg": "average",
    "qty": "quantity",
    "amt": "amount",
    "pct": "percent",
    "cnt": "count",
}
_GENERIC = frozenset(
    {"?column?", "avg", "bool", "case", "coalesce", "count", "exists", "extract", "greatest"}
    | {"int4", "int8", "least", "max", "min", "n", "numeric", "result", "round", "sum", "value"}
    | {"date_part", "date_trunc", "to_char", "cnt", "answer"}
)
_SIZE = re.compile(r"(-?\d+(?:\.\d+)?) (bytes|kB|MB|GB|TB|PB)\Z")
_SIZE_UNITS = {"bytes": 0, "kB": 1, "MB": 2, "GB": 3, "TB": 4, "PB": 5}
_HAS_DIGIT = re.compile("[1-9]")
_FRACTION = re.compile(r"(:\d\d\.\d{3})\d+")
_WORD_BORDER = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[_\s]+")

_SHOWN_DECIMALS = 4
"""A column whose values have more decimals than these holds a quotient, and is rounded."""
_MOST_DECIMALS = 6
_MOST_DIGITS = 30


@lru_cache(maxsize=1024)
def words_of(name: str) -> tuple[str, ...]:
    """'totalSize', 'total_size' and 'Total size' all are ('total', 'size')."""
    return tuple(word.lower() for word in _WORD_BORDER.split(name) if word)


@dataclass(frozen=True)
class Field:
    """A column with its values; `show` writes one of them."""

    name: str
    type: str
    kind: Kind
    values: Sequence[Scalar]
    decimals: int = 0

    @cached_property
    def words(self) -> str:
        """The name in words; '' where the name says nothing ('count', '?column?')."""
        if self.is_generic:
            return ""
        words = [_ABBREVIATIONS.get(word, word) for word in words_of(self.name)]
        if self.kind == "percent" and len(words) > 1 and words[-1] in _PERCENT_WORDS:
            del words[-1]
        return text.cut(text.clean(" ".join(words)), 40)

    @property
    def is_generic(self) -> bool:
        """True for the names that PostgreSQL gives to columns nobody named."""
        return self.name.lower() in _GENERIC or self.name == ""

    @cached_property
    def header(self) -> str:
        """The name as the head of a table shows it."""
        if self.name == "?column?":
            return ""
        return text.cut(text.clean(self.name.replace("_", " ").strip() or self.name), 40)

    @property
    def is_right_aligned(self) -> bool:
        return self.kind in _RIGHT or self.type == "money"

    @cached_property
    def numbers(self) -> Sequence[float | None] | None:
        """The values to compare, NULL as None; None where the column cannot be compared."""
        numbers: list[float | None] = []
        for value in self.values:
            if value is None:
                numbers.append(None)
            elif isinstance(value, (int, float, Decimal)):
                numbers.append(to_float(value))
            elif self.kind == "size" and (size := _bytes(value)) is not None:
                numbers.append(size)
            else:
                return None
        return numbers

    @cached_property
    def moments(self) -> moment.Style | None:
        """How dates and timestamps of this column are written; None for other columns."""
        if self.kind != "moment":
            return None
        return moment.style(self.values, words_of(self.name))

    def show(self, value: Scalar) -> str:
        """The value in a cell: cleaned, neither cut nor escaped."""
        if isinstance(value, str):
            return self._show_text(value)
        if value is None:
            return NULL
        if isinstance(value, bool):
            return "yes" if value else "no"
        if self.kind in _UNGROUPED:
            return str(value) if isinstance(value, int) else _plain(value)
        return _number(value, self.decimals)

    def _show_text(self, value: str) -> str:
        if self.kind == "moment" and self.moments is not None:
            return self.moments.show(value)
        if self.type.startswith(("interval", "time")):
            value = _FRACTION.sub(r"\1", value)
        return text.clean(value)

    def say(self, value: Scalar) -> str:
        """The value in a sentence: with its unit, and cut where it is long."""
        if value is None:
            return "no value"
        shown = text.cut(self.show(value), 60)
        return f"{shown} %" if self.kind == "percent" else shown


_RIGHT: frozenset[Kind] = frozenset(
    {"measure", "percent", "size", "identifier", "rank", "year", "period"}
)
_UNGROUPED: frozenset[Kind] = frozenset({"identifier", "rank", "year", "period"})


def read(column: Column, values: Sequence[Scalar]) -> Field:
    """The column with these values, its kind found from type, name and values."""
    base = column.type.partition("(")[0].strip()
    kind: Kind
    decimals = 0
    if base in _NUMBER_TYPES:
        kind = _number_kind(column.name, base, values)
        if kind in {"measure", "percent"} and base not in {"smallint", "integer", "bigint"}:
            decimals = _decimals(values)
    elif base == "boolean":
        kind = "boolean"
    elif base.startswith(_MOMENT_TYPES) and not base.endswith("]"):
        kind = "moment"
    elif base == "text" and _all_sizes(values):
        kind = "size"
    elif base in {"uuid", "tid"} or words_of(column.name)[-1:] in {("id",), ("uuid",)}:
        kind = "identifier"
    else:
        kind = "text"
    return Field(column.name, base, kind, values, decimals)


def _number_kind(name: str, base: str, values: Sequence[Scalar]) -> Kind:
    words = words_of(name)
    last = words[-1] if words else ""
    if base in {"oid", "xid"}:
        return "identifier"
    if "%" in name or not _PERCENT_WORDS.isdisjoint(words):
        return "percent"
    period = (
        last if len(words) == 1 or (len(words) == 2 and words[0] not in _NOT_BEFORE_PERIOD) else ""
    )
    if (period == "year" or name in {"extract", "date_part"}) and _all_within(values, 1000, 2999):
        return "year"
    if period in _PERIODS and _all_within(values, *_PERIODS[period]):
        return "period"
    if last in _RANK_WORDS or words == ("row", "number") or name == "#":
        return "rank"
    if _is_identifier(words):
        return "identifier"
    return "measure"


def _is_identifier(words: tuple[str, ...]) -> bool:
    if not words:
        return False
    last = words[-1]
    if last in {"number", "no", "nr"}:
        return len(words) > 1
    return last in _IDENTIFIER_WORDS or (
        last.endswith("id") and len(last) > 3 and last not in _NO_IDENTIFIER
    )


def _all_within(values: Sequence[Scalar], low: int, high: int) -> bool:
    return all(
        value is None
        or (isinstance(value, (int, float, Decimal)) and low <= value <= high and value % 1 == 0)
        for value in values
    )


def _all_sizes(values: Sequence[Scalar]) -> bool:
    found = False
    for value in values:
        if value is not None:
            if not isinstance(value, str) or _SIZE.match(value) is None:
                return False
            found = True
    return found


def _bytes(value: str) -> float | None:
    match = _SIZE.match(value)
    return float(match[1]) * 1024.0 ** _SIZE_UNITS[match[2]] if match else None


def _decimals(values: Sequence[Scalar]) -> int:
    """Decimals that all values of a column are written with."""
    most = 0
    for value in values:
        if isinstance(value, Decimal):
            exponent = value.as_tuple().exponent
        elif isinstance(value, float):
            exponent = Decimal(repr(value)).as_tuple().exponent
        else:
            continue
        if isinstance(exponent, int) and -exponent > most:
            most = -exponent
    if most <= _SHOWN_DECIMALS:
        return most
    sizes = [abs(value) for value in values if isinstance(value, (int, float, Decimal)) and value]
    # Two significant digits of the smallest, so that nothing but zero is shown as zero.
    smallest = min(map(to_float, sizes), default=1.0)
    decimals = 2
    while decimals < _MOST_DECIMALS and smallest * 10.0**decimals < 10:
        decimals += 1
    return decimals


def _number(value: float | Decimal, decimals: int) -> str:
    if isinstance(value, int) and not decimals:
        shown = f"{value:,}"
    else:
        shown = f"{value:,.{decimals}f}" if value == value else "NaN"
        if value and not _HAS_DIGIT.search(shown) and value == value and abs(value) < 1:
            return f"{value:.3g}"
    return shown if len(shown) <= _MOST_DIGITS else _rough(value)


def _rough(value: float | Decimal) -> str:
    """Six digits and an exponent; a numeric may be larger than any float."""
    known = to_float(value)
    return f"{known:.6g}" if abs(known) < float("inf") else f"{Decimal(value):.6g}"


def _plain(value: float | Decimal) -> str:
    shown = format(Decimal(str(value)), "f")
    return shown.rstrip("0").rstrip(".") if "." in shown else shown


def to_float(value: float | Decimal) -> float:
    """The nearest float, infinite for what is too large for one."""
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
