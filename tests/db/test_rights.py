"""Whose rights read a source, and what a reader may see: nobody's code runs as pgask's owner."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import psycopg
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from psycopg import Connection


@pytest.fixture
def kb(connection: Connection) -> Connection:
    connection.execute("create schema kb")
    return connection


@contextmanager
def role(connection: Connection, name: str, *grants: str) -> Iterator[str]:
    """A role of its own for a test, with its grants."""
    full = f"pgask_test_{name}"
    connection.execute(f"drop role if exists {full}")
    connection.execute(f"create role {full}")
    try:
        for grant in grants:
            connection.execute(f"grant {grant} to {full}")
        yield full
    finally:
        connection.execute("reset role")
        connection.execute(f"drop owned by {full} cascade")
        connection.execute(f"drop role {full}")


@contextmanager
def acting_as(connection: Connection, name: str) -> Iterator[None]:
    connection.execute(f"set role {name}")
    try:
        yield
    finally:
        connection.execute("reset role")


EVIL = """
create table mal.witness (seen text);
grant insert on mal.witness to public;
create function mal.evil(text) returns text language plpgsql as $$
begin
    insert into mal.witness values (current_user);
    return 'x';
end $$;
"""


def test_a_view_that_somebody_else_can_redefine_is_no_source(kb: Connection) -> None:
    with role(kb, "viewer", "pgask_admin") as name:
        kb.execute(f"create schema mal authorization {name}")
        with acting_as(kb, name):
            kb.execute(EVIL)
            kb.execute("create table mal.t (id int primary key, body text)")
            kb.execute("insert into mal.t values (1, 'a')")
            kb.execute("create view mal.v as select id, mal.evil(body) as body from mal.t")
            with pytest.raises(psycopg.Error, match="does not belong to a superuser") as raised:
                kb.execute("select pgask.register_source('mal.v', '{{body}}', key_columns=>'{id}')")
            assert raised.value.sqlstate == "PA106"
        assert kb.execute("select count(*) from mal.witness").fetchone() == (0,)


def test_a_view_that_changes_hands_is_read_no_more(kb: Connection) -> None:
    with role(kb, "heir") as name:
        kb.execute(f"create schema mal authorization {name}")
        kb.execute("create table mal.t (id int primary key, body text)")
        kb.execute("insert into mal.t values (1, 'a')")
        kb.execute("create view mal.v as select id, body from mal.t")
        kb.execute("select pgask.register_source('mal.v', '{{body}}', key_columns => '{id}')")
        kb.execute(f"alter view mal.v owner to {name}")
        with acting_as(kb, name):
            kb.execute(EVIL)
            kb.execute("create or replace view mal.v as select 1 as id, mal.evil('') as body")
        kb.execute("call pgask.work()")
        assert kb.execute("select count(*) from mal.witness").fetchone() == (0,)
        assert kb.execute("select count(*) from pgask.embedding").fetchone() == (0,)
        with pytest.raises(psycopg.Error) as raised:
            kb.execute("select pgask.enqueue('mal.v')")
        assert raised.value.sqlstate == "PA106"


def test_a_cast_of_the_type_s_owner_is_never_run(kb: Connection) -> None:
    with role(kb, "caster") as name:
        kb.execute(f"create schema mal authorization {name}")
        with acting_as(kb, name):
            kb.execute(EVIL)
            kb.execute("create type mal.pair as (a int, b text)")
            for target in ("text", "json"):
                kb.execute(
                    f"create function mal.to_{target}(mal.pair) returns {target}"
                    f" language sql as $$ select mal.evil('')::{target} $$"
                )
                kb.execute(
                    f"create cast (mal.pair as {target})"
                    f" with function mal.to_{target}(mal.pair) as implicit"
                )
            kb.execute("create table mal.t (id int primary key, p mal.pair)")
        kb.execute("select pgask.register_source('mal.t', '{{p}}', filter_columns => '{p}')")
        with acting_as(kb, name):
            kb.execute("insert into mal.t values (1, row (7, 'seven'))")
            kb.execute("update mal.t set p = row (8, 'eight')")
        kb.execute("call pgask.work()")
        found = kb.execute("select chunk_text, filter_values from pgask.embedding").fetchall()
        assert found == [("(8,eight)", {"p": "(8,eight)"})]
        assert kb.execute("select count(*) from mal.witness").fetchone() == (0,)


def test_a_domain_s_check_is_not_run_on_a_key(kb: Connection) -> None:
    kb.execute(
        "create domain kb.code as text check (value ~ '^[A-Z]');"
        "create type kb.mood as enum ('so so', 'great');"
        "create table kb.t (code kb.code, mood kb.mood, body text, primary key (code, mood))"
    )
    kb.execute("select pgask.register_source('kb.t', '{{body}}')")
    kb.execute("insert into kb.t values ('A', 'so so', 'first'), ('B', 'great', 'second')")
    kb.execute("call pgask.work()")
    kb.execute("update kb.t set body = 'third' where code = 'A'")
    kb.execute("call pgask.work()")
    found = kb.execute("select source_id, chunk_text from pgask.embedding order by 1").fetchall()
    assert found == [('["A", "so so"]', "third"), ('["B", "great"]', "second")]


@pytest.mark.parametrize(
    ("type_name", "value"), [("char(8)", "ab"), ("bit(5)", "10101"), ("citext", "Abc")]
)
def test_a_key_of_a_padded_or_foreign_type_is_found_again(
    kb: Connection, type_name: str, value: str
) -> None:
    kb.execute("create extension if not exists citext")
    kb.execute(f"create table kb.t (id {type_name} primary key, body text)")
    kb.execute("select pgask.register_source('kb.t', '{{body}}')")
    kb.execute("insert into kb.t values (%s, 'first')", [value])
    kb.execute("call pgask.work()")
    assert kb.execute("select chunk_text from pgask.embedding").fetchall() == [("first",)]


def test_a_filter_column_that_a_role_may_not_read_hides_the_chunk(kb: Connection) -> None:
    kb.execute("create table kb.staff (id int primary key, name text, salary int)")
    kb.execute("insert into kb.staff values (1, 'Ada', 99999)")
    kb.execute("select pgask.register_source('kb.staff', '{{name}}', 'none', '{salary}')")
    kb.execute("call pgask.work()")
    with role(kb, "colleague", "pgask_reader", "usage on schema kb") as name:
        kb.execute(f"grant select (id, name) on kb.staff to {name}")
        with acting_as(kb, name):
            assert kb.execute("select * from pgask.search('Ada')").fetchall() == []
        kb.execute(f"grant select (salary) on kb.staff to {name}")
        with acting_as(kb, name):
            assert len(kb.execute("select * from pgask.search('Ada')").fetchall()) == 1


def test_a_renamed_schema_does_not_stop_a_reader_s_search(kb: Connection) -> None:
    kb.execute("create table kb.note (id int primary key, body text)")
    kb.execute("insert into kb.note values (1, 'alpha')")
    kb.execute("select pgask.register_source('kb.note', '{{body}}')")
    kb.execute("call pgask.work()")
    kb.execute("alter schema kb rename to archive")
    with role(kb, "archivist", "pgask_reader", "usage on schema archive") as name:
        kb.execute(f"grant select on archive.note to {name}")
        with acting_as(kb, name):
            assert len(kb.execute("select * from pgask.search('alpha')").fetchall()) == 1


def test_a_leaf_partition_sees_what_comes_through_the_root(kb: Connection) -> None:
    kb.execute(
        "create table kb.part (id int, y int, body text, primary key (id, y))"
        " partition by list (y);"
        "create table kb.part_1 partition of kb.part for values in (1);"
        "create table kb.part_2 partition of kb.part for values in (2)"
    )
    kb.execute("select pgask.register_source('kb.part_1', '{{body}}')")
    kb.execute("insert into kb.part values (1, 1, 'one'), (2, 2, 'two')")
    kb.execute("call pgask.work()")
    assert kb.execute("select chunk_text from pgask.embedding").fetchall() == [("one",)]
    kb.execute("delete from kb.part where y = 1")
    assert kb.execute("select count(*) from pgask.embedding").fetchone() == (0,)
    kb.execute("select pgask.unregister_source('kb.part_1')")
    assert kb.execute("select count(*) from pg_trigger where tgname like 'pgask%'").fetchone() == (
        0,
    )


def test_tables_that_inherit_and_temporary_ones_are_refused(kb: Connection) -> None:
    kb.execute(
        "create table kb.parent (id int primary key, body text);"
        "create table kb.child (primary key (id)) inherits (kb.parent);"
        "create temporary table passing (id int primary key, body text)"
    )
    for source in ("kb.parent", "kb.child", "passing"):
        with pytest.raises(psycopg.Error) as raised:
            kb.execute("select pgask.register_source(%s, '{{body}}')", [source])
        assert raised.value.sqlstate == "PA101"


def test_a_source_whose_table_is_dropped_becomes_inactive(kb: Connection) -> None:
    kb.execute("create table kb.gone (id int primary key, body text)")
    kb.execute("create table kb.here (id int primary key, body text)")
    for table in ("gone", "here"):
        kb.execute(f"select pgask.register_source('kb.{table}', '{{{{body}}}}')")
        kb.execute(f"insert into kb.{table} values (1, 'text')")
    kb.execute("drop table kb.gone")
    kb.execute("call pgask.work()")
    status = kb.execute(
        "select source_table, is_active, reason, embedded from pgask.source_status order by 1"
    ).fetchall()
    assert status == [("gone", False, "the table is gone", 0), ("here", True, None, 1)]
    with pytest.raises(psycopg.Error) as raised:
        kb.execute("select pgask.enqueue('kb.gone')")
    assert raised.value.sqlstate == "PA106"
    kb.execute("select pgask.unregister_source('kb.gone')")


def test_a_snapshot_older_than_the_registration_cannot_write_past_it(
    kb: Connection, pgask_database: str
) -> None:
    kb.execute("create table kb.note (id int primary key, body text)")
    with psycopg.connect(pgask_database) as old:
        old.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        old.execute("select 1")
        kb.execute("select pgask.register_source('kb.note', '{{body}}')")
        with pytest.raises(psycopg.errors.SerializationFailure):
            old.execute("insert into kb.note values (1, 'unseen')")


def test_drafts_of_others_do_not_hide_a_question(kb: Connection) -> None:
    kb.execute(
        "insert into pgask.nl_query (canonical_prompt, query_vector, embedding_model)"
        " select 'How many notes are there?', q.query_vector, q.embedding_model"
        " from pgask._read_query('How many notes are there?') q, generate_series(1, 400)"
    )
    kb.execute(
        "select pgask.save_question('How many notes are there?',"
        " '[\"select 42 as notes\"]', is_shared => true)"
    )
    with role(kb, "asker", "pgask_reader") as name, acting_as(kb, name):
        (answer,) = kb.execute("select pgask.answer('How many notes are there?')").fetchone() or (
            {},
        )
    assert answer["tables"][0]["rows"] == [[42]]


def test_a_parameter_s_column_runs_nobody_s_code_as_the_asker(kb: Connection) -> None:
    with role(kb, "author", "pgask_editor") as name:
        kb.execute(f"create schema mal authorization {name}")
        with acting_as(kb, name):
            kb.execute(EVIL)
            kb.execute("create view mal.v as select mal.evil('x') as c")
            kb.execute("create type mal.pair as (a int, b text)")
            kb.execute(
                "create function mal.to_text(mal.pair) returns text language sql"
                " as $$ select mal.evil('x') $$;"
                "create cast (mal.pair as text) with function mal.to_text(mal.pair)"
            )
            kb.execute("create table mal.t (c mal.pair); insert into mal.t values (row (1, 'Oak'))")
            save = (
                "select pgask.save_question('How many gadgets does the maker {x} build?',"
                " '[\"select 1 as n where :x is not null\"]', %s::jsonb, is_shared => true)"
            )
            column = '[{"name": "x", "type": "text", "column": "mal.%s.c"}]'
            with pytest.raises(psycopg.Error) as raised:
                kb.execute(save, [column % "v"])
            assert raised.value.sqlstate == "PA411"
            kb.execute(save, [column % "t"])
        kb.execute("select ask('how many gadgets does the maker oak build?')")
        assert kb.execute("select count(*) from mal.witness").fetchone() == (0,)


def test_a_key_must_identify_the_rows(kb: Connection) -> None:
    kb.execute("create table kb.t (id int primary key, cat text, body text)")
    for key in ("{cat}", "{}", "{id,cat}"):
        with pytest.raises(psycopg.Error) as raised:
            kb.execute("select pgask.register_source('kb.t', '{{body}}', key_columns => %s)", [key])
        assert raised.value.sqlstate == "PA101"
    kb.execute("create unique index on kb.t (cat)")
    kb.execute("alter table kb.t alter cat set not null")
    kb.execute("select pgask.register_source('kb.t', '{{body}}', key_columns => '{cat}')")


def test_a_column_called_f_is_no_filter(kb: Connection) -> None:
    kb.execute("create table kb.t (id int primary key, b text, f int)")
    kb.execute("insert into kb.t values (1, 'one', 7), (2, 'two', null)")
    kb.execute("select pgask.register_source('kb.t', '{{b}}')")
    kb.execute("create table kb.u (id int primary key, b text, f int)")
    kb.execute("insert into kb.u values (1, 'one', 7), (2, 'two', null)")
    kb.execute("select pgask.register_source('kb.u', '{{b}}', filter_columns => '{f}')")
    kb.execute("call pgask.work()")
    found = kb.execute(
        "select source_table, source_id, filter_values from pgask.embedding order by 1, 2"
    ).fetchall()
    assert found == [
        ("t", "1", {}),
        ("t", "2", {}),
        ("u", "1", {"f": 7}),
        ("u", "2", {"f": None}),
    ]


def test_nothing_deleted_is_found_after_the_key_is_renamed(kb: Connection) -> None:
    kb.execute("create table kb.t (id int primary key, b text)")
    kb.execute("insert into kb.t values (1, 'the deleted secret'), (2, 'another')")
    kb.execute("select pgask.register_source('kb.t', '{{b}}')")
    kb.execute("call pgask.work()")
    kb.execute("alter table kb.t rename column id to ident")
    kb.execute("delete from kb.t where ident = 1")
    found = kb.execute("select chunk_text from pgask.search('deleted secret')").fetchall()
    assert ("the deleted secret",) not in found
    assert kb.execute("select is_active, reason from pgask.source_status").fetchall() == [
        (False, "column id is gone")
    ]
    kb.execute("truncate kb.t")


def test_an_application_never_fails_by_what_was_enqueued(
    kb: Connection, pgask_database: str
) -> None:
    kb.execute(
        "create table kb.p (id int primary key, b text) partition by range (id);"
        "create table kb.p1 partition of kb.p for values from (0) to (100)"
    )
    kb.execute("insert into kb.p select i, 'b' from generate_series(1, 9) i")
    kb.execute("select pgask.register_source('kb.p', '{{b}}')")
    with pytest.raises(psycopg.Error) as raised:
        kb.execute("select pgask.enqueue('kb.p', array['abc'])")
    assert raised.value.sqlstate == "22P02"
    kb.execute("truncate kb.p1")
    kb.execute("insert into kb.p select i, 'b' from generate_series(1, 9) i")
    # An administrator's enqueue() gives way before a deadlock is looked for.
    with psycopg.connect(pgask_database) as application:
        application.execute("update kb.p set b = 'x' where id = 5")
        with pytest.raises(psycopg.errors.LockNotAvailable):
            kb.execute("select pgask.enqueue('kb.p')")
        application.execute("update kb.p set b = 'x' where id = 3")


def test_a_private_draft_stays_private_behind_a_function_of_another(kb: Connection) -> None:
    with role(kb, "owner", "pgask_editor") as owner, role(kb, "nosy", "pgask_reader") as nosy:
        with acting_as(kb, owner):
            kb.execute("select pgask.save_question('What is my secret?', '[\"select 1 as n\"]')")
        kb.execute(f"create schema mal authorization {nosy}")
        with acting_as(kb, nosy):
            kb.execute(
                "create function mal.peek() returns bigint language sql security definer as"
                " $$ select count(*) from pgask.nl_query where status = 'draft' $$;"
                "grant usage on schema mal to public"
            )
        assert kb.execute("select mal.peek()").fetchone() == (0,)


def test_nobody_stores_a_question_that_was_not_checked(kb: Connection) -> None:
    with role(kb, "forger", "pgask_editor") as name, acting_as(kb, name):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            kb.execute(
                "select pgask._store_question('x', 'x', '[]', null, null, '[]', '[]', null,"
                " 'global', true, null)"
            )
        with pytest.raises(psycopg.Error) as raised:
            kb.execute("select pgask._store_draft('1234')")
        assert raised.value.sqlstate == "PA411"
        kb.execute("select pgask.save_question('What is one?', '[\"select 1 as one\"]')")
