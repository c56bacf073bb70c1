"""JSON that keeps a Decimal's digits: Python's own encoder can write them only as text.

Writing: every `dump...` gives JSON text. Reading: `Object` reads members by name and type, and
raises ParameterInvalid where a member is of another kind.
"""

from __future__ import annotations

import json
import math
from decimal import Decimal
from typing import TYPE_CHECKING, TypeVar, cast

from pgask_server.errors import ParameterInvalid

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Scalar = int | float | Decimal | str | bool | None
"""One cell or one bound value."""

Word = TypeVar("Word", bound=str)


def dump(value: Scalar) -> str:
    """One value; NaN and the infinities become text, as PostgreSQL spells them."""
    if value is None:
        return "null"
    if isinstance(value, str):
        return _quote(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if not math.isfinite(value):
        return f'"{_not_finite(value)}"'
    return repr(value) if isinstance(value, float) else format(value, "f")


def _quote(text: str) -> str:
    # jsonb refuses U+0000 and lone surrogates, and a narrative may quote what somebody typed.
    if not text.isascii():
        text = text.encode("utf-8", "replace").decode("utf-8")
    return json.dumps(text.replace("\0", "") if "\0" in text else text, ensure_ascii=False)


def _not_finite(value: float | Decimal) -> str:
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def dump_list(members: Iterable[str]) -> str:
    """An array of what is JSON text already."""
    return f"[{', '.join(members)}]"


def dump_object(members: Mapping[str, str]) -> str:
    """An object whose members are JSON text already."""
    return f"{{{', '.join(f'{_quote(name)}: {member}' for name, member in members.items())}}}"


def dump_scalars(members: Mapping[str, Scalar]) -> str:
    """An object of plain values."""
    return dump_object({name: dump(value) for name, value in members.items()})


def dump_rows(rows: Sequence[Sequence[Scalar]]) -> str:
    """An array of arrays of cells."""
    return dump_list(dump_list(map(dump, row)) for row in rows)


class Object:
    """A JSON object, read member by member. An absent member and a null one are the same."""

    __slots__ = ("_members",)

    def __init__(self, members: Mapping[str, object]) -> None:
        self._members = members

    @classmethod
    def parse(cls, text: str) -> Object:
        """The object in `text`; numbers with a fraction become Decimal."""
        try:
            value: object = json.loads(text, parse_float=Decimal, parse_int=_integer)
        except (ValueError, RecursionError) as error:
            raise ParameterInvalid("This is not an answer.", detail=str(error)) from error
        if not isinstance(value, dict):
            raise _unlike("answer", "an object")
        return cls(cast("dict[str, object]", value))

    def optional_text(self, name: str) -> str | None:
        value = self._members.get(name)
        if value is None or isinstance(value, str):
            return value
        raise _unlike(name, "text")

    def text(self, name: str, default: str | None = None) -> str:
        value = self.optional_text(name)
        value = default if value is None else value
        if value is None:
            raise _unlike(name, "text")
        return value

    def one_of(self, name: str, words: Sequence[Word], default: Word) -> Word:
        value = self.optional_text(name)
        if value is None:
            return default
        for word in words:
            if word == value:
                return word
        raise _unlike(name, "one of " + ", ".join(words))

    def boolean(self, name: str) -> bool:
        value = self._members.get(name)
        if value is None or isinstance(value, bool):
            return bool(value)
        raise _unlike(name, "true or false")

    def optional_number(self, name: str) -> float | None:
        value = self._members.get(name)
        if value is None:
            return None
        if isinstance(value, (int, float, Decimal)) and not isinstance(value, bool):
            return float(value)
        raise _unlike(name, "a number")

    def scalar(self, name: str) -> Scalar:
        return _scalar(name, self._members.get(name))

    def scalars(self, name: str) -> dict[str, Scalar]:
        value = self._members.get(name)
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise _unlike(name, "an object")
        members = cast("dict[str, object]", value)
        return {key: _scalar(f"{name}.{key}", member) for key, member in members.items()}

    def texts(self, name: str) -> tuple[str, ...]:
        values = self._list(name)
        if all(isinstance(value, str) for value in values):
            return tuple(cast("list[str]", values))
        raise _unlike(name, "an array of texts")

    def objects(self, name: str) -> tuple[Object, ...]:
        values = self._list(name)
        if all(isinstance(value, dict) for value in values):
            return tuple(Object(value) for value in cast("list[dict[str, object]]", values))
        raise _unlike(name, "an array of objects")

    def rows(self, name: str, width: int) -> list[list[Scalar]]:
        rows = self._list(name)
        for row in rows:
            if not isinstance(row, list) or len(cast("list[object]", row)) != width:
                raise _unlike(name, f"an array of rows of {width} cells")
        return [[_scalar(name, cell) for cell in row] for row in cast("list[list[object]]", rows)]

    def _list(self, name: str) -> list[object]:
        value = self._members.get(name)
        if value is None:
            return []
        if isinstance(value, list):
            return cast("list[object]", value)
        raise _unlike(name, "an array")


def _integer(digits: str) -> int | Decimal:
    # Python refuses to read an int of more than 4,300 digits; a numeric may have 131,072.
    return int(digits) if len(digits) < 4000 else Decimal(digits)


def _scalar(name: str, value: object) -> Scalar:
    if value is None or isinstance(value, (str, int, float, Decimal)):
        return value
    # A json cell arrives as the document itself when somebody built the answer by hand.
    if isinstance(value, (dict, list)):
        return json.dumps(value, ensure_ascii=False, default=str)
    raise _unlike(name, "a plain value")


def _unlike(name: str, kind: str) -> ParameterInvalid:
    return ParameterInvalid(
        "This is not an answer.",
        detail=f'"{name}" must be {kind}.',
        hint="Pass what pgask.answer() returned.",
    )
