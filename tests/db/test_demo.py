"""The demonstration loads once, and its five answers are those that plain SQL gives."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from pgask import Client, PgaskError
from pgask.demo.__main__ import main, prepare, show
from pgask.demo.help_centre import parse_articles, read_articles
from pgask.demo.questions import ASKED, SAVED
from pgask.demo.shop import FIRST_DAY, LAST_DAY, make_shop

if TYPE_CHECKING:
    from collections.abc import Iterator

    import psycopg
    from psycopg.rows import TupleRow

TABLE, CHART, MISSPELT, WORDS, CATALOG = (question for _shows, question in ASKED)


@pytest.fixture
def loaded(pgask_database: str) -> Iterator[tuple[Client, str]]:
    """A client of a database with the demonstration in it, and what was printed."""
    printed = io.StringIO()
    with Client(pgask_database) as client:
        prepare(client, pgask_database, Console(file=printed, width=100))
        yield client, printed.getvalue()


def rows(client: Client, sql: str) -> list[TupleRow]:
    connection: psycopg.Connection[TupleRow] = client.connection
    return connection.execute(sql.encode()).fetchall()


def test_the_shop_is_the_same_for_the_same_seed_and_another_for_another() -> None:
    shop = make_shop()
    assert shop == make_shop()
    assert shop.orders != make_shop(8).orders
    assert 3_000 < len(shop.customers) + len(shop.orders) + len(shop.order_lines) < 10_000
    joined = {customer[0]: customer[5] for customer in shop.customers}
    for _number, customer, day, _status in shop.orders:
        assert FIRST_DAY <= joined[customer] <= day <= LAST_DAY


def test_the_articles_are_about_forty_of_80_to_200_words() -> None:
    articles = read_articles()
    assert 38 <= len(articles) <= 45
    assert len({a.id for a in articles}) == len({a.title for a in articles}) == len(articles)
    for article in articles:
        assert 80 <= len(article.body.split()) <= 200, article.title


def test_an_article_without_its_head_is_refused() -> None:
    with pytest.raises(ValueError, match="orders"):
        list(parse_articles("How do I order?", "orders"))


def test_a_second_run_changes_nothing(loaded: tuple[Client, str], pgask_database: str) -> None:
    client, printed = loaded
    assert "Loaded" in printed
    contents = """
        select (select count(*) from shop.order_line), (select count(*) from help.article),
            (select string_agg(q.id || ' ' || q.version, ',' order by q.id) from pgask.nl_query q),
            (select string_agg(e::text, '' order by e.id) from pgask.embedding e)
    """
    before = rows(client, contents)
    again = io.StringIO()
    prepare(client, pgask_database, Console(file=again, width=100))
    assert rows(client, contents) == before
    assert "Loaded" not in again.getvalue()
    assert f"{len(SAVED)} questions were saved already" in again.getvalue()


def test_a_schema_of_somebody_else_is_left_alone(pgask_database: str) -> None:
    with Client(pgask_database) as client:
        client.connection.execute("create schema shop")
        with pytest.raises(PgaskError, match="not the demonstration's"):
            prepare(client, pgask_database, Console(file=io.StringIO()))
        assert rows(client, "select 1 from pg_class c where c.relnamespace = 'shop'::regnamespace"
                            ) == []  # fmt: skip
    assert main(["--dsn", pgask_database]) == 1


def test_the_five_answers_are_right(loaded: tuple[Client, str]) -> None:
    client, _ = loaded
    table = client.ask(TABLE)
    assert table.label == "Best customers"
    assert table.trusted
    assert [r[:2] for r in table.tables[0].rows] == rows(
        client,
        """
            select c.name, sum(l.quantity * l.unit_price)
            from shop.customer c
            join shop.orders o on o.customer_id = c.id
            join shop.order_line l on l.order_id = o.id
            where o.status <> 'cancelled'
            group by c.id order by 2 desc limit 5
            """,
    )

    chart = client.ask(CHART)
    assert chart.label == "Revenue by category"
    assert chart.tables[0].display == "bar"
    assert list(chart.tables[0].rows) == rows(
        client,
        """
            select p.category, sum(l.quantity * l.unit_price)
            from shop.product p
            join shop.order_line l on l.product_id = p.id
            join shop.orders o on o.id = l.order_id
            where o.status <> 'cancelled'
            group by p.category order by 2 desc
            """,
    )

    misspelt = client.ask(MISSPELT)
    assert misspelt.label == "Top products of a category"
    assert dict(misspelt.params) == {"n": 3, "category": "Furniture", "year": 2025}
    assert [r[:2] for r in misspelt.tables[0].rows] == rows(
        client,
        """
            select p.name, sum(l.quantity * l.unit_price)
            from shop.product p
            join shop.order_line l on l.product_id = p.id
            join shop.orders o on o.id = l.order_id
            where p.category = 'Furniture' and o.status <> 'cancelled'
                and o.ordered_on >= '2025-01-01' and o.ordered_on < '2026-01-01'
            group by p.id order by 2 desc limit 3
            """,
    )

    words = client.ask(WORDS)
    assert words.source == "evidence"
    assert words.tables == ()
    assert words.evidence[0].source == "help.article"
    assert words.evidence[0].source_id == "401"

    catalog = client.ask(CATALOG)
    assert catalog.label == "Largest tables"
    assert catalog.status == "system"
    first = catalog.tables[0].rows[0][0]
    assert [(first,)] == rows(
        client,
        """
        select format('%I.%I', n.nspname, c.relname)
        from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where c.relkind in ('r', 'm') and n.nspname !~ '^pg_|^information_schema$'
        order by pg_total_relation_size(c.oid) desc limit 1
        """,
    )


def test_the_show_prints_every_question_with_its_answer(loaded: tuple[Client, str]) -> None:
    client, _ = loaded
    printed = io.StringIO()
    show(client, Console(file=printed, width=120))
    text = printed.getvalue()
    for _shows, question in ASKED:
        assert question in text
    assert "Walnut desk" in text
    assert "make psql" in text
    assert (client.connection.info.password or "no password") not in text


def test_every_saved_question_runs_with_its_examples(loaded: tuple[Client, str]) -> None:
    client, _ = loaded
    for question in SAVED:
        prompt = question.canonical_prompt
        for parameter in question.params:
            value = parameter.get("example", parameter.get("default"))
            prompt = prompt.replace("{" + str(parameter["name"]) + "}", str(value))
        if question.label == "Orders of a customer":
            [[name]] = rows(client, "select c.name from shop.customer c where c.id = 1")
            prompt = f"Show the orders of the customer {name}"
        answer = client.ask(prompt)
        assert answer.label == question.label, prompt
        assert answer.outcome == "answered", prompt


@pytest.mark.parametrize(
    "question",
    [
        "how many customers do not live in France?",
        "how many orders from Germany were not returned?",
        "how many orders from Germany and France have been returned?",
        "how many orders from Germany were returned in 2024?",
        "average order value in 2024 in Germany",
        "average order value in 2024 compared with 2025",
        "top 5 products in Furniture except desks in 2025",
    ],
)
def test_what_a_saved_question_cannot_know_is_not_answered_by_it(
    loaded: tuple[Client, str], question: str
) -> None:
    answer = loaded[0].ask(question)
    assert not answer.tables, answer.text
