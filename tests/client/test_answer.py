"""An answer read from its JSON: types restored, shown in a terminal, a notebook, a DataFrame."""

from __future__ import annotations

import io
import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from uuid import UUID

import pandas
import pytest
from rich.console import Console

from pgask import Answer, Column, Table
from pgask.value import Value, restore, show

_CASES = Path(__file__).parent / "answer"
_SCRIPT = "<script"
_MORNING = datetime.fromisoformat("2025-01-03 04:05:06.700000")
_KEY = UUID("0b6f2c5e-8c1e-4f0f-9d7e-1a2b3c4d5e6f")


def _answer(name: str) -> Answer:
    return Answer.from_json((_CASES / f"{name}.json").read_text())


def _terminal(shown: object, width: int = 100) -> str:
    output = io.StringIO()
    Console(file=output, width=width, force_terminal=True, color_system=None).print(shown)
    return output.getvalue()


def _table(display: str, columns: dict[str, str], rows: list[list[Value]]) -> Table:
    return Table.from_document(
        _document(
            {
                "display": display,
                "columns": [{"name": name, "type": kind} for name, kind in columns.items()],
                "rows": rows,
            }
        )
    )


def _document(content: object):
    from pgask.document import Document

    return Document(content)


@pytest.mark.parametrize(
    ("sent", "type_name", "value"),
    [
        (12, "integer", 12),
        (12, "double precision", 12.0),
        ("NaN", "numeric", Decimal("NaN")),
        (Decimal("41204.50"), "numeric(12,2)", Decimal("41204.50")),
        (Decimal("0.1"), "real", 0.1),
        ("-Infinity", "double precision", float("-inf")),
        ("2025-01-03", "date", date(2025, 1, 3)),
        ("infinity", "date", "infinity"),
        ("0044-03-15 BC", "date", "0044-03-15 BC"),
        ("2025-01-03 04:05:06.7", "timestamp without time zone", _MORNING),
        ("2025-01-03 04:05:06.7+00", "timestamp with time zone", _MORNING.replace(tzinfo=UTC)),
        (str(_KEY), "uuid", _KEY),
        ("{1,2}", "integer[]", "{1,2}"),
        ("1 day 02:00:00", "interval", "1 day 02:00:00"),
        (None, "date", None),
        (True, "boolean", True),
        ("007", "text", "007"),
        ("cut off…", "uuid", "cut off…"),
    ],
)  # fmt: skip
def test_a_value_gets_its_type_back(sent: object, type_name: str, value: Value) -> None:
    restored = restore(sent, type_name)  # type: ignore[arg-type]
    assert repr(restored) == repr(value)


@pytest.mark.parametrize(
    ("value", "grouped", "text"),
    [
        (1234567, True, "1,234,567"),
        (2025, False, "2025"),
        (Decimal("1234.50"), True, "1,234.50"),
        (0.123456789, True, "0.123457"),
        (1234567.891, True, "1,234,567.89"),
        (float("nan"), True, "nan"),
        (True, True, "yes"),
        (None, True, ""),
        (datetime(2025, 1, 3, 4, 5, tzinfo=UTC), True, "2025-01-03 04:05:00+00:00"),
        ("a\nb\x1b[31m", True, "a⏎b�[31m"),
    ],
)
def test_a_value_reads_well(value: Value, grouped: bool, text: str) -> None:
    assert show(value, grouped=grouped) == text


def test_a_number_keeps_every_digit() -> None:
    digits = "12345678901234567890.123456789012345678901234567890"
    document = json.dumps(
        {"tables": [{"columns": [{"name": "n", "type": "numeric"}], "rows": [["@"]]}]}
    ).replace('"@"', digits)
    assert Answer.from_json(document).tables[0].rows[0][0] == Decimal(digits)


def test_an_answer_without_its_optional_keys_is_empty_not_an_error() -> None:
    answer = Answer.from_json('{"narrative": "Nothing is known.", "new_key": {"a": 1}}')
    assert (answer.source, answer.trusted, answer.tables) == ("none", False, ())
    assert str(answer) == "Nothing is known."


def test_printing_an_answer_gives_its_markdown() -> None:
    assert str(Answer.from_json('{"narrative": "Short."}', text="**Long**")) == "**Long**"


def test_the_terminal_shows_narrative_table_chart_and_provenance() -> None:
    shown = _terminal(_answer("ranking"))
    lines = [line.rstrip() for line in shown.splitlines()]
    assert lines[0] == "Walnut desk leads with 41,204.50, 18 % ahead of Oak shelf."
    assert any(line.startswith("Oak shelf     34,919.07    0.46   2025") for line in lines)
    assert any(line.startswith("Walnut desk ██████████") for line in lines)
    assert (
        "Top products of a category (approved), 0.91 similar: "
        "n = 3, category = Furniture, year = 2025"
    ) in lines


