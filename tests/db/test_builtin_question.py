"""The built-in questions: every statement runs for a plain role and finds what it is asked for."""

from __future__ import annotations

import re
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, LiteralString, cast

import psycopg
import pytest
from psycopg.rows import dict_row

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

Row = dict[str, object]

FIXTURE: LiteralString = """
create schema probe;
create table probe.parent (
    id integer generated always as identity (maxvalue 100) primary key,
    name text not null default 'nobody',
    twice integer generated always as (1 + 1) stored
);
comment on column probe.parent.name is 'what people call it';
create table probe.child (
    id serial primary key,
    parent_id integer not null references probe.parent (id),
    other_id integer references probe.parent (id),
    note text
);
create index child_other on probe.child (other_id, note);
create index child_note on probe.child (note);
create index child_note_again on probe.child (note);
create index child_note_down on probe.child (note desc);
create index child_note_some on probe.child (note) where parent_id > 1;
create index child_note_lower on probe.child (lower(note));
create index child_note_lower_again on probe.child (lower(note));
create index parent_key_again on probe.parent (id);
create table probe.keyless (payload text, big text);
create table probe.parted (id integer, day date) partition by range (day);
create table probe.parted_2024 partition of probe.parted
    for values from ('2024-01-01') to ('2025-01-01');
create table probe.parted_2025 partition of probe.parted
    for values from ('2025-01-01') to ('2026-01-01');
create index parted_day on probe.parted (day);
create view probe.shown as select p.id from probe.parent as p;
create materialized view probe.kept as select p.id from probe.parent as p;
create function probe.add_one(value integer) returns integer
    language sql immutable return value + 1;
insert into probe.parent (name) select 'n' || g.i from generate_series(1, 90) as g (i);
insert into probe.child (parent_id, note)
    select 1 + g.i % 90, 'note ' || g.i from generate_series(1, 3000) as g (i);
insert into probe.keyless select 'x', repeat('y', 500) from generate_series(1, 5000);
insert into probe.parted select g.i, date '2024-01-01' + g.i % 700
    from generate_series(1, 2000) as g (i);
"""

