"""The places of a statement, as pairs in statement/placeholder.txt."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgask_server.errors import PgaskError, StatementInvalid
from pgask_server.statement.placeholder import LONGEST, compile_placeholders, scan

NAMES = ("year", "name", "n")


def pairs() -> list[tuple[str, list[str]]]:
    text = (Path(__file__).parent / "statement" / "placeholder.txt").read_text()
    found: list[tuple[str, list[str]]] = []
    for block in text.split("\n\n")[1:]:
        lines = block.rstrip("\n").split("\n")
        at = next(i for i, line in enumerate(lines) if line[:1] in "=!")
        found.append(("\n".join(lines[:at]), lines[at:]))
    return found


@pytest.mark.parametrize(("sql", "expected"), pairs(), ids=lambda value: str(value)[:40])
def test_places_become_numbers_and_nothing_else_does(sql: str, expected: list[str]) -> None:
    if expected[0].startswith("!"):
        with pytest.raises(PgaskError) as error:
            compile_placeholders(sql, NAMES)
        assert error.value.sqlstate == expected[0][2:]
        return
    text, used = compile_placeholders(sql, NAMES)
    assert text == expected[0][2:]
    assert ", ".join(used) == expected[1][1:].strip()


def test_the_undeclared_parameter_is_named() -> None:
    with pytest.raises(StatementInvalid, match=":yaer") as error:
        compile_placeholders("select :yaer", ["year"])
    assert error.value.detail == "Declared: year."


@pytest.mark.parametrize("sql", ["select '" + "x" * LONGEST + "'", "select '\0'"])
def test_what_is_too_long_or_holds_a_nul_is_refused(sql: str) -> None:
    with pytest.raises(StatementInvalid):
        compile_placeholders(sql, [])


@given(st.text(alphabet="'\"$:-/*;eEaU&\\ \n[]1xn", max_size=60))
def test_a_scan_keeps_every_character_whatever_the_text(text: str) -> None:
    assert "".join(token.text for token in scan(text)) == text


@given(st.text(max_size=60))
def test_no_text_makes_it_fail_in_another_way(text: str) -> None:
    try:
        compile_placeholders(text, NAMES)
    except PgaskError:
        return


@pytest.mark.parametrize("part", ["$a$ ", "/* ", "'", "$$", ":", '"', "E'\\", "U&'", "$a", "E' "])
def test_a_long_text_takes_no_quadratic_time(part: str) -> None:
    started = time.monotonic()
    with contextlib.suppress(PgaskError):
        compile_placeholders("select " + part * (90_000 // len(part)), NAMES)
    assert time.monotonic() - started < 2
