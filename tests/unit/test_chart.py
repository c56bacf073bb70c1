"""The chart: where the hint fits the result, and only there."""

from __future__ import annotations

import pytest
from tests.unit.answer_case import Case, read_cases

from pgask_server.answer import chart
from pgask_server.answer.value import Column, ResultTable


@pytest.mark.parametrize("case", read_cases("chart"), ids=lambda case: case.name)
def test_a_chart_is_drawn_so(case: Case) -> None:
    assert (chart.render(case.answer.tables[0]) or "") == case.expected


def test_a_chart_of_many_rows_says_how_many_there_are_more() -> None:
    rows = [[f"product {n}", 100 - n] for n in range(25)]
    columns = [Column("product"), Column("sold", "integer")]
    drawn = chart.render(ResultTable(columns, rows, display="bar")) or ""
    assert drawn.splitlines()[-2:] == ["… 5 more", "```"]
    assert len(drawn.splitlines()) == 23


def test_a_line_of_many_points_is_averaged_to_sixty() -> None:
    rows = [[f"2025-01-01 {n // 60:02}:{n % 60:02}:00", n] for n in range(600)]
    columns = [Column("at", "timestamp without time zone"), Column("load", "integer")]
    drawn = chart.render(ResultTable(columns, rows, display="line")) or ""
    assert len(drawn.splitlines()[1].split()[1]) == 60
