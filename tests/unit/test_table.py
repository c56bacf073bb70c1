"""The table: aligned, valid Markdown, and safe to look at."""

from __future__ import annotations

import pytest
from tests.unit.answer_case import Case, read_cases

from pgask_server.answer import table
from pgask_server.answer.value import ResultTable


@pytest.mark.parametrize("case", read_cases("table"), ids=lambda case: case.name)
def test_a_table_is_written_so(case: Case) -> None:
    assert table.render(case.answer.tables[0]) == case.expected


def test_a_result_without_columns_says_so() -> None:
    assert table.render(ResultTable([], [[], []])) == "(2 rows without a column)"
