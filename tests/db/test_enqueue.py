"""A change of a source's rows -> jobs: every road by which rows change, and nothing else."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from psycopg import Connection

    from pgask.testing.model_server import ModelServer


@pytest.fixture
def kb(connection: Connection) -> Connection:
    """An empty source kb.note."""
    connection.execute("create schema kb")
    connection.execute(
        "create table kb.note (id int primary key, title text, body text, category text, seen int)"
    )
    connection.execute(
        "select pgask.register_source('kb.note', '{{title}}\\n{{body}}',"
        " filter_columns => '{category}')"
    )
    return connection


@pytest.fixture
def model(kb: Connection, stub_model: ModelServer) -> ModelServer:
    """The stub model, after a pass that has given the built-in questions their vectors."""
    _work(kb, stub_model)
    return stub_model


def _settle(connection: Connection) -> None:
    """What a pass would leave, without a model: a chunk for each job, and no job."""
    connection.execute(
        "insert into pgask.embedding (source_schema, source_table, source_id, chunk_index,"
        " chunk_text, char_start, char_end, vector, embedding_model, chunking_used)"
        " select j.source_schema, j.source_table, j.source_id, 0, 'x', 0, 1,"
        " array_fill(1, array[1024])::vector, 'openai/stub', 'none' from pgask.embedding_job j"
        " on conflict do nothing"
    )
    connection.execute("delete from pgask.embedding_job")


def _embedded(connection: Connection) -> list[str]:
    rows = connection.execute("select source_id from pgask.embedding order by 1").fetchall()
    return [row[0] for row in rows]


def _work(connection: Connection, model: ModelServer) -> None:
    """One pass, after which the model's record is empty."""
    connection.execute("call pgask.work()")
    assert _jobs(connection) == []
    model.forget()


def _jobs(connection: Connection) -> list[str]:
    rows = connection.execute("select source_id from pgask.embedding_job order by 1").fetchall()
    return [row[0] for row in rows]


def _texts(connection: Connection) -> list[tuple[str, str]]:
    return connection.execute(
        "select source_id, chunk_text from pgask.embedding order by 1, chunk_index"
    ).fetchall()


@pytest.mark.parametrize(
    "statement",
    [
        "insert into kb.note values (1, 'a'), (2, 'b'), (3, 'c')",
        "insert into kb.note select i, 'row ' || i from generate_series(1, 3) i",
        "insert into kb.note values (1, 'a'), (2, 'b'), (3, 'c') on conflict do nothing",
        "with i as (insert into kb.note values (1, 'a'), (2, 'b'), (3, 'c') returning id) table i",
        """merge into kb.note n using generate_series(1, 3) i on n.id = i
        when not matched then insert values (i, 'row')""",
        "prepare p as insert into kb.note values ($1, 'a'), (2, 'b'), (3, 'c'); execute p(1)",
    ],
)
def test_every_road_of_new_rows_opens_one_job_each(kb: Connection, statement: str) -> None:
    kb.execute(statement.encode())
    assert _jobs(kb) == ["1", "2", "3"]


def test_copied_rows_are_enqueued(kb: Connection) -> None:
    with kb.cursor().copy("copy kb.note (id, title) from stdin") as copy:
        for row in ((1, "a"), (2, "b")):
            copy.write_row(row)
    assert _jobs(kb) == ["1", "2"]


def test_an_upsert_enqueues_what_it_inserts_and_what_it_changes(kb: Connection) -> None:
    kb.execute("insert into kb.note values (1, 'a'), (2, 'b')")
    _settle(kb)
    kb.execute(
        "insert into kb.note values (1, 'a'), (2, 'new b'), (3, 'c')"
        " on conflict (id) do update set title = excluded.title"
    )
    assert _jobs(kb) == ["2", "3"]
    kb.execute("delete from pgask.embedding_job")
    kb.execute(
        "merge into kb.note n using (values (1, 'A'), (2, 'new b'), (4, 'd')) v (id, title)"
        " on n.id = v.id when matched and v.id = 2 then delete"
        " when matched then update set title = v.title"
        " when not matched then insert values (v.id, v.title)"
    )
    assert _jobs(kb) == ["1", "4"]
    assert _embedded(kb) == ["1"]