ASKED = """
Largest tables
    which tables take the most space?
    what are my {n:5} biggest tables
    what is using up all the disk in this database?
    show tables ordered by size
    top {n:10} tables by disk usage
    biggest tables please
    which table is the largest?
    list the ten largest tables
    what tables are eating my disk
Largest indexes
    which indexes are the largest
    biggest {n:3} indexes
    what indexes use the most disk
    show index sizes, largest first
    show me the {n:10} largest indexes
    which indexes occupy most storage?
    which index is the biggest?
    top indexes by size
Size of a table
    how large is the {table:customer} table?
    size of {table:order_line}
    how much disk does {table:customer} use?
    how many megabytes is table {table:article}
    what's the size of the {table:invoice} table
    how much storage does the table {table:invoice} need
    how many bytes does {table:invoice} occupy
    tell me the size of the {table:artist} table
Database size
    how big is the database?
    total database size
    how much disk space does the whole database use?
    size of all databases on this server
    what is the size of this database?
    how many gigabytes does the database occupy
    database size
    how much space is this database using in total?
Row counts
    how many rows are in each table?
    row counts of my tables
    number of rows per table
    which table has the most rows
    how many records does every table contain?
    approximate row count for all tables
    count of rows for every table
    how many rows do my tables contain
Unused indexes
    which indexes are not used?
    find indexes that nobody uses
    are there useless indexes I can drop?
    indexes that have never been scanned
    show unused indexes
    which indexes could I remove because nothing uses them
    any indexes we could drop?
    indexes with zero scans
Duplicate indexes
    are there duplicate indexes?
    find redundant indexes
    indexes that are identical to another one
    do any tables have the same index twice?
    list duplicate indexes
    do I have indexes that cover the same columns?
    which indexes are redundant?
    identical indexes
Tables that may miss an index
    which tables need an index?
    where are indexes missing
    tables with many sequential scans
    which tables are often read with full table scans?
    which tables could use an index
    tables with lots of seq scans
    which tables lack an index?
    suggest missing indexes
Foreign keys without an index
    foreign keys without index
    which foreign keys are missing an index?
    find unindexed foreign keys
    foreign key columns that are not covered by an index
    are all foreign keys indexed?
    list foreign keys lacking an index
    foreign keys lacking indexes
    is every foreign key backed by an index?
Indexes of a table
    what indexes are on {table:customer}?
    list the indexes of table {table:orders}
    show index sizes of the table {table:product}
    which indexes exist on the {table:customer} table
    indexes of {table:invoice}
    show me all indexes on table {table:track}
    list indexes for {table:artist}
    what indexes exist on {table:invoice}?
Tables of the database
    what tables are there?
    list the tables
    show all tables
    which tables does this database contain?
    which tables exist?
    give me a list of tables
    tables in this database
    what are the names of all tables
Columns of a table
    what columns does {table:customer} have?
    describe {table:orders}
    show the structure of the table {table:product}
    what are the data types in the table {table:customer}?
    columns of {table:invoice}
    what fields are in the {table:track} table?
    show columns of {table:customer}
    what does the {table:artist} table look like?
Tables that reference a table
    which tables have a foreign key to {table:customer}?
    what references the {table:product} table?
    which tables point to {table:orders}?
    what refers to {table:artist}?
    which tables depend on {table:artist}?
    which tables reference {table:artist}
    list foreign keys pointing to {table:customer}
Tables without a primary key
    tables without primary key
    are there tables that lack a primary key?
    which tables do not have a primary key
    list tables missing a primary key
    do all tables have a primary key?
    any table without a primary key?
    tables with no pk
Views
    what views exist?
    list the views in this database
    show materialized views
    which views are defined?
    show all views
    are there any views?
    names of all views
Functions of a schema
    what functions are in schema {schema:public}?
    list functions in the {schema:shop} schema
    which stored procedures are defined in {schema:pgask}
    functions of the schema {schema:billing}
    which functions does {schema:billing} have
    show all functions in {schema:billing}
    list the procedures of schema {schema:shop}
Sequences near their end
    which sequences are about to run out?
    sequences near exhaustion
    will any id column overflow soon?
    how full are my sequences
    are any sequences almost exhausted?
    which sequences will run out first
    which sequences are nearly used up?
    are we going to run out of ids
Installed extensions
    what extensions are installed?
    show installed extensions and versions
    is there an update for any extension?
    list the plugins of this database
    which extensions do we have?
    extension versions
    what extensions do I have
    is postgis or another extension installed?
Connections by state
    how many connections are open?
    connections by state
    how many sessions are idle
    are we close to max_connections?
    how many connections do we have?
    number of active and idle connections
    how many clients are connected
    connection count
Who is connected
    who is connected?
    who is logged in right now?
    which users are connected to the database
    which applications have sessions open?
    show connected users
    who is using the database at the moment
    show active users
    who else is on this server?
Longest-running queries
    what are the longest running queries?
    which queries have been running for a long time?
    slow queries right now
    what is running at the moment?
    show me running queries
    which queries take so long right now
    longest running query
    are there any queries that run for minutes?
Longest transactions
    what are the oldest transactions?
    which transactions have been open for a long time
    long-running transactions
    sessions idle in transaction
    longest open transactions
    are there old transactions still open?
    which transaction is the oldest?
    find transactions left open
Who blocks whom
    who blocks whom?
    which queries are blocked?
    are there any lock waits?
    what session is blocking the others
    what is blocking my query?
    show locks and who is waiting
    show blocking sessions
    why is my update hanging, who holds the lock?
Replication state
    how is replication doing?
    what is the replication lag?
    are the standbys up to date?
    show replication slots and replicas
    is replication working?
    how much do the replicas lag behind
    replication status
    are replicas behind the primary?
Cache hit ratio
    cache hit ratio
    what's my buffer cache hit rate?
    how well is the cache working?
    how many reads come from memory rather than disk
    what percentage of reads hit the cache?
    buffer cache hit rate
    what is my cache hit rate
    do we have enough shared buffers
Tables that need vacuum
    which tables need vacuum?
    what should I vacuum?
    tables that need vacuuming
    which tables need to be analyzed
    do any tables need vacuuming?
    is autovacuum keeping up?
    which tables are overdue for vacuum
    when should I run analyze
Dead rows
    which tables have many dead rows?
    dead tuples per table
    {n:5} most bloated tables
    show table bloat
    which tables have the most dead tuples
    how much bloat is there
    table bloat
    how many dead rows are there in each table
Checkpoints and background writer
    how is the checkpointer doing?
    how many checkpoints were there?
    background writer statistics
    are checkpoints too frequent?
    show checkpoint statistics
    how frequent are checkpoints?
    checkpoint frequency
    stats of the bgwriter
Server version and uptime
    what version of postgres is this?
    how long has the server been up?
    server version
    when was the database last restarted?
    which postgres version do we run?
    uptime of the server
    postgres version
    since when is the server running?
Settings changed from their default
    which settings are not at their default?
    what configuration was changed?
    show non-default settings
    which parameters have been modified in postgresql.conf
    which settings have we changed?
    what is configured differently from the defaults
    list modified settings
    show custom configuration
Value of a setting
    what is {setting:work_mem} set to?
    show the setting {setting:shared_buffers}
    value of {setting:max_connections}
    what does the parameter {setting:random_page_cost} mean?
    what is the value of {setting:work_mem}?
    how is {setting:wal_level} configured
    what's {setting:shared_buffers}?
    current value of {setting:maintenance_work_mem}
Roles
    what roles exist?
    list all users
    which users are superusers?
    who can create databases?
    which roles are there?
    show database users and whether they are superusers
    show all roles
    who has superuser rights?
Privileges of a role
    what privileges does {role:pg_monitor} have?
    what can role {role:pg_read_all_data} do?
    which tables can the user {role:pg_monitor} read?
    show the grants of {role:pg_read_all_data}
    what is {role:pg_monitor} allowed to do?
    permissions of the role {role:pg_monitor}
    what access does {role:pg_monitor} have
    which tables may {role:pg_read_all_data} see?
"""
"""A label, and below it how people ask for it, with the values in braces."""


