"""Matching in a database: saved questions are found, values linked with the asker's own rights."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, cast

import pytest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from psycopg import Connection

pytestmark = pytest.mark.usefixtures("shop")

CATEGORIES = ("Furniture", "Technology", "Office Supplies", "Led Zeppelin", "Other", "São Paulo")


@pytest.fixture
def shop(connection: Connection[tuple[object, ...]]) -> None:
    """A table of products in a few categories, and one of a hundred thousand names."""
    connection.execute("create schema shop")
    connection.execute(
        'create table shop.product (id int primary key, "Category" text, price numeric, year int)'
    )
    with connection.cursor() as cursor:
        cursor.executemany(
            "insert into shop.product values (%s, %s, %s, %s)",
            [(at, CATEGORIES[at % len(CATEGORIES)], at * 10, 2020 + at % 6) for at in range(60)],
        )
    connection.execute(
        "create table shop.person as"
        " select g as id, 'Person ' || md5(g::text) as name from generate_series(1, 30000) g"
    )
    connection.execute("insert into shop.person values (0, 'Augusta Lovelace')")
    connection.execute("create index on shop.person using gin (name public.gin_trgm_ops)")
    connection.execute("analyze shop.person")
    for prompt, sql, params in (
        (
            "Top {n} products of the category {category} in {year}",
            (
                'select p.id from shop.product p where p."Category" = :category and p.year = :year'
                " order by p.price desc limit :n"
            ),
            [
                {"name": "n", "type": "integer", "default": 10},
                {"name": "category", "column": 'shop.product."Category"'},
                {"name": "year", "type": "integer"},
            ],
        ),
        (
            "How many people are called {name}?",
            "select count(*) from shop.person p where p.name = :name",
            [{"name": "name", "column": "shop.person.name"}],
        ),
        (
            "What is the average price of all products?",
            "select avg(p.price) from shop.product p",
            [],
        ),
    ):
        connection.execute(
            "select pgask.save_question(%s, %s::jsonb, %s::jsonb)",
            (prompt, json.dumps([{"sql": sql}]), json.dumps(params)),
        )


def answer(
    connection: Connection[tuple[object, ...]], question: str, params: str = "{}"
) -> Mapping[str, object]:
    row = connection.execute("select pgask.answer(%s, %s::jsonb)", (question, params)).fetchone()
    assert row is not None
    return cast("Mapping[str, object]", row[0])


def test_a_misspelt_value_of_a_column_binds(
    connection: Connection[tuple[object, ...]],
) -> None:
    found = answer(connection, "top 3 products in the furnitre category in 2025?")
    assert found["params"] == {"n": 3, "category": "Furniture", "year": 2025}
    found = answer(connection, "top products of the category led zepelin in 2021")
    assert found["params"] == {"n": 10, "category": "Led Zeppelin", "year": 2021}
    found = answer(connection, "top products of the category sao paulo in 2021")
    assert cast("Mapping[str, object]", found["params"])["category"] == "São Paulo"


def test_a_value_of_a_large_column_is_found_through_its_index(
    connection: Connection[tuple[object, ...]],
) -> None:
    found = answer(connection, "how many people are called augusta lovlace?")
    assert found["params"] == {"name": "Augusta Lovelace"}


def test_a_value_that_does_not_exist_is_missing_and_the_nearest_are_offered(
    connection: Connection[tuple[object, ...]],
) -> None:
    found = answer(connection, "top 3 products of the category gardening in 2025")
    assert found["missing"] == ["category"]


def test_values_are_those_that_the_asker_may_see(
    connection: Connection[tuple[object, ...]],
) -> None:
    connection.execute("create role match_clerk in role pgask_reader")
    try:
        connection.execute("grant usage on schema shop to match_clerk")
        connection.execute("set role match_clerk")
        hidden = connection.execute(
            """select count(*) from pgask._value_column('shop.product."Category"') c
            where c.readable"""
        ).fetchone()
        assert hidden == (0,)
        with pytest.raises(Exception, match="permission denied"):
            connection.execute("""select pgask._column_values('shop.product."Category"', 10)""")
    finally:
        connection.execute("reset role")
        connection.execute("drop owned by match_clerk")
        connection.execute("drop role match_clerk")


def test_row_security_hides_values_from_the_next_asker_of_the_same_session(
    connection: Connection[tuple[object, ...]],
) -> None:
    connection.execute("alter table shop.product enable row level security")
    connection.execute(
        "create policy own on shop.product using"
        """ ("Category" = current_setting('app.category', true))"""
    )
    connection.execute("create role match_pooled in role pgask_reader")
    try:
        connection.execute("grant usage on schema shop to match_pooled")
        connection.execute("grant select on shop.product to match_pooled")
        connection.execute("update pgask.nl_query set status = 'approved' where status = 'draft'")
        connection.execute("set role match_pooled")
        for category in ("Furniture", "Technology"):
            connection.execute("select set_config('app.category', %s, false)", (category,))
            found = answer(connection, "top 3 products of the category furniture in 2025")
            seen = cast("Mapping[str, object]", found["params"]).get("category")
            assert seen == ("Furniture" if category == "Furniture" else None)
    finally:
        connection.execute("reset role")
        connection.execute("drop owned by match_pooled")
        connection.execute("drop role match_pooled")


@pytest.mark.parametrize(
    "column",
    [
        "shop.product.nope",
        "nope.product.id",
        'shop."product; drop table x".id',
        "pg_catalog.pg_class.x",
    ],
)
def test_a_column_that_does_not_exist_has_no_values(
    connection: Connection[tuple[object, ...]], column: str
) -> None:
    assert connection.execute("select pgask._column_values(%s, 10)", (column,)).fetchall() == []


@pytest.mark.parametrize(
    "question",
    ["it's O'Brien's 'quoted\" \\ text", "🎉🎉", "%_\\%", "x" * 100_000, "{n} {category}",
     "'; drop table shop.product; --", "how many people are called %?", "\u202e\u0301"],
)  # fmt: skip
def test_nothing_that_is_typed_raises(
    connection: Connection[tuple[object, ...]], question: str
) -> None:
    assert answer(connection, question)["source"] in ("saved", "generated", "evidence", "none")
    assert connection.execute("select count(*) from shop.product").fetchone() == (60,)


def test_a_question_about_something_else_is_not_answered(
    connection: Connection[tuple[object, ...]],
) -> None:
    for question in ("what is the weather in Paris?", "how do I bake a cake?"):
        assert answer(connection, question)["source"] != "saved"