@pytest.mark.parametrize(
    "statement",
    [
        "update kb.note set seen = 5",
        "update kb.note set title = title",
        "update kb.note set title = 'a' where id = 1",
        "update kb.note set title = 'x' where false",
        "delete from kb.note where id = 9",
        "insert into kb.note values (1, 'z') on conflict do nothing",
        "alter table kb.note add column more text default 'x'",
    ],
)
def test_what_changes_no_text_and_no_filter_enqueues_nothing(
    kb: Connection, statement: str
) -> None:
    kb.execute("insert into kb.note values (1, 'a'), (2, 'b')")
    _settle(kb)
    kb.execute("listen pgask_job")
    kb.execute(statement.encode())
    assert _jobs(kb) == []
    assert list(kb.notifies(timeout=0.1)) == []


def test_a_text_that_its_collation_calls_equal_is_a_change(
    kb: Connection, model: ModelServer
) -> None:
    kb.execute(
        "create collation kb.any_case (provider = icu, locale = 'und-u-ks-level2',"
        " deterministic = false)"
    )
    kb.execute("create table kb.word (id text collate kb.any_case primary key, body text"
               " collate kb.any_case)")  # fmt: skip
    kb.execute("select pgask.register_source('kb.word', '{{body}}')")
    kb.execute("insert into kb.word values ('a', 'polish')")
    _work(kb, model)
    kb.execute("update kb.word set body = 'Polish'")
    _work(kb, model)
    assert _texts(kb) == [("a", "Polish")]
    kb.execute("update kb.word set id = 'A'")
    _work(kb, model)
    assert _texts(kb) == [("A", "Polish")]


def test_a_filter_column_alone_costs_no_call_of_the_model(
    kb: Connection, model: ModelServer
) -> None:
    kb.execute("insert into kb.note values (1, 'a', null, 'old')")
    _work(kb, model)
    kb.execute("update kb.note set category = 'new'")
    kb.execute("call pgask.work()")
    assert model.requests == []
    assert kb.execute("select filter_values from pgask.embedding").fetchall() == [
        ({"category": "new"},)
    ]


def test_fifty_changes_before_a_pass_are_one_job_and_one_call(
    kb: Connection, model: ModelServer
) -> None:
    kb.execute("insert into kb.note values (1, 'version 0')")
    for version in range(1, 51):
        kb.execute("update kb.note set title = %s", [f"version {version}"])
    assert kb.execute("select count(*), max(generation) from pgask.embedding_job").fetchone() == (
        1, 51,
    )  # fmt: skip
    kb.execute("call pgask.work()")
    assert [request.inputs for request in model.requests] == [("version 50",)]


def test_a_row_deleted_before_the_pass_leaves_no_job_and_costs_no_call(
    kb: Connection, model: ModelServer
) -> None:
    kb.execute("insert into kb.note values (1, 'a')")
    kb.execute("delete from kb.note")
    assert _jobs(kb) == []
    kb.execute("call pgask.work()")
    assert model.requests == []


@pytest.mark.parametrize(
    "statement", ["delete from kb.note", "truncate kb.note", "truncate kb.note cascade"]
)
def test_deleted_rows_take_their_embeddings_and_jobs_along(kb: Connection, statement: str) -> None:
    kb.execute("insert into kb.note values (1, 'a'), (2, 'b')")
    _settle(kb)
    kb.execute("update kb.note set title = 'c' where id = 2")
    kb.execute(statement.encode())
    assert (_jobs(kb), _embedded(kb)) == ([], [])


def test_what_a_rolled_back_statement_did_leaves_no_job(kb: Connection) -> None:
    with kb.transaction(force_rollback=True):
        kb.execute("insert into kb.note values (1, 'a')")
        assert _jobs(kb) == ["1"]
    assert _jobs(kb) == []


def test_a_changed_key_moves_the_embedding(kb: Connection, model: ModelServer) -> None:
    kb.execute("insert into kb.note values (1, 'a'), (2, 'b')")
    _work(kb, model)
    kb.execute("update kb.note set id = case id when 1 then 3 else 2 end")
    assert _texts(kb) == [("2", "b")]
    _work(kb, model)
    assert _texts(kb) == [("2", "b"), ("3", "a")]