def bound(sql: str) -> LiteralString:
    """The statement with `:name` places as psycopg writes them."""
    escaped = re.sub(r"(?<![:\w]):([a-z]\w*)", r"%(\1)s", sql.replace("%", "%%"))
    return cast("LiteralString", escaped)


def another(
    connection: psycopg.Connection[Row] | psycopg.Connection[tuple[object, ...]],
) -> psycopg.Connection[Row]:
    """A second session of the same database."""
    info = connection.info
    return psycopg.Connection[Row].connect(
        host=info.host,
        port=info.port,
        user=info.user,
        password=info.password,
        dbname=info.dbname,
        autocommit=True,
        row_factory=dict_row,
    )


@pytest.fixture
def probe(
    connection: psycopg.Connection[tuple[object, ...]],
) -> Iterator[psycopg.Connection[Row]]:
    """A session of the fresh database as a superuser, with a plain role to be."""
    role = f"probe_{connection.info.dbname}"[:63]
    with another(connection) as session:
        session.execute("select set_config('probe.role', %s, false)", (role,))
        session.execute(
            "do $do$ begin execute format('create role %I', current_setting('probe.role')); "
            "end $do$"
        )
        yield session
        session.execute(
            "do $do$ begin execute format('drop owned by %I', current_setting('probe.role')); "
            "execute format('drop role %I', current_setting('probe.role')); end $do$"
        )


@pytest.fixture
def filled(probe: psycopg.Connection[Row]) -> psycopg.Connection[Row]:
    """The probe with tables of which each question knows something."""
    probe.execute(FIXTURE)
    probe.execute("analyze probe.parent")
    settle(probe)
    return probe


def settle(session: psycopg.Connection[Row]) -> None:
    """Make the statistics of this session visible now."""
    session.execute("select pg_stat_force_next_flush()")
    session.execute("select pg_stat_clear_snapshot()")


def questions(session: psycopg.Connection[Row]) -> list[Row]:
    return session.execute("select b.* from pgask._builtin_questions() as b").fetchall()


