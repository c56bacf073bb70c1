"""ask() on a saved question, warm, against its parts: the model, the nearest question, the SQL.

The questions are the demonstration's, over its shop. Each is asked in new words and with new
values each time, so that no cache of vectors helps.
"""

from __future__ import annotations

import io
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, LiteralString

from _measure import Connection, Figure, figure, in_turn, scratch_database, show, timed
from rich.console import Console

from pgask import Client
from pgask.demo.__main__ import prepare
from pgask.demo.questions import SAVED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_WARM = 12
_PER_QUESTION = 40

_NEAREST: LiteralString = """
select q.id, q.canonical_prompt, q.params, q.derived_sqls
from pgask.nl_query q
where q.embedding_model = 'local/all-MiniLM-L6-v2' and q.retired_at is null
order by q.query_vector <=> %s
limit 1
"""

_WORDINGS: Mapping[str, Sequence[str]] = {
    "Top products of a category": (
        "top {n} products in the category {category} in {year} by revenue",
        "the top {n} {category} products by revenue in {year}",
        "top {n} products of the {category} category by revenue in {year}",
    ),
    "Best customers": (
        "who are the top {n} customers by revenue?",
        "who are our top {n} customers by revenue",
        "the top {n} customers by revenue please",
    ),
    "Customers of a country": (
        "how many customers live in {country}?",
        "how many customers do live in {country}",
        "how many of the customers live in {country}?",
    ),
    "Orders of a customer": (
        "show the orders of the customer {customer}",
        "show me the orders of customer {customer}",
        "show all orders of the customer {customer}",
    ),
    "Revenue by month": (
        "how did revenue develop by month in {year}?",
        "how did the revenue develop month by month in {year}",
        "how did our revenue develop by month in the year {year}",
    ),
}
"""By the label of the saved question; all are found."""


@dataclass(frozen=True, slots=True)
class _Asked:
    question: str
    sql: str
    """The saved statement, with the driver's places."""
    values: Mapping[str, object]


def questions(connection: Connection, label: str, chance: random.Random) -> list[_Asked]:
    """Distinct questions that the saved one of this label answers."""
    values: Mapping[str, Sequence[object]] = {
        "n": range(2, 100),
        "year": (2024, 2025, 2026),
        "category": _column(connection, "select distinct p.category from shop.product p"),
        "country": _column(connection, "select distinct c.country from shop.customer c"),
        "customer": _column(connection, "select c.name from shop.customer c"),
    }
    [saved] = [question for question in SAVED if question.label == label]
    sql = saved.sql
    for parameter in saved.params:
        sql = sql.replace(f":{parameter['name']}", f"%({parameter['name']})s")
    asked: dict[str, _Asked] = {}
    politeness = ("", " please", ", thank you", " - thanks", ", if you can", " now", ", quickly")
    while len(asked) < _PER_QUESTION:
        chosen = {str(p["name"]): chance.choice(values[str(p["name"])]) for p in saved.params}
        text = chance.choice(_WORDINGS[label]).format(**chosen) + chance.choice(politeness)
        asked[text] = _Asked(text, sql, chosen)
    return list(asked.values())


def _column(connection: Connection, sql: LiteralString) -> list[object]:
    return [value for (value,) in connection.execute(sql).fetchall()]


def measure(connection: Connection, asked: Sequence[_Asked]) -> list[tuple[float, float]]:
    """The seconds of both sides for each of these questions."""

    def ours(i: int) -> float:
        return timed(lambda: connection.execute("select ask(%s)", [asked[i].question]).fetchall())

    def bare(i: int) -> float:
        row = connection.execute(
            "select bench.embed(array[%(q)s]), (pgask._embed_texts(array[%(q)s]))[1]",
            {"q": asked[i].question},
        ).fetchone()
        assert row is not None
        seconds, vector = float(str(row[0])), row[1]

        def rest() -> None:
            connection.execute(_NEAREST, [vector]).fetchall()
            connection.execute(asked[i].sql.encode(), asked[i].values).fetchall()

        return seconds + timed(rest)

    return in_turn(ours, bare, len(asked) - _WARM, _WARM)


def answered(url: str, label: str, asked: Sequence[_Asked]) -> list[_Asked]:
    """Those that the saved question answers with these values; in a session of its own.

    What is asked back runs no statement, and would count as a fast answer.
    """
    with Client(url) as client:
        answers = [(one, client.ask(one.question)) for one in asked]
    return [
        one
        for one, answer in answers
        if (answer.outcome, answer.label) == ("answered", label)
        and dict(answer.params) == dict(one.values)
    ]


def main() -> None:
    chance = random.Random(1)
    with scratch_database() as (url, connection):
        with Client(url) as client:
            prepare(client, url, Console(file=io.StringIO()))
        connection.execute("analyze")
        figures: list[Figure] = []
        everything: list[tuple[float, float]] = []
        for label in _WORDINGS:
            asked = answered(url, label, questions(connection, label, chance))
            pairs = measure(connection, asked)
            figures.append(figure(f"{label} ({len(pairs)})", pairs))
            everything += pairs
        figures.append(figure(f"all ({len(everything)})", everything))
        show(
            connection,
            "ask(), warm, against one call of the model, the nearest question and its SQL",
            figures,
            "at most 1.50",
        )


if __name__ == "__main__":
    main()
