"""Text templates; the pairs are in template/render.txt."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pgask_server.errors import TemplateInvalid
from pgask_server.template import parse_template, render

_FILE = Path(__file__).parent / "template" / "render.txt"


def read_cases() -> list[tuple[str, str, str]]:
    cases: list[tuple[str, str, str]] = []
    for line in _FILE.read_text("utf-8").split("\n"):
        if " ;; " in line and not line.startswith("#"):
            template, _, rest = line.partition(" ;; ")
            values, _, expected = rest.rpartition(" => ")
            cases.append((template, values, expected))
    return cases


@pytest.mark.parametrize(("template", "values", "expected"), read_cases())
def test_a_template_renders_as_expected_or_is_refused(
    template: str, values: str, expected: str
) -> None:
    if not expected.startswith("error: "):
        assert render(parse_template(template), json.loads(values)) == json.loads(expected)
        return
    with pytest.raises(TemplateInvalid) as caught:
        render(parse_template(template), json.loads(values))
    error = caught.value
    assert expected.removeprefix("error: ") in f"{error.message} {error.detail}"
    assert error.sqlstate == "PA102"
    assert error.hint


def test_a_real_newline_and_a_written_one_are_the_same() -> None:
    assert parse_template("{{a}}\n{{b}}") == parse_template(r"{{a}}\n{{b}}")


def test_columns_come_once_each_in_order_of_appearance() -> None:
    assert parse_template('{{b}} {{a}}\n{{ b }} {{"b"}} {{c}}').columns == ("b", "a", "c")