def examples(question: Row) -> Row:
    """The example value of every parameter."""
    params = cast("list[Row]", question["params"])
    return {str(p["name"]): p.get("example", p.get("default")) for p in params}


@contextmanager
def plain_role(session: psycopg.Connection[Row]) -> Generator[None]:
    """Within: read-only, as a role that owns nothing and was granted nothing."""
    with session.transaction(force_rollback=True):
        session.execute("set local transaction_read_only = on")
        session.execute("select set_config('role', current_setting('probe.role'), true)")
        session.execute("set local search_path = pg_catalog, pg_temp")
        yield


def asked(session: psycopg.Connection[Row], label: str, **values: object) -> list[list[Row]]:
    """The results of the built-in question `label`, one list of rows per statement."""
    found = session.execute(
        "select b.* from pgask._builtin_questions() as b where b.label = %s", (label,)
    ).fetchone()
    assert found is not None, f"no built-in question is labelled {label}"
    with plain_role(session):
        return [
            session.execute(bound(str(s["sql"])), examples(found) | values).fetchall()
            for s in cast("list[Row]", found["sqls"])
        ]


def column(rows: list[Row], name: str) -> list[object]:
    return [row[name] for row in rows]


def test_every_question_is_complete(probe: psycopg.Connection[Row]) -> None:
    rows = questions(probe)
    assert len(rows) >= 25
    assert len({str(r["label"]) for r in rows}) == len(rows)
    assert len({str(r["canonical_prompt"]) for r in rows}) == len(rows)
    for row in rows:
        names = {str(p["name"]) for p in cast("list[Row]", row["params"])}
        prompt = str(row["canonical_prompt"])
        assert set(re.findall(r"\{(\w+)\}", prompt)) == names, row["label"]
        for phrasing in cast("list[str]", row["phrasings"]):
            assert set(re.findall(r"\{(\w+)\}", phrasing)) <= names, row["label"]
        for statement in cast("list[Row]", row["sqls"]):
            assert statement["display"] in {"table", "bar", "line", "pie", "number"}
            assert statement["title"]
            used = set(re.findall(r"(?<![:\w]):([a-z]\w*)", str(statement["sql"])))
            assert used <= names, row["label"]


def test_every_statement_runs_as_a_plain_role_on_an_empty_database(
    probe: psycopg.Connection[Row],
) -> None:
    for question in questions(probe):
        assert asked(probe, str(question["label"])) is not None


def test_every_statement_runs_as_a_plain_role_on_a_filled_database(
    filled: psycopg.Connection[Row],
) -> None:
    for question in questions(filled):
        assert asked(filled, str(question["label"])) is not None


def test_no_statement_calls_a_volatile_function_beyond_the_known_ones(
    filled: psycopg.Connection[Row],
) -> None:
    allowed = {
        "clock_timestamp",
        "pg_blocking_pids",
        "pg_database_size",
        "pg_indexes_size",
        "pg_relation_size",
        "pg_total_relation_size",
    }
    volatile = {
        str(r["proname"])
        for r in filled.execute(
            "select p.proname from pg_proc as p group by p.proname "
            "having bool_or(p.provolatile = 'v') and bool_and(p.pronamespace = 11)"
        )
    }
    for question in questions(filled):
        for statement in cast("list[Row]", question["sqls"]):
            called = set(re.findall(r"\b([a-z_0-9]+)\(", str(statement["sql"])))
            assert called & volatile <= allowed, question["label"]


def test_the_largest_tables_come_first_and_partitions_are_added_up(
    filled: psycopg.Connection[Row],
) -> None:
    [rows] = asked(filled, "Largest tables", n=1000)
    sizes = [cast("int", r["total_bytes"]) for r in rows]
    assert sizes == sorted(sizes, reverse=True)
    names = column(rows, "table_name")
    assert "probe.parted" in names
    assert "probe.parted_2024" not in names
    whole = filled.execute(
        "select sum(pg_total_relation_size(p.relid)) as n"
        " from pg_partition_tree('probe.parted') as p"
    ).fetchone()
    assert whole is not None
    assert [r["total_bytes"] for r in rows if r["table_name"] == "probe.parted"] == [whole["n"]]
    assert len(asked(filled, "Largest tables", n=2)[0]) == 2