def test_a_cascade_is_followed(kb: Connection) -> None:
    kb.execute("create table kb.owner (id int primary key)")
    kb.execute("insert into kb.owner values (1), (2)")
    kb.execute(
        "alter table kb.note add column owner int references kb.owner"
        " on delete cascade on update cascade"
    )
    kb.execute("insert into kb.note (id, title, owner) values (1, 'a', 1), (2, 'b', 2)")
    _settle(kb)
    kb.execute("delete from kb.owner where id = 1")
    assert _embedded(kb) == ["2"]


def test_null_and_blank_text_has_no_embedding_and_an_older_one_goes(
    kb: Connection, model: ModelServer
) -> None:
    kb.execute("insert into kb.note values (1, 'a', 'b'), (2, null, null), (3, ' ', e'\\n\\t')")
    _work(kb, model)
    assert _texts(kb) == [("1", "a\nb")]
    kb.execute("update kb.note set title = null where id = 1")
    _work(kb, model)
    assert _texts(kb) == [("1", "b")]
    kb.execute("update kb.note set body = '' where id = 1")
    kb.execute("call pgask.work()")
    assert (_texts(kb), model.requests) == ([], [])


def test_a_value_that_looks_like_a_place_is_not_expanded(
    kb: Connection, model: ModelServer
) -> None:
    kb.execute("insert into kb.note values (1, '{{body}} \\n {{category}}', 'secret', 'x')")
    _work(kb, model)
    assert _texts(kb) == [("1", "{{body}} \\n {{category}}\nsecret")]


@pytest.fixture
def parts(kb: Connection) -> Connection:
    """A partitioned source kb.part: p1 for 1 to 9, p2 (itself partitioned) above."""
    kb.execute("create table kb.part (id int primary key, body text) partition by range (id)")
    kb.execute("create table kb.p1 partition of kb.part for values from (1) to (10)")
    kb.execute(
        "create table kb.p2 partition of kb.part for values from (10) to (100)"
        " partition by range (id)"
    )
    kb.execute("create table kb.p21 partition of kb.p2 for values from (10) to (100)")
    kb.execute("select pgask.register_source('kb.part', '{{body}}')")
    return kb


def test_every_road_through_a_partitioned_table_counts_once(parts: Connection) -> None:
    parts.execute("insert into kb.part values (1, 'a'), (11, 'b')")
    parts.execute("insert into kb.p1 values (2, 'c')")
    parts.execute("insert into kb.p21 values (12, 'd')")
    with parts.cursor().copy("copy kb.part from stdin") as copy:
        copy.write_row((13, "e"))
    generations = parts.execute(
        "select source_id, generation from pgask.embedding_job order by 1"
    ).fetchall()
    assert generations == [("1", 1), ("11", 1), ("12", 1), ("13", 1), ("2", 1)]
    _settle(parts)

    parts.execute("update kb.part set id = 14 where id = 1")
    assert _jobs(parts) == ["14"]
    parts.execute("update kb.p21 set body = 'f' where id = 11")
    assert _jobs(parts) == ["11", "14"]
    parts.execute("delete from kb.part where id = 2")
    parts.execute("delete from kb.p21 where id = 12")
    _settle(parts)
    assert _embedded(parts) == ["11", "13", "14"]


@pytest.mark.parametrize(
    ("table", "left"),
    [("kb.p1", ["11"]), ("kb.p2", ["1"]), ("kb.p21", ["1"]), ("kb.part", [])],
)
def test_a_truncated_partition_loses_its_own_rows_only(
    parts: Connection, table: str, left: list[str]
) -> None:
    parts.execute("insert into kb.part values (1, 'a'), (11, 'b')")
    _settle(parts)
    parts.execute("update kb.part set body = body || '!'")
    parts.execute(f"truncate {table}".encode())
    assert _embedded(parts) == left
    assert _jobs(parts) == left


