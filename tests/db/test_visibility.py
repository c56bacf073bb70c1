"""Who sees which chunks: exactly those whose rows the role may read itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from psycopg import Connection

READERS = ("reader_of_a", "reader_of_b")


@pytest.fixture
def kb(connection: Connection) -> Iterator[Connection]:
    """kb.note with ten rows of each of two tenants, and two readers without rights on it."""
    connection.execute("create schema kb")
    connection.execute(
        "create table kb.note (id int primary key, tenant name, title text, body text)"
    )
    connection.execute("select pgask.register_source('kb.note', '{{title}} {{body}}')")
    connection.execute(
        "insert into kb.note select i, case i % 2 when 0 then 'reader_of_a' else 'reader_of_b' end,"
        " 'note', 'number ' || i from generate_series(1, 20) i"
    )
    connection.execute("call pgask.work()")
    for reader in READERS:
        connection.execute(f"create role {reader} in role pgask_reader".encode())
    yield connection
    connection.execute("reset role; reset search_path")
    for reader in READERS:
        connection.execute(f"drop owned by {reader}; drop role {reader}".encode())


def _seen(connection: Connection, role: str, k: int = 100) -> list[int]:
    """The ids that a search by the role finds, and the same by a look at the table itself."""
    connection.execute(f"set role {role}".encode())
    try:
        rows = connection.execute(
            "select s.source_id::int from pgask.search('a note with a number', %s) s", [k]
        ).fetchall()
        direct = connection.execute("select count(*) from pgask.embedding").fetchone()
    finally:
        connection.execute("reset role")
    if k == 100:
        assert direct == (len(rows),)
    return sorted(row[0] for row in rows)


@pytest.mark.parametrize(
    "grants",
    [
        "",
        "grant select on kb.note to reader_of_a",
        "grant usage on schema kb to reader_of_a",
        "grant usage on schema kb to reader_of_a; grant insert, update on kb.note to reader_of_a",
        "grant usage on schema kb to reader_of_a; grant select (id) on kb.note to reader_of_a",
        "grant usage on schema kb to reader_of_a; grant select (title) on kb.note to reader_of_a",
        """grant usage on schema kb to reader_of_a;
        grant select (title, body) on kb.note to reader_of_a;
        alter table kb.note enable row level security;
        create policy everything on kb.note using (true)""",
    ],
)
def test_a_role_that_may_not_read_the_texts_sees_none(kb: Connection, grants: str) -> None:
    if grants:
        kb.execute(grants.encode())
    assert _seen(kb, "reader_of_a") == []


@pytest.mark.parametrize("columns", ["", "(id, title, body)", "(title, body)"])
def test_a_role_that_may_read_the_texts_sees_all(kb: Connection, columns: str) -> None:
    kb.execute("grant usage on schema kb to reader_of_a")
    kb.execute(f"grant select {columns} on kb.note to reader_of_a".encode())
    assert _seen(kb, "reader_of_a") == list(range(1, 21))
    kb.execute(
        "revoke select on kb.note from reader_of_a; revoke usage on schema kb from reader_of_a"
    )
    assert _seen(kb, "reader_of_a") == []


def test_row_level_security_of_the_source_is_that_of_its_chunks(kb: Connection) -> None:
    kb.execute("alter table kb.note enable row level security")
    kb.execute("create policy own on kb.note using (tenant = current_user)")
    kb.execute("grant usage on schema kb to reader_of_a, reader_of_b")
    kb.execute("grant select on kb.note to reader_of_a, reader_of_b")
    assert _seen(kb, "reader_of_a") == list(range(2, 21, 2))
    assert _seen(kb, "reader_of_b") == list(range(1, 21, 2))
    for reader in READERS:
        assert len(_seen(kb, reader, k=7)) == 7
    kb.execute("drop policy own on kb.note")
    assert _seen(kb, "reader_of_a") == []
    assert _seen(kb, "pgask_reader") == []


def test_a_source_that_its_reader_cannot_evaluate_spoils_no_search(kb: Connection) -> None:
    kb.execute("create view kb.strict with (security_invoker) as select id, body from kb.note")
    kb.execute("select pgask.register_source('kb.strict', '{{body}}', key_columns => '{id}')")
    kb.execute("create table kb.open (id int primary key, body text)")
    kb.execute("select pgask.register_source('kb.open', '{{body}}')")
    kb.execute("insert into kb.open values (77, 'a note with a number')")
    kb.execute("call pgask.work()")
    kb.execute("grant usage on schema kb to reader_of_a")
    kb.execute("grant select on kb.strict, kb.open to reader_of_a")
    assert _seen(kb, "reader_of_a") == [77]
    kb.execute("drop view kb.strict; alter table kb.note drop column title cascade")
    assert _seen(kb, "reader_of_a") == [77]


def test_a_hostile_search_path_changes_nothing(kb: Connection) -> None:
    kb.execute("alter table kb.note enable row level security")
    kb.execute("create policy own on kb.note using (tenant = current_user)")
    kb.execute("grant usage on schema kb to reader_of_a; grant select on kb.note to reader_of_a")
    kb.execute("create schema evil authorization reader_of_a")
    kb.execute("set role reader_of_a; set search_path = evil, pg_temp, pg_catalog, public")
    kb.execute(
        "create function evil.has_table_privilege(oid, text) returns boolean language sql"
        " as 'select true'"
    )
    kb.execute(
        "create function evil.row_security_active(oid) returns boolean language sql"
        " as 'select false'"
    )
    kb.execute("create function evil.eq(int, int) returns boolean language sql as 'select true'")
    kb.execute("create operator evil.= (function = evil.eq, leftarg = int, rightarg = int)")
    kb.execute("create temporary table note (id int, tenant name)")
    kb.execute("create temporary table embedding_ingest_registry (relation regclass)")
    kb.execute("create function evil.leak(text) returns boolean language plpgsql cost 0.0001 as"
               " $$ begin raise notice '%', $1; return true; end $$")  # fmt: skip
    leaked: list[str] = []
    kb.add_notice_handler(lambda notice: leaked.append(notice.message_primary or ""))
    kb.execute("select count(*) from pgask.embedding where evil.leak(chunk_text)")
    assert len(leaked) == 10
    assert _seen(kb, "reader_of_a") == list(range(2, 21, 2))


@pytest.mark.parametrize(
    "statement",
    [
        "select * from pgask.embedding_job",
        "select * from pgask.setting",
        "select * from pgask.failed_job",
        "select pgask._secret('embedding_api_key')",
        "select * from pgask._claim('x', 1, '1 s', null, null)",
        "select pgask._read_rows('kb', 'note', '{1}')",
        "select pgask._read_chunks('kb', 'note', '{1}', 'x')",
        "select pgask._forget_rows('kb', 'note', null)",
        "select pgask._enqueue_rows('kb', 'note', null)",
        "call pgask.work()",
        "delete from pgask.embedding",
        "update pgask.embedding set chunk_text = ''",
    ],
)
def test_queue_settings_and_the_workers_steps_are_not_a_readers(
    kb: Connection, statement: str
) -> None:
    kb.execute("set role reader_of_a")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        kb.execute(statement.encode())