def test_the_largest_indexes_come_first(filled: psycopg.Connection[Row]) -> None:
    [rows] = asked(filled, "Largest indexes", n=1000)
    sizes = [cast("int", r["index_bytes"]) for r in rows]
    assert sizes == sorted(sizes, reverse=True)
    assert "probe.child_note" in column(rows, "index_name")


def test_the_size_of_a_table_is_the_sum_of_its_parts(filled: psycopg.Connection[Row]) -> None:
    for name in ("child", "probe.child"):
        [[row]] = asked(filled, "Size of a table", table=name)
        size = filled.execute("select pg_total_relation_size('probe.child') as n").fetchone()
        assert size is not None
        assert row["total_bytes"] == size["n"]
    [[parted]] = asked(filled, "Size of a table", table="parted")
    assert cast("int", parted["total_bytes"]) > 0


def test_the_database_size_is_that_of_this_database(filled: psycopg.Connection[Row]) -> None:
    [[row], every] = asked(filled, "Database size")
    assert cast("int", row["database_bytes"]) > 1_000_000
    assert filled.info.dbname in column(every, "database_name")


def test_row_counts_show_what_analyze_found(filled: psycopg.Connection[Row]) -> None:
    [rows] = asked(filled, "Row counts")
    counts = {r["table_name"]: r for r in rows}
    assert counts["probe.parent"]["row_estimate"] == 90
    assert counts["probe.child"]["live_rows_counted"] == 3000


def test_an_index_is_unused_until_it_is_scanned(filled: psycopg.Connection[Row]) -> None:
    before = column(asked(filled, "Unused indexes")[0], "index_name")
    assert {"probe.child_note", "probe.parted_day"} <= set(before)
    assert "probe.child_pkey" not in before, "an index that guards a rule is never unused"
    assert not any("parted_2024" in str(name) for name in before)
    filled.execute("set enable_seqscan = off")
    filled.execute("select from probe.parted as p where p.day = '2024-05-05'")
    filled.execute("reset enable_seqscan")
    settle(filled)
    after = column(asked(filled, "Unused indexes")[0], "index_name")
    assert "probe.parted_day" not in after, "a scan of one partition's index is a use"
    assert "probe.child_note" in after


def test_only_true_duplicates_are_called_so(filled: psycopg.Connection[Row]) -> None:
    [rows] = asked(filled, "Duplicate indexes")
    found = {
        (r["table_name"], r["index_to_keep"], r["redundant_indexes"])
        for r in rows
        if str(r["table_name"]).startswith("probe.")
    }
    assert found == {
        ("probe.child", "child_note", "child_note_again"),
        ("probe.child", "child_note_lower", "child_note_lower_again"),
        ("probe.parent", "parent_pkey", "parent_key_again"),
    }


def test_a_table_read_from_end_to_end_may_miss_an_index(filled: psycopg.Connection[Row]) -> None:
    for _ in range(3):
        filled.execute("select count(*) from probe.keyless as k where k.payload = 'z'")
    settle(filled)
    [rows] = asked(filled, "Tables that may miss an index", n=1000)
    [row] = [r for r in rows if r["table_name"] == "probe.keyless"]
    assert cast("int", row["sequential_scans"]) >= 3
    assert cast("int", row["rows_read_sequentially"]) >= 15_000


def test_a_foreign_key_without_an_index_on_its_first_columns_is_found(
    filled: psycopg.Connection[Row],
) -> None:
    [rows] = asked(filled, "Foreign keys without an index")
    ours = [r for r in rows if r["table_name"] == "probe.child"]
    assert column(ours, "foreign_key") == ["child_parent_id_fkey"]
    assert column(ours, "column_names") == ["parent_id"]
    filled.execute("create index half on probe.child (parent_id) where parent_id > 5")
    [rows] = asked(filled, "Foreign keys without an index")
    assert "child_parent_id_fkey" in column(rows, "foreign_key"), "a partial index does not serve"
    filled.execute("create index whole on probe.child using hash (parent_id)")
    [rows] = asked(filled, "Foreign keys without an index")
    assert "child_parent_id_fkey" not in column(rows, "foreign_key")