@pytest.fixture
def application(kb: Connection) -> Iterator[str]:
    """A role that may write kb.note and has no right on the schema pgask."""
    kb.execute("create role application_of_notes")
    kb.execute("grant usage on schema kb to application_of_notes")
    kb.execute("grant select, insert, update, delete, truncate on kb.note to application_of_notes")
    yield "application_of_notes"
    kb.execute("reset role; drop owned by application_of_notes; drop role application_of_notes")


def test_an_application_without_rights_on_pgask_writes_as_ever(
    kb: Connection, application: str
) -> None:
    kb.execute("set search_path = pg_temp; set role application_of_notes")
    kb.execute("create temporary table embedding_job (id int)")
    kb.execute(
        "create function pg_temp.octet_length(text) returns int language sql as 'select 1/0'"
    )
    kb.execute("insert into kb.note values (1, 'a'), (2, 'b')")
    kb.execute("update kb.note set title = 'c'")
    kb.execute("delete from kb.note where id = 1")
    kb.execute("reset role")
    assert _jobs(kb) == ["2"]
    kb.execute("set role application_of_notes; truncate kb.note; reset role")
    assert _jobs(kb) == []


def test_a_statement_of_many_rows_enqueues_each_once_also_over_waiting_jobs(
    kb: Connection,
) -> None:
    kb.execute("insert into kb.note select i, 'row ' || i from generate_series(1, 1000) i")
    assert len(_jobs(kb)) == 1000
    kb.execute("delete from pgask.embedding_job where source_id <> '700'")
    kb.execute("update kb.note set title = title || '!'")
    assert len(_jobs(kb)) == 1000
    kb.execute("delete from pgask.embedding_job")
    kb.execute("update kb.note set title = title || '!'")
    assert len(_jobs(kb)) == 1000
    # A job without a row, as an enqueue by hand makes it, is in the way of a plain insert.
    kb.execute("select pgask.enqueue('kb.note', '{1500}')")
    kb.execute("insert into kb.note select i, 'row ' || i from generate_series(1001, 2000) i")
    assert len(_jobs(kb)) == 2000


def test_a_key_that_is_no_key_never_breaks_the_application(kb: Connection) -> None:
    kb.execute("create table kb.loose (code text primary key, body text)")
    kb.execute("select pgask.register_source('kb.loose', '{{body}}')")
    kb.execute("alter table kb.loose drop constraint loose_pkey, alter code drop not null")
    kb.execute("insert into kb.loose values ('a', 'x'), ('a', 'y'), (null, 'z')")
    kb.execute("insert into kb.loose select 'a', 'x' from generate_series(1, 1000)")
    kb.execute("update kb.loose set body = body || '!'")
    kb.execute("insert into kb.loose select string_agg(md5(i::text), ''), 'long'"
               " from generate_series(1, 200) i")  # fmt: skip
    assert _jobs(kb) == ["a"]
    kb.execute("delete from kb.loose")
    assert _jobs(kb) == []


def test_a_dropped_column_switches_the_source_off_and_breaks_no_statement(kb: Connection) -> None:
    kb.execute("alter table kb.note drop column title")
    kb.execute("insert into kb.note (id, body) values (1, 'a')")
    assert kb.execute("select is_active, reason from pgask.source_status").fetchall() == [
        (False, "column title is gone")
    ]


def test_what_is_deleted_from_a_paused_source_is_not_found(kb: Connection) -> None:
    kb.execute("insert into kb.note values (1, 'a'), (2, 'b'), (3, 'c')")
    _settle(kb)
    kb.execute("update pgask.embedding_ingest_registry set is_active = false")
    kb.execute("update kb.note set title = 'changed' where id = 1")
    kb.execute("delete from kb.note where id = 2")
    assert _jobs(kb) == []
    assert _embedded(kb) == ["1", "3"]
    kb.execute("truncate kb.note")
    assert _embedded(kb) == []


def test_a_change_of_one_row_takes_milliseconds(kb: Connection) -> None:
    best = 1.0
    for i in range(10):
        began = time.perf_counter()
        kb.execute("insert into kb.note values (%s, 'a')", [i])
        best = min(best, time.perf_counter() - began)
    assert best < 0.05
