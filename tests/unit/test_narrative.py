"""The narrative: what is said, and what is not claimed."""

from __future__ import annotations

import pytest
from tests.unit.answer_case import Case, read_cases

from pgask_server.answer import narrative


@pytest.mark.parametrize("case", read_cases("narrative"), ids=lambda case: case.name)
def test_the_narrative_says_what_the_rows_show(case: Case) -> None:
    assert narrative.compose(case.answer) == case.expected