def test_nothing_in_an_answer_acts_upon_the_terminal() -> None:
    shown = _terminal(_answer("hostile"))
    assert "\x1b]" not in shown
    assert "\x1b[31m" not in shown
    assert "\x1b[2J" not in shown
    assert "\u202e" not in shown
    assert "\x07" not in shown
    assert "[bold red]not markup[/]" in shown


def test_nothing_in_an_answer_is_html() -> None:
    html = _answer("hostile")._repr_html_()
    assert _SCRIPT not in html
    assert "<img" not in html
    assert "<svg onload" not in html
    assert "&lt;script&gt;alert(1)" in html


def test_a_notebook_gets_text_html_and_a_chart() -> None:
    bundle = _answer("ranking")._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "text/html", "application/vnd.vegalite.v5+json"}
    assert set(_answer("ranking")._repr_mimebundle_(include=["text/html"])) == {"text/html"}
    assert set(Answer.from_json("{}")._repr_mimebundle_()) == {"text/plain", "text/html"}


def test_a_chart_names_its_fields_itself() -> None:
    chart = _answer("hostile").tables[0].vega_lite()
    assert chart is not None
    encoding = chart["encoding"]
    assert isinstance(encoding, dict)
    assert encoding["x"] == {"field": "value", "type": "quantitative", "title": "a.b['c']"}
    json.dumps(chart)


def test_a_line_over_dates_is_temporal_and_draws_every_measure() -> None:
    table = _table(
        "line",
        {"month": "date", "sales": "numeric", "returns": "bigint"},
        [["2025-01-01", Decimal("1.5"), 1], ["2025-02-01", None, 2]],
    )
    chart = table.vega_lite()
    assert chart is not None
    assert chart["encoding"]["x"]["type"] == "temporal"  # type: ignore[index]
    values = chart["data"]["values"]  # type: ignore[index]
    assert [(v["series"], v["label"], v["value"]) for v in values] == [
        ("sales", "2025-01-01", 1.5),
        ("sales", "2025-02-01", None),
        ("returns", "2025-01-01", 1.0),
        ("returns", "2025-02-01", 2.0),
    ]


def test_rows_of_one_label_are_not_drawn_as_one_bar() -> None:
    chart = _table("bar", {"name": "text", "n": "integer"}, [["a", 1], ["a", 2]]).vega_lite()
    assert chart is not None
    assert [v["label"] for v in chart["data"]["values"]] == ["a", "a (2)"]  # type: ignore[index]


@pytest.mark.parametrize(
    ("columns", "rows"),
    [
        ({"name": "text"}, [["a"]]),
        ({"a": "text", "b": "text"}, [["a", "b"]]),
        ({"name": "text", "customer_id": "integer"}, [["a", 1]]),
        ({"name": "text", "n": "integer"}, []),
    ],
)
def test_a_chart_that_does_not_fit_is_a_table(
    columns: dict[str, str], rows: list[list[Value]]
) -> None:
    table = _table("bar", columns, rows)
    assert table.vega_lite() is None
    assert "█" not in _terminal(table)


def test_years_and_numbers_of_one_table_chart_by_year() -> None:
    table = _table("bar", {"year": "integer", "n": "bigint"}, [[2024, 10], [2025, 20]])
    shown = [line.split() for line in _terminal(table).splitlines()]
    assert ["2025", "20"] in shown
    assert any(
        line[:1] == ["2025"] and line[-1:] == ["20"] and "█" in line[1]
        for line in shown
        if len(line) == 3
    )


def test_a_long_result_is_cut_to_a_screenful() -> None:
    table = _table("table", {"n": "integer"}, [[n] for n in range(1000)])
    assert len(_terminal(table).splitlines()) == 23
    assert "980 more rows" in _terminal(table)


def test_a_frame_has_the_types_of_the_columns() -> None:
    frame = _answer("ranking").tables[0].to_pandas()
    assert list(frame.columns) == [
        "product", "revenue", "share", "year", "first_sold", "last_sold", "in_stock",
    ]  # fmt: skip
    assert frame["revenue"].sum() == Decimal("76003.57")
    assert pandas.api.types.is_datetime64_any_dtype(frame["first_sold"])
    assert str(frame["year"].dtype) == "Int64"
    assert frame["in_stock"].isna().sum() == 1
    inexact = _answer("ranking").tables[0].to_pandas(exact=False)
    assert inexact["revenue"].dtype == "float64"


def test_a_frame_of_no_rows_or_of_two_columns_with_one_name_is_made() -> None:
    empty = _table("table", {"n": "integer", "d": "date"}, []).to_pandas()
    assert (len(empty), list(empty.columns)) == (0, ["n", "d"])
    twice = Table(
        (Column("count", "bigint"), Column("count", "bigint")), ((1, 2),), None, "table", False
    ).to_pandas()
    assert twice.iloc[0].tolist() == [1, 2]
