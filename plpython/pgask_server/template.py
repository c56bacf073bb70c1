"""A text template -> its columns; a template + one row's values -> the text to embed.

`{{column}}` stands for the column's value, whatever the column's name: `{{ Unit Price }}`. A name
that begins with a double quote, has blanks at its ends or holds braces is written in double quotes,
a quote inside doubled: `{{"odd }} ""name"}}`. Since a plain SQL literal cannot hold a newline
escape, the two characters `\\n` mean a newline and `\\t` a tab; `\\\\` is one backslash.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pgask_server.errors import TemplateInvalid

if TYPE_CHECKING:
    from collections.abc import Mapping

_QUOTED = re.compile(r'\s*"((?:[^"]|"")*)"\s*\}\}')
_ESCAPE = re.compile(r"\\([nt\\])")
_ESCAPES = {"n": "\n", "t": "\t", "\\": "\\"}
_HINT = "Write a place as {{column}}, for example '{{title}}\\n{{body}}'."


@dataclass(frozen=True, slots=True)
class Literal:
    """Text that stands in every rendering."""

    text: str


@dataclass(frozen=True, slots=True)
class Place:
    """Where a column's value goes."""

    column: str


@dataclass(frozen=True, slots=True)
class Template:
    """A parsed template: its lines, each of literals and places."""

    lines: tuple[tuple[Literal | Place, ...], ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the template reads, each once, in order of appearance."""
        places = (part.column for line in self.lines for part in line if isinstance(part, Place))
        return tuple(dict.fromkeys(places))


def parse_template(text: str) -> Template:
    """Read a template. Raises TemplateInvalid, with the position, in characters from 1."""
    lines: list[list[Literal | Place]] = [[]]
    at = 0
    while at < len(text):
        opening = text.find("{{", at)
        literal = text[at:] if opening < 0 else text[at:opening]
        stray = literal.find("}}")
        if stray >= 0:
            raise _invalid("'}}' without '{{'", at + stray)
        head, *others = _ESCAPE.sub(lambda match: _ESCAPES[match[1]], literal).split("\n")
        lines[-1].append(Literal(head))
        lines.extend([Literal(other)] for other in others)
        if opening < 0:
            break
        column, at = _read_place(text, opening)
        lines[-1].append(Place(column))
    template = Template(tuple(tuple(line) for line in lines))
    if not template.columns:
        raise TemplateInvalid("the text template names no column", hint=_HINT)
    return template


def render(template: Template, values: Mapping[str, str | None]) -> str:
    """Fill the places. A value is never expanded again; None renders as nothing.

    A line of nothing but places without a value disappears, and so do the blank lines that the
    template then has at its beginning or end. Raises TemplateInvalid where `values` lacks a column.
    """
    kept: list[str | None] = []  # None: a line that is blank in the template itself
    for line in template.lines:
        filled = "".join(
            part.text if isinstance(part, Literal) else _value(values, part.column) for part in line
        )
        if not any(isinstance(part, Place) for part in line):
            kept.append(filled if filled.strip() else None)
        elif filled.strip() or any(isinstance(p, Literal) and p.text.strip() for p in line):
            kept.append(filled)
    while kept and kept[0] is None:
        del kept[0]
    while kept and kept[-1] is None:
        del kept[-1]
    return "\n".join(line or "" for line in kept)


def _read_place(text: str, opening: int) -> tuple[str, int]:
    """The column named by the place at `opening`, and the position after it."""
    inside = opening + 2
    quoted = _QUOTED.match(text, inside)
    if quoted is not None:
        column, after = quoted[1].replace('""', '"'), quoted.end()
    elif text[inside:].lstrip().startswith('"'):
        raise _invalid("a quoted column name without '\"}}'", opening)
    else:
        closing = text.find("}}", inside)
        if closing < 0:
            raise _invalid("'{{' without '}}'", opening)
        column, after = text[inside:closing].strip(), closing + 2
        if "{{" in column or column.startswith("{"):
            raise _invalid("'{{' inside '{{'", opening)
    if not column:
        raise _invalid("a place without a column name", opening)
    return column, after


def _value(values: Mapping[str, str | None], column: str) -> str:
    if column not in values:
        raise TemplateInvalid(
            f"the text template names the column {column!r}, which the row does not have",
            hint="Correct the text template with alter_source.",
        )
    return values[column] or ""


def _invalid(problem: str, at: int) -> TemplateInvalid:
    return TemplateInvalid(
        "the text template is not valid", detail=f"At character {at + 1}: {problem}.", hint=_HINT
    )
