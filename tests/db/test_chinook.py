"""Ten saved questions over the Chinook database answer thirty phrasings, or ask back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.eval import chinook

if TYPE_CHECKING:
    from pgask import Client

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not chinook.DATABASE.exists(), reason="../shared/data/chinook is not beside this clone"
    ),
]

MEASURED_RIGHT = 8
MEASURED_WRONG = 0
"""Of thirty, as docs/benchmarks.md reports them."""


def test_a_phrasing_is_answered_as_plain_sql_answers_it_or_asked_back(client: Client) -> None:
    chinook.prepare(client)
    embedded = {status.source_table: status.embedded for status in client.status()}
    assert embedded == {"artist": 275, "album": 347, "track": 3503}

    verdicts = chinook.judge(client)
    of_saved = [verdict for verdict in verdicts if verdict.asked.label]
    assert len(of_saved) == 30
    wrong = [v for v in of_saved if v.outcome == "wrong"]
    assert len(wrong) <= MEASURED_WRONG, wrong
    assert chinook.count(of_saved)["right"] >= MEASURED_RIGHT, verdicts

    none_is_saved = [verdict for verdict in verdicts if not verdict.asked.label]
    assert [v for v in none_is_saved if v.outcome == "wrong"] == []
