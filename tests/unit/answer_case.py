"""Reads the cases of tests/unit/answer/*.txt: an answer, a line of dashes, what is shown of it.

=== the sentence that the case proves
@ label Top products          a member of Answer, or of the table that follows
product | revenue numeric     columns with their types (text where none is named)
Desk | 41204.50               rows; NULL, true and false are not texts; \\n, \\x1b, \\u0301
+++                           a further table
---
what is expected, to the letter
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from pgask_server.answer.value import (
    Answer,
    Choice,
    Column,
    Evidence,
    MissingParameter,
    ResultTable,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

Scalar = int | float | Decimal | str | bool | None

_DIRECTORY = Path(__file__).parent / "answer"
_ESCAPE = re.compile(r"\\(n|t|\\|x[0-9a-f]{2}|u[0-9a-f]{4})")
_TABLE_MEMBERS = {"title", "display", "truncated", "repeat"}


@dataclass(frozen=True)
class Case:
    name: str
    answer: Answer
    expected: str


@dataclass
class _Draft:
    members: dict[str, object] = field(default_factory=dict)
    table: dict[str, str] = field(default_factory=dict)
    lists: dict[str, list[object]] = field(default_factory=dict)

    def add(self, member: str, value: object) -> None:
        self.lists.setdefault(member, []).append(value)


def read_cases(name: str) -> list[Case]:
    text = (_DIRECTORY / f"{name}.txt").read_text(encoding="utf-8")
    blocks = re.split(r"^=== ", text, flags=re.MULTILINE)[1:]
    return [_read_case(block) for block in blocks]


def _read_case(block: str) -> Case:
    name, _, rest = block.partition("\n")
    given, _, expected = rest.partition("\n---\n") if "\n---\n" in rest else ("", "", rest)
    draft = _Draft()
    for part in re.split(r"^\+\+\+$", given, flags=re.MULTILINE):
        draft.table.clear()
        rows = list(_read_lines(part, draft))
        if rows:
            draft.add("tables", _read_table(rows, draft.table))
    members: dict[str, object] = {"question": "what?", "outcome": "answered", "source": "saved"}
    members |= draft.members | {key: tuple(value) for key, value in draft.lists.items()}
    return Case(name.strip(), Answer(**members), expected.strip("\n"))  # type: ignore[arg-type]


def _read_lines(part: str, draft: _Draft) -> Iterator[str]:
    for line in part.splitlines():
        if line.startswith("@ "):
            key, _, value = line[2:].partition(" ")
            _read_member(key, value, draft)
        elif line.strip():
            yield line


def _read_member(key: str, value: str, draft: _Draft) -> None:
    parts = [unescape(part.strip()) for part in value.split("|")]
    if key in _TABLE_MEMBERS:
        draft.table[key] = unescape(value)
    elif key in {"params", "given", "bound"}:
        pairs = (pair.split(" = ") for pair in value.split(", "))
        kind = "text" if key == "bound" else "guess"
        draft.members[key] = {name: _scalar(text, kind) for name, text in pairs}
    elif key == "missing":
        name, kind, *more = parts
        example = _scalar(more[0], "guess") if more and more[0] else None
        draft.add("missing_parameters", MissingParameter(name, kind, example, more[1:]))
    elif key == "choice":
        label = parts[2] if len(parts) > 2 and parts[2] else None
        example = parts[3] if len(parts) > 3 else None
        draft.add("choices", Choice("0", parts[1], float(parts[0]), label, example))
    elif key == "evidence":
        source, source_id, similarity, text = parts
        draft.add("evidence", Evidence(source, source_id, text, float(similarity)))
    elif key in {"sql", "warnings"}:
        draft.add(key, unescape(value))
    elif key == "similarity":
        draft.members[key] = float(value)
    elif key == "trusted":
        draft.members[key] = True
    else:
        draft.members[key] = unescape(value)


def _read_table(lines: list[str], members: dict[str, str]) -> ResultTable:
    columns: list[Column] = []
    for column in lines[0].split(" | "):
        name, _, kind = column.strip().partition(" ")
        columns.append(Column(unescape(name.replace("~", " ")), kind or "text"))
    rows = [
        [_scalar(cell.strip(), column.type) for cell, column in zip(cells, columns, strict=True)]
        for cells in (line.split(" | ") for line in lines[1:])
    ]
    return ResultTable(
        columns,
        rows * int(members.get("repeat", 1)),
        members.get("title"),
        members.get("display", "table"),  # type: ignore[arg-type]
        "truncated" in members,
    )


def _scalar(text: str, kind: str) -> Scalar:
    if text == "NULL":
        return None
    if kind == "guess":
        kind = "integer" if text.isdigit() else "boolean" if text in {"true", "false"} else "text"
    if kind in {"smallint", "integer", "bigint", "oid"}:
        return int(text)
    if kind.startswith("numeric"):
        return text if text in {"NaN", "Infinity"} else Decimal(text)
    if kind in {"real", "double precision"}:
        return text if text in {"NaN", "Infinity", "-Infinity"} else float(text)
    if kind == "boolean":
        return text == "true"
    return unescape(text)


def unescape(text: str) -> str:
    """\\n, \\t, \\\\, \\x1b and \\u0301 as the characters that they stand for."""

    def character(match: re.Match[str]) -> str:
        code = match[1]
        return {"n": "\n", "t": "\t", "\\": "\\"}.get(code) or chr(int(code[1:], 16))

    return _ESCAPE.sub(character, text)
