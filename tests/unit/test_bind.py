"""Binding: a question and a saved one's parameters give values, as listed in bind/values.txt."""

from __future__ import annotations

import datetime
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pgask_server.errors import ParameterInvalid, QuestionInvalid
from pgask_server.question.bind import Binding, bind, clean_question
from pgask_server.question.dates import find_periods
from pgask_server.question.numbers import find_numbers
from pgask_server.question.parameter import (
    Parameter,
    check_value,
    json_schema,
    parse_parameters,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pgask_server.database import Row

TODAY = datetime.date(2026, 6, 15)


class NoDatabase:
    """Lists of values need none."""

    def execute(
        self, sql: str, types: Sequence[str] = (), values: Sequence[object] = (), limit: int = 0
    ) -> Sequence[Row]:
        raise AssertionError(sql)

    def columns(
        self, sql: str, types: Sequence[str] = (), values: Sequence[object] = ()
    ) -> Sequence[tuple[str, int]]:
        raise AssertionError(sql)

    def commit(self) -> None: ...

    def rollback(self) -> None: ...

    def warn(self, message: str) -> None: ...


def cases() -> Iterator[object]:
    prompt, params = "", ""
    for line in (Path(__file__).parent / "bind/values.txt").read_text().splitlines():
        if line.startswith("prompt: "):
            prompt, params = line.removeprefix("prompt: "), ""
        elif line.startswith("params: "):
            params += line.removeprefix("params: ")
        elif line and not line.startswith("#"):
            question, _, expected = line.rpartition(" -> ")
            yield pytest.param(prompt, params, question, expected, id=question)


def shown(binding: Binding) -> str:
    values: list[str] = []
    for name, value in binding.values.items():
        if name in binding.missing:
            values.append(f"{name}: !")
        elif name in binding.defaulted:
            values.append(f"{name}: ={value}")
        else:
            values.append(f"{name}: {value}")
    return ", ".join(values)


@pytest.mark.parametrize(("prompt", "params", "question", "expected"), [*cases()])
def test_a_question_binds_its_values(
    prompt: str, params: str, question: str, expected: str
) -> None:
    parameters = parse_parameters(params, prompt)
    binding = bind(NoDatabase(), parameters, question, {}, canonical_prompt=prompt, today=TODAY)
    assert shown(binding) == expected


def test_given_values_come_before_the_words_and_these_before_the_default() -> None:
    prompt = "Top {n} in {year}"
    parameters = parse_parameters(
        '[{"name": "n", "type": "integer", "default": 10}, {"name": "year", "type": "integer"}]'
    )
    binding = bind(
        NoDatabase(), parameters, "top 3 in 2024", {"n": 7}, canonical_prompt=prompt, today=TODAY
    )
    assert binding.values == {"n": "7", "year": "2024"}
    assert "n" not in binding.spans


def test_a_given_name_that_the_question_does_not_have_is_refused() -> None:
    with pytest.raises(ParameterInvalid, match="no parameter") as caught:
        bind(NoDatabase(), (Parameter("n", "integer"),), "top 3", {"m": 1}, today=TODAY)
    assert caught.value.hint == "Its parameters: n."


def test_a_number_out_of_range_is_named_and_not_bound() -> None:
    parameters = parse_parameters('[{"name": "n", "type": "integer", "min": 1, "max": 100}]')
    binding = bind(NoDatabase(), parameters, "top 500", {}, canonical_prompt="Top {n}", today=TODAY)
    assert binding.missing == ("n",)
    assert binding.notes == ("n: 500 is not taken. It is at most 100.",)


def test_two_values_that_fit_as_well_are_offered_and_neither_is_bound() -> None:
    parameters = parse_parameters('[{"name": "customer", "values": ["Anna Smith", "John Smith"]}]')
    binding = bind(
        NoDatabase(),
        parameters,
        "orders of Smith",
        {},
        canonical_prompt="Orders of {customer}",
        today=TODAY,
    )
    assert binding.missing == ("customer",)
    assert binding.alternatives == {"customer": ("Anna Smith", "John Smith")}


def test_one_span_never_fills_two_parameters() -> None:
    parameters = parse_parameters(
        '[{"name": "a", "type": "integer"}, {"name": "b", "type": "integer"}]'
    )
    binding = bind(
        NoDatabase(), parameters, "give me 5", {}, canonical_prompt="{a} of {b}", today=TODAY
    )
    assert [value is None for value in binding.values.values()].count(True) == 1


@pytest.mark.parametrize(
    "question",
    [
        "",
        "\0",
        "'\"; drop table x; --",
        "🎉" * 50,
        "\ud800",
        "{n} {year} {",
        "٣ ３ ²",
        "1" * 5000,
        "in 0000",
        "99999999999 years ago",
        "last 9999 years",
        "1e309",
        "a" * 100_000,
        "'" * 4000,
        "1,2,3,4" * 900,
        "jan " * 1000,
        "from to " * 500,
        "- " * 2000,
    ],
)
def test_nothing_that_is_typed_raises(question: str) -> None:
    parameters = parse_parameters(
        '[{"name": "n", "type": "integer"}, {"name": "d", "type": "date"}, {"name": "t"},'
        ' {"name": "v", "values": ["x y", "z"]}, {"name": "f", "type": "boolean"}]'
    )
    prompt = "Top {n} of {t} since {d} for {v} with {f}"
    binding = bind(NoDatabase(), parameters, question, {}, canonical_prompt=prompt, today=TODAY)
    assert set(binding.values) == {"n", "d", "t", "v", "f"}
    assert len(clean_question(question)) <= 4000


@pytest.mark.parametrize(
    ("definition", "message"),
    [
        ("{}", "params is not a list"),
        ("[1]", "a parameter is an object"),
        ('[{"name": "N"}]', "is not a name"),
        ('[{"name": "n", "type": "float"}]', "unknown type"),
        ('[{"name": "n", "typ": "text"}]', 'unknown key "typ"'),
        ('[{"name": "n"}, {"name": "n"}]', "declared twice"),
        ('[{"name": "n", "type": "integer", "min": 5, "max": 1}]', "min is above max"),
        ('[{"name": "n", "type": "integer", "max": 5, "default": 9}]', "default is not valid"),
        ('[{"name": "n", "values": ["a"], "default": "b"}]', "default is not valid"),
        ('[{"name": "n", "column": "a.b"}]', "does not name a column"),
        (r'[{"name": "n", "pattern": "(a*)*\\1"}]', "refers back"),
        (json.dumps([{"name": "n", "pattern": "x" * 1001}]), "longer than 1000"),
        ('[{"name": "n", "type": "date", "pattern": "x"}]', "only a text"),
        (
            '[{"name": "n", "type": "timestamp", "min": "0001-01-01T00:00:00+14:00"}]',
            "min is not valid",
        ),
        ('[{"name": "n", "required": "yes"}]', "required is true or false"),
        ("[", "not valid JSON"),
    ],
)
def test_a_definition_that_cannot_be_meant_is_refused(definition: str, message: str) -> None:
    with pytest.raises(QuestionInvalid, match=message):
        parse_parameters(definition)


def test_a_place_without_a_parameter_is_refused_and_so_is_a_parameter_without_use() -> None:
    with pytest.raises(QuestionInvalid, match=r"a place \{year\}"):
        parse_parameters("[]", "Sales in {year}")
    with pytest.raises(QuestionInvalid, match="is not used"):
        parse_parameters('[{"name": "n"}]', "Sales", ["select '::n'::text"])
    assert parse_parameters('[{"name": "n"}]', "Sales", ["select :n"])


def test_a_quoted_column_is_taken() -> None:
    (parameter,) = parse_parameters(
        json.dumps([{"name": "size", "column": 'kb."My Table"."Größe"'}])
    )
    assert parameter.column == 'kb."My Table"."Größe"'


@pytest.mark.parametrize(
    ("parameter", "value", "text"),
    [
        (Parameter("n", "integer"), " 007 ", "7"),
        (Parameter("n", "integer"), 3.0, "3"),
        (Parameter("n", "number"), "1.50", "1.5"),
        (Parameter("n", "number"), 1e3, "1000"),
        (Parameter("n", "boolean"), "Yes", "true"),
        (Parameter("n", "date"), "2025-03-01", "2025-03-01"),
        (Parameter("n", "timestamp"), "2025-03-01T10:00", "2025-03-01 10:00:00"),
        (Parameter("n", "text", values=("Red", "Blue")), "red", "Red"),
        (Parameter("n", "text"), "O'Brien", "O'Brien"),
    ],
)
def test_a_value_has_one_canonical_text(parameter: Parameter, value: object, text: str) -> None:
    assert check_value(parameter, value) == text


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        (Parameter("n", "integer"), "1.5"),
        (Parameter("n", "integer"), True),
        (Parameter("n", "integer"), 2**63),
        (Parameter("n", "integer"), "9" * 100_000),
        (Parameter("n", "number"), "NaN"),
        (Parameter("n", "number"), float("inf")),
        (Parameter("n", "number"), "1e999999"),
        (Parameter("n", "date"), "2025-02-30"),
        (Parameter("n", "text"), "a\0b"),
        (Parameter("n", "text"), ["a"]),
        (Parameter("n", "text", values=("a",)), "b"),
        (Parameter("n", "integer", maximum="5"), 6),
        (Parameter("n", "timestamp"), "2025-03-01T10:00+02:00"),
        (Parameter("n", "timestamp"), "2025-03-01T10:00:00Z"),
        (Parameter("n", "timestamp", minimum="2020-01-01 00:00:00"), "0001-01-01T00:00:00+14:00"),
        (Parameter("n", "timestamp", maximum="2020-01-01 00:00:00"), "9999-12-31T23:59:59-14:00"),
        (Parameter("n", "timestamp"), datetime.datetime(2025, 3, 1, tzinfo=datetime.UTC)),
        (Parameter("n", "text"), "x" * 5000),
        (Parameter("n", "text"), "\ud800"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_with_the_rule(
    parameter: Parameter, value: object
) -> None:
    with pytest.raises(ParameterInvalid) as caught:
        check_value(parameter, value)
    assert caught.value.detail
    assert caught.value.hint


def test_the_form_is_a_json_schema() -> None:
    parameters = parse_parameters(
        '[{"name": "n", "type": "integer", "default": 10, "min": 1}, {"name": "day", "type":'
        ' "date"}, {"name": "size", "values": ["S", "M"], "required": false}]'
    )
    schema = json_schema(parameters, "Top things")
    assert schema["required"] == ["day"]
    assert schema["properties"] == {
        "n": {"type": "integer", "title": "n", "minimum": 1, "default": 10},
        "day": {"type": "string", "title": "day", "format": "date"},
        "size": {"type": "string", "title": "size", "enum": ["S", "M"]},
    }


def test_a_timestamp_is_described_without_an_offset() -> None:
    properties = json_schema((Parameter("at", "timestamp"),))["properties"]
    form = re.compile(str(properties["at"]["pattern"]))  # type: ignore[index]
    for text in ("2025-03-31", "2025-03-31 12:00", "2025-03-31T12:00:00.5"):
        assert form.search(text)
        assert check_value(Parameter("at", "timestamp"), text)
    assert not form.search("2025-03-31T12:00:00Z")


def test_a_number_beyond_every_integer_is_named_and_not_bound() -> None:
    parameters = parse_parameters('[{"name": "n", "type": "integer"}]')
    question = "top 99999999999999999999"
    binding = bind(NoDatabase(), parameters, question, canonical_prompt="Top {n}", today=TODAY)
    assert binding.missing == ("n",)
    assert binding.notes == ("n: 99999999999999999999 is not taken. It fits into a bigint.",)


def test_a_range_may_begin_on_a_leap_day_that_its_year_lacks() -> None:
    (period,) = find_periods("from 29 February to 3 March 2025", datetime.date(2024, 6, 15))
    assert (period.first, period.last) == (datetime.date(2025, 2, 28), datetime.date(2025, 3, 3))


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("1,200 and 3k and $4.50", "1200 3000 4.50"),
        ("three hundred and twenty five", "325"),
        ("a dozen, half a million, a couple of", "12 500000 2"),
        ("twenty three, two three", "23 2 3"),
        ("1.200.000 or v1.2.3 or 1,2,3", "1200000"),
        ("-5 degrees, 20 %, the 3rd", "-5 20 3"),
        ("9" * 50, ""),
    ],
)
def test_numbers_are_found_in_digits_and_words(text: str, numbers: str) -> None:
    assert " ".join(str(number.value) for number in find_numbers(text)) == numbers


def test_a_year_that_was_left_out_is_the_latest_one_that_has_begun() -> None:
    (december,) = find_periods("sales in December", TODAY)
    (march,) = find_periods("sales in March", TODAY)
    assert (december.first.year, march.first.year) == (2025, 2026)