def test_a_composite_key_is_served_in_any_order_but_only_by_leading_columns(
    filled: psycopg.Connection[Row],
) -> None:
    filled.execute("create table probe.pair (a integer, b integer, primary key (a, b))")
    filled.execute(
        "create table probe.user_of_pair (x integer, y integer, z integer,"
        " constraint pair_fk foreign key (x, y) references probe.pair (a, b))"
    )
    for definition, served in (
        ("(z, x, y)", False),
        ("(x) include (y)", False),
        ("(x, z, y)", False),
        ("(y, x)", True),
    ):
        filled.execute(bound(f"create index on probe.user_of_pair {definition}"))
        [rows] = asked(filled, "Foreign keys without an index")
        assert ("pair_fk" not in column(rows, "foreign_key")) == served, definition


def test_the_indexes_of_a_table_are_listed(filled: psycopg.Connection[Row]) -> None:
    [rows] = asked(filled, "Indexes of a table", table="parent")
    assert {"parent_pkey", "parent_key_again"} == set(column(rows, "index_name"))


def test_tables_are_listed_without_their_partitions(filled: psycopg.Connection[Row]) -> None:
    [rows] = asked(filled, "Tables of the database")
    ours = [r for r in rows if r["schema_name"] == "probe"]
    assert column(ours, "table_name") == ["child", "keyless", "parent", "parted"]


def test_the_columns_of_a_table_come_in_their_order(filled: psycopg.Connection[Row]) -> None:
    [rows] = asked(filled, "Columns of a table", table="probe.parent")
    assert column(rows, "column_name") == ["id", "name", "twice"]
    assert column(rows, "data_type") == ["integer", "text", "integer"]
    assert column(rows, "allows_null") == [False, False, True]
    assert column(rows, "in_primary_key") == [True, False, False]
    assert column(rows, "default_value") == ["identity", "'nobody'::text", "generated as (1 + 1)"]
    assert rows[1]["comment"] == "what people call it"


def test_the_tables_that_reference_a_table_are_found(filled: psycopg.Connection[Row]) -> None:
    [rows] = asked(filled, "Tables that reference a table", table="parent")
    assert column(rows, "referencing_table") == ["probe.child", "probe.child"]


def test_tables_without_a_primary_key_are_found(filled: psycopg.Connection[Row]) -> None:
    [rows] = asked(filled, "Tables without a primary key")
    ours = [n for n in column(rows, "table_name") if str(n).startswith("probe.")]
    assert ours == ["probe.keyless", "probe.parted"]


def test_views_and_functions_are_listed(filled: psycopg.Connection[Row]) -> None:
    [views] = asked(filled, "Views")
    assert {"probe.shown", "probe.kept"} <= set(column(views, "view_name"))
    [[function]] = asked(filled, "Functions of a schema", schema="probe")
    assert function["function_name"] == "add_one"
    assert function["arguments"] == "value integer"


def test_a_sequence_near_its_end_comes_first(filled: psycopg.Connection[Row]) -> None:
    filled.execute("create sequence probe.down increment -1 minvalue -10 maxvalue -1")
    filled.execute("select setval('probe.down', -10)")
    filled.execute("grant usage, select on all sequences in schema probe to public")
    filled.execute("create table probe.narrow (id integer)")
    filled.execute("create sequence probe.wide owned by probe.narrow.id")
    filled.execute("select setval('probe.wide', 2147483647)")
    filled.execute("grant select on probe.wide to public")
    [rows] = asked(filled, "Sequences near their end", n=1000)
    share = {r["sequence_name"]: r for r in rows}
    assert float(cast("float", share["probe.down"]["percent_used"])) == 100
    assert float(cast("float", share["probe.wide"]["percent_used"])) == 100
    assert 89 < float(cast("float", share["probe.parent_id_seq"]["percent_used"])) < 91
    assert share["probe.parent_id_seq"]["owning_column"] == "probe.parent.id"
    assert rows[0]["sequence_name"] in {"probe.down", "probe.wide"}


