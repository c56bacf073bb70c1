"""The whole answer as Markdown, read back by a Markdown parser where that proves more."""

from __future__ import annotations

import unicodedata
from decimal import Decimal
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from markdown_it import MarkdownIt
from tests.unit.answer_case import Case, read_cases

from pgask_server.answer import markdown, narrative, text
from pgask_server.answer.value import Answer, Choice, Column, Evidence, ResultTable
from pgask_server.errors import ParameterInvalid

if TYPE_CHECKING:
    from markdown_it.token import Token

ODD = [
    "a|b", "a\\|b", "\\", "a\\", "*x* *y*", "_x_ y_", "__init__", "`a` `b", "``", "<b>x</b>",
    "<!-- x", "&amp; &x", "[a](b)", "![a](b)", "[a][b]", "[a]: b", "~~x~~", "~x~", "# x", "- x",
    "1. x", "> x", "---", "***", "| x |", "http://a.b/c_d_e", "<http://a.b>", "a\nb", "\x1b[0m",
    "\u202eabc", "é́", "👩‍👩‍👧", "   ", "\u200b", "x" * 200, "東" * 80, "a*b*c*d", "2 ** 3 ** 4",
    "\\*x\\*", "\\`", "a\\_b", "$x$ $y$", "{{x}}", "-5", "+1 x", "\ufeff", "ﷺ" * 40, "a\r\nb",
]  # fmt: skip


@pytest.mark.parametrize("case", read_cases("markdown"), ids=lambda case: case.name)
def test_an_answer_is_written_so(case: Case) -> None:
    assert markdown.render(case.answer) == case.expected


@pytest.mark.parametrize(
    "case",
    [case for name in ("narrative", "table", "chart", "markdown") for case in read_cases(name)],
    ids=lambda case: case.name,
)
def test_an_answer_survives_its_json(case: Case) -> None:
    again = Answer.from_json(case.answer.to_json())
    assert markdown.render(again) == markdown.render(case.answer)
    assert Answer.from_json(again.to_json()) == again


@pytest.mark.parametrize("value", ODD)
def test_a_cell_reads_as_its_value_in_any_markdown_viewer(value: str) -> None:
    rows = [[value, value]] * 2
    written = markdown.render(_answer(ResultTable([Column("a"), Column(value)], rows)))
    cells = _inline_texts(written, "td_open")
    shown = " ".join(text.cut(text.clean(value), 60).split())
    assert [" ".join(cell.split()) for cell in cells] == [shown] * 4


@pytest.mark.parametrize("value", ODD)
def test_a_line_reads_as_its_text_in_any_markdown_viewer(value: str) -> None:
    answer = Answer(question="q", narrative=f"{value} x", source="none", outcome="no_match")
    assert _inline_texts(markdown.render(answer), "paragraph_open") == [
        " ".join(text.clean(line).split()) for line in f"{value} x".splitlines() if line.strip()
    ]


@pytest.mark.parametrize("value", ODD)
def test_nothing_that_a_terminal_obeys_comes_through(value: str) -> None:
    table = ResultTable([Column(value), Column("n", "integer")], [[value, 1]], value, "bar")
    for answer in (
        _answer(table),
        Answer(question=value, choices=[Choice("1", value, 0.5)], outcome="several_match"),
        Answer(question=value, evidence=[Evidence(value, value, value, 0.5)]),
        Answer(question=value, warnings=[value], label=value, params={value: value}),
    ):
        written = markdown.render(answer)
        controls = {c for c in written if unicodedata.category(c) == "Cc"}
        assert controls <= {"\n"}
        assert "\u202e" not in written


def test_a_decimal_keeps_every_digit_in_json() -> None:
    cell = Decimal("12345678901234567890.100")
    answer = _answer(ResultTable([Column("n", "numeric")], [[cell]]))
    assert "[[12345678901234567890.100]]" in answer.to_json()
    assert Answer.from_json(answer.to_json()).tables[0].rows == [[cell]]


def test_what_json_cannot_hold_becomes_text() -> None:
    answer = _answer(ResultTable([Column("x", "real")], [[float("nan")], [float("-inf")]]))
    assert '"rows": [["NaN"], ["-Infinity"]]' in answer.to_json()


@pytest.mark.parametrize("number", ["9" * 400, "9" * 5000, "-" + "9" * 400, "0." + "0" * 400 + "1"])
def test_numbers_larger_than_a_float_are_shown(number: str) -> None:
    columns = '[{"name": "a"}, {"name": "n", "type": "numeric"}, {"name": "id", "type": "numeric"}]'
    rows = f'[["x", {number}, {number}], ["y", 1, 2]]'
    answer = Answer.from_json(
        f'{{"source": "saved", "tables": [{{"columns": {columns}, "rows": {rows},'
        ' "display": "bar"}]}'
    )
    assert "| x " in markdown.render(answer)
    assert "inf" not in narrative.compose(answer)


@pytest.mark.parametrize(
    "wrong",
    ["", "[]", '{"tables": 1}', '{"tables": [1]}', '{"source": "x"}', '{"trusted": "yes"}',
     '{"tables": [{"columns": [{"name": "a"}], "rows": [[1, 2]]}]}', '{"params": []}',
     '{"similarity": true}', "[" * 100_000],
)  # fmt: skip
def test_what_is_no_answer_is_refused(wrong: str) -> None:
    with pytest.raises(ParameterInvalid):
        Answer.from_json(wrong)


def _answer(table: ResultTable) -> Answer:
    return Answer(question="q", source="saved", outcome="answered", narrative="x", tables=[table])


def _inline_texts(written: str, opening: str) -> list[str]:
    """What a reader sees of each block of this kind; only text, nothing that Markdown made."""
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(written)
    found: list[str] = []
    for token, following in pairwise(tokens):
        if token.type == opening and following.type == "inline":
            found.append("".join(_plain(child) for child in following.children or []))
    return found


def _plain(token: Token) -> str:
    assert token.type in {"text", "text_special", "softbreak"}, token
    return token.content
