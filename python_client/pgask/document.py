"""Typed reading of a JSON object: the jsonb that `pgask.answer` returns."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Sequence

Json = str | int | Decimal | bool | None
"""One scalar; a number with a fraction is a Decimal with every digit that was sent."""


class Document:
    """A JSON object; absent keys and values of another type take the default."""

    def __init__(self, content: object) -> None:
        self._content: dict[str, object] = (
            cast("dict[str, object]", content) if isinstance(content, dict) else {}
        )

    @classmethod
    def parse(cls, text: str) -> Document:
        """Read a text. Raises ValueError where it is not JSON."""
        return cls(json.loads(text, parse_float=Decimal))

    def text(self, key: str, default: str = "") -> str:
        """A string."""
        value = self._content.get(key)
        return value if isinstance(value, str) else default

    def optional_text(self, key: str) -> str | None:
        """A string or None."""
        value = self._content.get(key)
        return value if isinstance(value, str) else None

    def boolean(self, key: str) -> bool:
        """True only where true is there."""
        return self._content.get(key) is True

    def number(self, key: str) -> float | None:
        """A number or None."""
        value = self._content.get(key)
        return float(value) if isinstance(value, int | Decimal) else None

    def scalar(self, key: str) -> Json:
        """Any scalar; a list or an object becomes its JSON text."""
        return scalar(self._content.get(key))

    def scalars(self, key: str) -> dict[str, Json]:
        """An object of scalars."""
        value = self._content.get(key)
        if not isinstance(value, dict):
            return {}
        return {name: scalar(v) for name, v in cast("dict[str, object]", value).items()}

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of strings."""
        return tuple(value for value in self._list(key) if isinstance(value, str))

    def documents(self, key: str) -> tuple[Document, ...]:
        """A list of objects."""
        return tuple(Document(value) for value in self._list(key))

    def rows(self, key: str) -> tuple[tuple[Json, ...], ...]:
        """A list of lists of scalars."""
        return tuple(
            tuple(scalar(value) for value in cast("list[object]", row))
            for row in self._list(key)
            if isinstance(row, list)
        )

    def _list(self, key: str) -> Sequence[object]:
        value = self._content.get(key)
        return cast("list[object]", value) if isinstance(value, list) else ()


def scalar(value: object) -> Json:
    """A scalar as it is; a list or an object as its JSON text."""
    if value is None or isinstance(value, str | int | Decimal):
        return value
    return json.dumps(value, default=str, ensure_ascii=False)
