"""The text of a statement as its author wrote it -> the same text with $1 ... for :name.

A scanner that knows where PostgreSQL's lexer is inside a string, a comment or an identifier. It
decides nothing about safety: what it gets wrong, PostgreSQL's own parser refuses later.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pgask_server.errors import StatementInvalid, StatementRefused

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

LONGEST = 100_000
"""Characters. PostgreSQL's parser guards its own stack; this bounds the work of an analysis."""

_FIRST_WORDS = frozenset({"select", "with", "values", "table"})

_IDENTIFIER = r"[A-Za-z_\u0080-\U0010ffff][A-Za-z0-9_$\u0080-\U0010ffff]*"
_SCANNER = re.compile(
    rf"""
      (?P<blank>   \s+ | --[^\n\r]* )
    | (?P<comment> /\* )
    | (?P<text>    [eE]'(?:[^'\\]|\\.|'')*'            # E'...' knows backslashes
                 | (?:[bBxXnN]|[uU]&)?'(?:[^']|'')*'
                 | \$(?P<tag>(?:[A-Za-z_\u0080-\U0010ffff][A-Za-z0-9_\u0080-\U0010ffff]*)?)\$
                   .*? \$(?P=tag)\$ )
    | (?P<name>    (?:[uU]&)?"(?:[^"]|"")*" )
    | (?P<rest>    (?:[eEbBxXnN]|[uU]&)?'.* | (?:[uU]&)?".*
                 | \$(?:[A-Za-z_\u0080-\U0010ffff][A-Za-z0-9_\u0080-\U0010ffff]*)?\$.* )
    | (?P<word>    {_IDENTIFIER} )
    | (?P<cast>    ::|:= )
    | (?P<place>   :{_IDENTIFIER} )
    | (?P<dollar>  \$\d+ )
    | (?P<number>  \d[\w.]* )
    | (?P<sign>    . )
    """,
    re.VERBOSE | re.DOTALL,
)
_COMMENT = re.compile(r"/\*|\*/")


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the text: `start` and `end` count characters from 0."""

    kind: str
    text: str
    start: int
    end: int


def scan(sql: str) -> Iterator[Token]:
    """The tokens of `sql`, blanks and comments (kind `blank`) included.

    A string or quoted name that never ends comes as one token `rest`.
    """
    at = 0
    while at < len(sql):
        found = _SCANNER.match(sql, at)
        assert found is not None  # noqa: S101 (the last alternative takes anything)
        end, kind = found.end(), found.lastgroup or "sign"
        if kind == "tag":
            kind = "text"
        if kind == "comment":
            end, kind = _end_of_comment(sql, end), "blank"
        yield Token(kind, sql[at:end], at, end)
        at = end


def _end_of_comment(sql: str, at: int) -> int:
    depth = 1
    while depth:
        found = _COMMENT.search(sql, at)
        if found is None:
            return len(sql)
        depth += 1 if found.group() == "/*" else -1
        at = found.end()
    return at


def compile_placeholders(sql: str, names: Sequence[str]) -> tuple[str, list[str]]:
    """The one statement in `sql` with $1 ... for the places :name, and the names in that order.

    Only declared names count; `a[1:n]` is a slice unless n is declared. Trailing semicolons go.
    Raises StatementInvalid for an undeclared place, a $n, an empty or overlong text, and
    StatementRefused for a second statement.
    """
    if len(sql) > LONGEST:
        raise StatementInvalid(
            "the statement is too long",
            detail=f"It has {len(sql):,} characters; the limit is {LONGEST:,}.",
            hint="Put a long list of values into a table.",
        )
    if "\0" in sql:
        raise StatementInvalid("the statement holds a NUL character")
    declared, used = frozenset(names), list[str]()
    pieces, brackets, ended = list[str](), 0, False
    for token in scan(sql):
        if token.kind == "blank":
            pieces.append(token.text)
            continue
        if token.text == ";":
            ended = bool("".join(pieces).strip())
            continue
        if ended:
            raise StatementRefused(
                "only one statement is allowed",
                detail=f"A second one starts at character {token.start + 1}.",
                hint="Give each statement its own entry in sqls.",
            )
        pieces.append(_replaced(token, declared, used, brackets > 0))
        if token.kind == "sign":
            brackets += (token.text == "[") - (token.text == "]")
    text = "".join(pieces).strip()
    first = next((token for token in scan(text) if token.kind != "blank"), None)
    if first is None:
        raise StatementInvalid("the statement is empty")
    if first.kind == "word" and first.text.lower() not in _FIRST_WORDS:
        raise StatementRefused(
            "only a SELECT is allowed",
            detail=f"The statement starts with {first.text[:40]!r}.",
            hint="A question is answered by a single SELECT.",
        )
    return text, used


def _replaced(token: Token, declared: frozenset[str], used: list[str], in_brackets: bool) -> str:
    if token.kind == "rest":
        raise StatementInvalid(
            "a string or a quoted name never ends",
            detail=f"It starts at character {token.start + 1}: {token.text[:40]}",
        )
    if token.kind == "dollar":
        raise StatementInvalid(
            f"there is no parameter {token.text}",
            hint="Write a parameter as :name and declare it in params.",
        )
    if token.kind != "place":
        return token.text
    name = token.text[1:]
    if name in declared:
        if name not in used:
            used.append(name)
        # The blank keeps "limit:n" two tokens.
        return f" ${used.index(name) + 1}"
    if in_brackets:
        return token.text
    raise StatementInvalid(
        f"the parameter :{name} is not declared",
        detail="Declared: " + (", ".join(sorted(declared)) or "none") + ".",
        hint=f'Add {{"name": "{name}", "type": "..."}} to params.',
    )
