"""The clients against a database with pgask installed."""

from __future__ import annotations

import asyncio
import inspect
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from pgask import AsyncClient, Client, errors

if TYPE_CHECKING:
    import psycopg
    from psycopg.rows import TupleRow

    from pgask.testing.model_server import ModelServer

_ARTICLES = """
    create schema kb;
    create table kb.article (
        id integer primary key, title text not null, body text not null, category text not null
    );
    insert into kb.article values
        (1, 'Refunds', 'How to get your money back', 'billing'),
        (2, 'Password', 'Reset a forgotten password', 'account');
"""
_PROMPT = "Sold articles of kind {kind} since {day}"
_SQL = """
    select a.kind, a.day, sum(a.price) as revenue
    from (values ('desk', date '2025-01-03', 10.50), ('shelf', date '2025-02-01', 3.25))
        as a (kind, day, price)
    where a.kind = :kind and a.day >= :day
    group by a.kind, a.day
"""
_PARAMS = [
    {"name": "kind", "type": "text", "values": ["desk", "shelf"], "example": "desk"},
    {"name": "day", "type": "date", "example": "2025-01-01"},
]


@pytest.fixture
def articles(
    connection: psycopg.Connection[TupleRow], client: Client, stub_model: ModelServer
) -> None:
    """A registered table with two rows, embedded."""
    connection.execute(_ARTICLES)
    client.register_source("kb.article", "{{title}}\n{{body}}", filter_columns=["category"])
    client.work()


def test_both_clients_have_the_same_methods_with_the_same_parameters() -> None:
    def surface(kind: type) -> dict[str, list[str]]:
        return {
            name: [p for p in inspect.signature(method).parameters if p != "self"]
            for name, method in inspect.getmembers(kind, inspect.isfunction)
            if not name.startswith("_") and name not in ("connection", "connected")
        }

    assert surface(Client) == surface(AsyncClient)


def test_a_saved_question_is_answered_with_its_types(client: Client) -> None:
    question = client.save_question(_PROMPT, [{"sql": _SQL, "display": "bar"}], _PARAMS)
    client.approve_question(question, note="checked")
    answer = client.ask(_PROMPT.format(kind="desk", day="2025-01-01"))
    assert (answer.source, answer.trusted) == ("saved", True)
    (table,) = answer.tables
    assert [column.name for column in table.columns] == ["kind", "day", "revenue"]
    assert table.rows == (("desk", date(2025, 1, 3), Decimal("10.50")),)
    assert answer.question_id == str(question)


def test_the_text_of_an_answer_is_what_ask_returns_in_sql(
    client: Client, connection: psycopg.Connection[TupleRow]
) -> None:
    client.save_question(_PROMPT, [_SQL], _PARAMS)
    asked = _PROMPT.format(kind="shelf", day="2025-01-01")
    row = connection.execute("select ask(%s)", [asked]).fetchone()
    assert row is not None
    assert client.ask(asked).text == row[0]
    assert client.answer(asked).text == row[0]


def test_a_question_is_saved_with_its_other_phrasings(
    pgask_database: str, client: Client, connection: psycopg.Connection[TupleRow]
) -> None:
    phrasings = ["What {kind} did we sell from {day} on?", "{kind} sales after {day}"]
    client.save_question(_PROMPT, [_SQL], _PARAMS, phrasings=phrasings)

    async def save() -> None:
        async with AsyncClient(pgask_database) as asynchronous:
            await asynchronous.save_question(_PROMPT, [_SQL], _PARAMS, phrasings=phrasings)

    asyncio.run(save())
    rows = connection.execute(
        "select q.phrasings from pgask.nl_query q where q.status = 'draft'"
    ).fetchall()
    assert rows == [(phrasings,), (phrasings,)]


def test_given_parameters_are_bound(client: Client) -> None:
    client.save_question(_PROMPT, [_SQL], _PARAMS)
    answer = client.ask("Sold articles of kind desk since", {"day": date(2025, 1, 2)})
    assert answer.params == {"kind": "desk", "day": "2025-01-02"}
    assert answer.tables[0].rows[0][0] == "desk"


def test_a_missing_parameter_is_named(client: Client) -> None:
    client.save_question(_PROMPT, [_SQL], _PARAMS)
    answer = client.ask("Sold articles of kind desk since")
    assert answer.missing == ("day",)
    assert [p.type for p in answer.missing_parameters] == ["date"]