def test_installed_extensions_are_listed(filled: psycopg.Connection[Row]) -> None:
    [rows] = asked(filled, "Installed extensions")
    assert "plpgsql" in column(rows, "extension_name")


def test_connections_are_counted_and_named(filled: psycopg.Connection[Row]) -> None:
    [states, [limit]] = asked(filled, "Connections by state")
    total = sum(cast("int", r["connections"]) for r in states)
    assert total == limit["connections"]
    assert total >= 2
    [users] = asked(filled, "Who is connected")
    assert filled.info.user in column(users, "user_name")


def test_a_blocked_session_and_its_blocker_are_found(filled: psycopg.Connection[Row]) -> None:
    with another(filled) as holder, another(filled) as waiter:
        holder.execute("begin")
        holder.execute("lock table probe.keyless in access exclusive mode")

        def wait() -> None:
            waiter.execute("select count(*) from probe.keyless")

        thread = threading.Thread(target=wait)
        thread.start()
        try:
            filled.execute(
                "do $do$ begin execute format('grant pg_read_all_stats to %I', "
                "current_setting('probe.role')); end $do$"
            )
            deadline = time.monotonic() + 10
            rows: list[Row] = []
            while not rows and time.monotonic() < deadline:
                [rows] = asked(filled, "Who blocks whom")
            [running] = asked(filled, "Longest-running queries", n=1000)
            [transactions] = asked(filled, "Longest transactions", n=1000)
        finally:
            holder.execute("rollback")
            thread.join()
        assert [(r["waiting_process"], r["blocking_process"]) for r in rows] == [
            (waiter.info.backend_pid, holder.info.backend_pid)
        ]
        assert any("probe.keyless" in str(r["query"]) for r in running)
        assert any(r["state"] == "idle in transaction" for r in transactions)


def test_replication_says_which_role_the_server_has(filled: psycopg.Connection[Row]) -> None:
    [[server], _, _] = asked(filled, "Replication state")
    assert server["role"] == "primary"


def test_the_cache_hit_ratio_is_a_percentage(filled: psycopg.Connection[Row]) -> None:
    [[row], _] = asked(filled, "Cache hit ratio")
    assert 0 <= float(cast("float", row["cache_hit_percent"])) <= 100


def test_dead_rows_make_a_table_due_for_vacuum(filled: psycopg.Connection[Row]) -> None:
    filled.execute("alter table probe.child set (autovacuum_enabled = off)")
    filled.execute("vacuum analyze probe.child")
    filled.execute("delete from probe.child as c where c.id <= 2000")
    settle(filled)
    [due] = asked(filled, "Tables that need vacuum")
    [row] = [r for r in due if r["table_name"] == "probe.child"]
    assert str(row["due_because_of"]).startswith("dead rows")
    assert row["dead_rows"] == 2000
    assert row["autovacuum_enabled"] is False
    [dead] = asked(filled, "Dead rows", n=1000)
    assert [r["dead_rows"] for r in dead if r["table_name"] == "probe.child"] == [2000]
    filled.execute("alter table probe.child set (autovacuum_vacuum_threshold = 100000)")
    filled.execute("analyze probe.child")
    settle(filled)
    [due] = asked(filled, "Tables that need vacuum")
    assert "probe.child" not in column(due, "table_name")


def test_checkpoints_are_counted(filled: psycopg.Connection[Row]) -> None:
    [[row]] = asked(filled, "Checkpoints and background writer")
    assert row["timed_checkpoints"] is not None


def test_the_server_says_its_version_and_uptime(filled: psycopg.Connection[Row]) -> None:
    [[row]] = asked(filled, "Server version and uptime")
    assert str(row["server_version"])[:2] in {"15", "16", "17"}


def test_settings_are_found_by_name(filled: psycopg.Connection[Row]) -> None:
    [rows] = asked(filled, "Value of a setting", setting="work_mem")
    assert rows[0]["setting_name"] == "work_mem"
    assert "maintenance_work_mem" in column(rows, "setting_name")
    [changed] = asked(filled, "Settings changed from their default")
    names = column(changed, "setting_name")
    assert "role" not in names
    assert "search_path" not in names, "what the session itself set is left out"


