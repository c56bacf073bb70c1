"""register_source: what it accepts, what it refuses, and that a refusal leaves nothing behind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg
import pytest

if TYPE_CHECKING:
    from psycopg import Connection

TABLE = "create table kb.note (id bigint primary key, title text, body text, category text)"


@pytest.fixture
def kb(connection: Connection) -> Connection:
    connection.execute("create schema kb")
    return connection


def _refused(
    connection: Connection, sqlstate: str, arguments: str, before: str = TABLE
) -> psycopg.errors.Diagnostic:
    """Register with these arguments: it must fail so, and leave nothing behind."""
    connection.execute(before)
    with pytest.raises(psycopg.Error) as raised:
        connection.execute(f"select pgask.register_source({arguments})")
    assert raised.value.sqlstate == sqlstate
    left = connection.execute(
        "select (select count(*) from pgask.embedding_ingest_registry),"
        " (select count(*) from pgask.embedding_job),"
        " (select count(*) from pg_trigger where tgname like 'pgask%')"
    ).fetchone()
    assert left == (0, 0, 0)
    return raised.value.diag


@pytest.mark.parametrize(
    ("sqlstate", "arguments"),
    [
        ("PA101", "'kb.absent', '{{title}}'"),
        ("PA101", "'kb..note', '{{title}}'"),
        ("PA102", "'kb.note', '{{headline}}'"),
        ("PA102", "'kb.note', '{{Title}}'"),
        ("PA102", "'kb.note', '{{title'"),
        ("PA102", "'kb.note', 'no place at all'"),
        ("PA103", "'kb.note', '{{title}}', 'sometimes'"),
        ("PA103", "'kb.note', '{{title}}', 'fixed(40, 40)'"),
        ("PA103", "'kb.note', '{{title}}', 'fixed(4000, 40)'"),
        ("PA104", "'kb.note', '{{title}}', filter_columns => '{colour}'"),
        ("PA101", "'kb.note', '{{title}}', key_columns => '{nr}'"),
    ],
)
def test_what_cannot_work_is_refused_and_leaves_nothing(
    kb: Connection, sqlstate: str, arguments: str
) -> None:
    _refused(kb, sqlstate, arguments)


def test_a_table_without_a_key_is_refused_with_what_to_do(kb: Connection) -> None:
    diagnostic = _refused(
        kb, "PA101", "'kb.note', '{{title}}'", "create table kb.note (title text)"
    )
    assert "key_columns" in (diagnostic.message_hint or "")


def test_a_source_is_registered_once(kb: Connection) -> None:
    kb.execute(TABLE)
    kb.execute("select pgask.register_source('kb.note', '{{title}}')")
    with pytest.raises(psycopg.Error, match="already registered") as raised:
        kb.execute("select pgask.register_source('kb.note', '{{title}}')")
    assert raised.value.sqlstate == "PA101"


def test_registering_returns_the_status_and_enqueues_what_is_there(kb: Connection) -> None:
    kb.execute(TABLE)
    kb.execute("insert into kb.note select i, 'title ' || i, 'body' from generate_series(1, 3) i")
    status = kb.execute(
        "select source_schema, source_table, is_active, pending, chunking_policy, text_template"
        " from pgask.register_source('kb.note', '{{title}}', 'fixed(20,5)')"
    ).fetchone()
    assert status == ("kb", "note", True, 3, "fixed(20, 5)", "{{title}}")


def test_without_backfill_only_new_rows_are_enqueued(kb: Connection) -> None:
    kb.execute(TABLE)
    kb.execute("insert into kb.note values (1, 'old')")
    kb.execute("select pgask.register_source('kb.note', '{{title}}', backfill => false)")
    kb.execute("insert into kb.note values (2, 'new')")
    assert kb.execute("select source_id from pgask.embedding_job").fetchall() == [("2",)]


def test_the_caller_needs_the_rights_of_the_table(kb: Connection) -> None:
    kb.execute(TABLE)
    kb.execute("create role stranger_of_sources in role pgask_admin")
    try:
        kb.execute("grant usage on schema kb to stranger_of_sources")
        kb.execute("grant select on kb.note to stranger_of_sources")
        kb.execute("set role stranger_of_sources")
        with pytest.raises(psycopg.Error) as raised:
            kb.execute("select pgask.register_source('kb.note', '{{title}}')")
        assert raised.value.sqlstate == "42501"
        assert "TRIGGER" in (raised.value.diag.message_hint or "")
        kb.execute("reset role")
        kb.execute("grant trigger on kb.note to stranger_of_sources")
        kb.execute("set role stranger_of_sources")
        kb.execute("select pgask.register_source('kb.note', '{{title}}')")
    finally:
        kb.execute("reset role")
        kb.execute("drop owned by stranger_of_sources")
        kb.execute("drop role stranger_of_sources")


LONG = "x" * 63


@pytest.mark.parametrize(
    ("table", "source"),
    [
        ('"Shop EU"."Order Items"', '"Shop EU"."Order Items"'),
        (f'"Shop EU"."{LONG}"', f'"Shop EU".{LONG}'),
        ('"Shop EU"."a.b""c"', '"Shop EU"."a.b""c"'),
    ],
)
def test_any_name_of_a_table_and_its_columns_works(kb: Connection, table: str, source: str) -> None:
    kb.execute('create schema "Shop EU"')
    kb.execute(
        f'create table {table} ("User" text, "order" int, "Größe" text, "select" text,'
        ' chunk text, primary key ("User", "order"))'
    )
    kb.execute(
        f"select pgask.register_source('{source}', '{{{{Größe}}}} {{{{select}}}} {{{{chunk}}}}',"
        " filter_columns => '{Größe, select}')"
    )
    kb.execute(f"insert into {table} values ('O''Brien', 1, 'XL', 'x', 'red bicycle')")
    kb.execute("call pgask.work()")
    found = kb.execute(
        "select s.source_id, s.chunk_text, s.filter_values from pgask.search('bike', source => %s)"
        " s",
        [source],
    ).fetchall()
    assert found == [('["O\'Brien", 1]', "XL x red bicycle", {"Größe": "XL", "select": "x"})]
    kb.execute(f"update {table} set chunk = 'green house', \"order\" = 2")
    kb.execute("call pgask.work()")
    assert kb.execute("select source_id, chunk_text from pgask.embedding").fetchall() == [
        ('["O\'Brien", 2]', "XL x green house")
    ]
    kb.execute("select pgask.unregister_source(%s)", [source])
    assert kb.execute("select count(*) from pgask.embedding").fetchone() == (0,)


@pytest.mark.parametrize(
    ("type_name", "value", "other"),
    [
        ("uuid", "a0000000-0000-0000-0000-000000000001", "a0000000-0000-0000-0000-000000000002"),
        ("text", "it's", "a,b"),
        ("numeric", "1.50", "2"),
        ("timestamptz", "2024-05-01 12:00:00+00", "2024-05-01 12:00:00.000001+00"),
        ("bytea", "\\x00ff", "\\x"),
        ("date", "0044-03-15 BC", "infinity"),
        ("float8", "0.1", "1e300"),
        ("boolean", "true", "false"),
    ],
)
def test_a_key_of_any_type_is_the_same_text_in_every_session(
    kb: Connection, type_name: str, value: str, other: str
) -> None:
    kb.execute(f"create table kb.note (id {type_name} primary key, body text)")
    kb.execute("select pgask.register_source('kb.note', '{{body}}')")
    kb.execute("insert into kb.note values (%s, 'first'), (%s, 'second')", [value, other])
    kb.execute("call pgask.work()")
    kb.execute("set timezone = 'Asia/Tokyo'; set datestyle = 'SQL, DMY'")
    kb.execute("set extra_float_digits = 0; set bytea_output = 'escape'")
    kb.execute("update kb.note set body = body || ' again'")
    kb.execute("call pgask.work()")
    texts = kb.execute("select chunk_text from pgask.embedding order by 1").fetchall()
    assert texts == [("first again",), ("second again",)]
    kb.execute("delete from kb.note")
    assert kb.execute("select count(*) from pgask.embedding").fetchone() == (0,)


def test_composite_keys_never_collide(kb: Connection) -> None:
    kb.execute("create table kb.note (tenant text, id text, body text, primary key (tenant, id))")
    kb.execute("select pgask.register_source('kb.note', '{{body}}')")
    kb.execute("insert into kb.note values ('a','b-c','x'), ('a-b','c','y'), ('a,b','c','z')")
    ids = kb.execute("select source_id from pgask.embedding_job order by 1").fetchall()
    assert ids == [('["a", "b-c"]',), ('["a,b", "c"]',), ('["a-b", "c"]',)]


def test_the_settings_of_the_server_are_a_source_in_one_line(kb: Connection) -> None:
    kb.execute(
        "select pgask.register_source('pg_catalog.pg_settings', '{{name}}: {{short_desc}}"
        " {{extra_desc}}', key_columns => '{name}', filter_columns => '{category}')"
    )
    kb.execute(
        "delete from pgask.embedding_job where source_id not like '%%mem%%'"
        " and source_id not like 'enable%%'"
    )
    kb.execute("call pgask.work()")
    best = kb.execute(
        "select source_id from pgask.search('how much memory may a sort use', 1)"
    ).fetchone()
    assert best == ("work_mem",)


def test_unregistering_may_keep_the_embeddings(kb: Connection) -> None:
    kb.execute(TABLE)
    kb.execute("select pgask.register_source('kb.note', '{{title}}')")
    kb.execute("insert into kb.note values (1, 'alpha')")
    kb.execute("call pgask.work()")
    kb.execute("select pgask.unregister_source('kb.note', drop_embeddings => false)")
    kb.execute("update kb.note set title = 'beta'")
    found = kb.execute("select chunk_text from pgask.search('alpha')").fetchall()
    assert found == [("alpha",)]
    assert kb.execute("select count(*) from pg_trigger where tgname like 'pgask%'").fetchone() == (
        0,
    )