@pytest.mark.usefixtures("articles")
def test_search_returns_hits_best_first(client: Client) -> None:
    hits = client.search("money back", 5, "kb.article", {"category": "billing"})
    assert [(h.source_schema, h.source_table, h.source_id) for h in hits] == [
        ("kb", "article", "1")
    ]
    assert hits[0].chunk_text == "Refunds\nHow to get your money back"
    assert hits[0].filter_values == {"category": "billing"}
    everything = client.search("money back")
    assert [h.source_id for h in everything] == ["1", "2"]
    assert everything[0].similarity > everything[1].similarity


@pytest.mark.usefixtures("articles")
def test_status_and_queue_tell_how_far_the_embedding_is(
    client: Client, connection: psycopg.Connection[TupleRow]
) -> None:
    (source,) = client.status()
    assert (source.source_table, source.embedded, source.pending) == ("article", 2, 0)
    assert list(source.embedding_models) == ["openai/stub"]
    connection.execute("insert into kb.article values (3, 'Shipping', 'By post', 'orders')")
    assert (client.queue().due, client.queue().open) == (1, 1)
    client.work("kb.article", max_jobs=1)
    assert client.queue().open == 0


def test_a_call_joins_the_callers_transaction(
    client: Client, connection: psycopg.Connection[TupleRow]
) -> None:
    connection.execute(_ARTICLES)
    with connection.transaction(force_rollback=True):
        client.register_source("kb.article", "{{title}}", conn=connection)
        assert len(client.status(conn=connection)) == 1
    assert client.status() == []


def test_an_error_has_the_class_of_its_sqlstate(client: Client) -> None:
    with pytest.raises(errors.SourceUnsuitable):
        client.register_source("kb.missing", "{{title}}")
    with pytest.raises(errors.SettingInvalid):
        client.set_setting("no_such_setting", "1")
    with pytest.raises(errors.StatementRefused):
        client.save_question("Drop it", ["drop table x"])
    assert client.version()


def test_a_lost_connection_is_made_again_at_the_next_call(
    client: Client, connection: psycopg.Connection[TupleRow]
) -> None:
    lost = client.connection.info.backend_pid
    connection.execute("select pg_terminate_backend(%s, 5000)", [lost])
    with pytest.raises(errors.ConnectionFailed):
        client.version()
    assert client.version()
    assert client.connection.info.backend_pid != lost


def test_one_client_serves_many_threads(client: Client) -> None:
    with ThreadPoolExecutor(8) as pool:
        versions = list(pool.map(lambda _: client.version(), range(40)))
    assert len(set(versions)) == 1


def test_a_database_without_pgask_says_so(pgask_empty_database: str) -> None:
    with pytest.raises(errors.NotInstalled, match="is not installed") as caught:
        Client(pgask_empty_database).version()
    assert "make migrate" in (caught.value.hint or "")


def test_another_version_in_the_database_is_refused(
    pgask_database: str, connection: psycopg.Connection[TupleRow]
) -> None:
    connection.execute("create or replace function pgask.version() returns text "
                       "language sql as $$ select '99.0.0' $$")  # fmt: skip
    with pytest.raises(errors.VersionMismatch, match=r"99\.0\.0"):
        Client(pgask_database).version()


def test_a_connection_string_that_is_wrong_is_not_repeated() -> None:
    with pytest.raises(errors.ConnectionFailed) as caught:
        Client("postgresq://me:secret@host/db")
    assert "secret" not in repr(caught.value) + str(caught.value.__cause__)


def test_the_form_of_sqlalchemy_is_understood(pgask_database: str) -> None:
    with Client(pgask_database.replace("postgresql://", "postgresql+psycopg://")) as client:
        assert client.version()


@pytest.mark.usefixtures("articles")
def test_the_asynchronous_client_does_the_same(pgask_database: str, client: Client) -> None:
    async def use() -> None:
        async with AsyncClient(pgask_database) as asynchronous:
            question = await asynchronous.save_question(_PROMPT, [_SQL], _PARAMS)
            await asynchronous.approve_question(question)
            asked = _PROMPT.format(kind="desk", day="2025-01-01")
            answers = await asyncio.gather(*(asynchronous.ask(asked) for _ in range(3)))
            assert {a.text for a in answers} == {client.ask(asked).text}
            assert await asynchronous.search("money back", 1) == client.search("money back", 1)
            assert [s.embedded for s in await asynchronous.status()] == [2]
            assert (await asynchronous.queue()).open == 0
            assert await asynchronous.doctor() == client.doctor()
            await asynchronous.work()
            await asynchronous.set_setting("row_limit", "10")
            with pytest.raises(errors.SourceUnsuitable):
                await asynchronous.register_source("kb.missing", "{{title}}")
            connection = await asynchronous.connection()
            async with connection.transaction(force_rollback=True):
                await asynchronous.set_setting("row_limit", None, conn=connection)

    asyncio.run(use())