def test_roles_and_their_privileges_are_shown(filled: psycopg.Connection[Row]) -> None:
    filled.execute(
        "do $do$ begin "
        "execute format('grant usage on schema probe to %I', current_setting('probe.role')); "
        "execute format('grant select, insert on probe.child to %I', "
        "current_setting('probe.role')); "
        "execute format('grant pg_monitor to %I', current_setting('probe.role')); "
        "end $do$"
    )
    name = filled.execute("select current_setting('probe.role') as name").fetchone()
    assert name is not None
    [roles] = asked(filled, "Roles")
    [role] = [r for r in roles if r["role_name"] == name["name"]]
    assert role["is_superuser"] is False
    assert "pg_monitor" in str(role["member_of"])
    [tables, groups] = asked(filled, "Privileges of a role", role=name["name"])
    [child] = [r for r in tables if r["table_name"] == "probe.child"]
    assert [child["can_select"], child["can_insert"], child["can_delete"]] == [True, True, False]
    assert "probe.parent" not in column(tables, "table_name")
    direct = {r["member_of"]: r["is_direct"] for r in groups}
    assert direct["pg_monitor"] is True
    assert direct["pg_read_all_stats"] is False


def asked_lines() -> list[tuple[str, str]]:
    """ASKED as (label, wording)."""
    label = ""
    pairs: list[tuple[str, str]] = []
    for line in ASKED.strip().splitlines():
        if line.startswith(" "):
            pairs.append((label, line.strip()))
        else:
            label = line
    return pairs


def test_the_wordings_lie_nearest_to_the_right_question_in_nineteen_of_twenty_cases(
    probe: psycopg.Connection[Row],
) -> None:
    place = re.compile(r"\{(\w+)(?::[^}]*)?\}")
    stored = [
        (str(q["label"]), place.sub(r"a given \1", wording))
        for q in questions(probe)
        for wording in [str(q["canonical_prompt"]), *cast("list[str]", q["phrasings"])]
    ]
    typed = [(label, place.sub(r"a given \1", wording)) for label, wording in asked_lines()]

    def nearest() -> list[Row]:
        return probe.execute(
            """
            select distinct on (a.i) a.i, s.i as found
            from unnest(%(asked)s::int[], pgask._embed_texts(%(typed)s)::public.vector[]) a (i, v)
            cross join unnest(%(places)s::int[], pgask._embed_texts(%(stored)s)::public.vector[])
                as s (i, v)
            order by a.i, a.v <=> s.v
            """,
            {
                "asked": list(range(len(typed))),
                "typed": [text for _label, text in typed],
                "places": list(range(len(stored))),
                "stored": [text for _label, text in stored],
            },
        ).fetchall()

    wrong = [
        f"{typed[cast('int', r['i'])]} lies nearest to {stored[cast('int', r['found'])]}"
        for r in nearest()
        if typed[cast("int", r["i"])][0] != stored[cast("int", r["found"])][0]
    ]
    assert len(wrong) <= len(typed) * 0.05, "\n".join(wrong)


def test_a_wrong_built_in_question_is_hardly_ever_answered(
    probe: psycopg.Connection[Row],
) -> None:
    for name in ["customer", "orders", "order_line", "product", "article", "invoice"]:
        probe.execute(bound(f"create table public.{name} (id integer primary key)"))
    for name in ["track", "artist"]:
        probe.execute(bound(f"create table public.{name} (id integer primary key)"))
    probe.execute("create schema shop")
    probe.execute("create schema billing")
    answered = 0
    wrong: list[str] = []
    for label, wording in asked_lines():
        question = re.sub(r"\{\w+:([^}]*)\}", r"\1", wording)
        row = probe.execute("select pgask.answer(%s) as answer", (question,)).fetchone()
        assert row is not None
        answer = cast("Row", row["answer"])
        if answer["question_id"] is None:
            continue
        answered += 1
        if answer["label"] != label:
            wrong.append(f"{question}: {answer['label']}, not {label}")
    assert answered >= 80
    assert len(wrong) <= answered * 0.03, "\n".join(wrong)
