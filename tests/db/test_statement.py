"""Statements that answer questions: what is refused, what is contained, what comes back."""

from __future__ import annotations

import json
import os
import re
import signal
import threading
import time
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, LiteralString, cast

import psycopg
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from psycopg.rows import TupleRow

    Connection = psycopg.Connection[TupleRow]

HERE = Path(__file__).parent / "statement"
READER = "pgask_test_reader"
MARK = Path("/tmp/pgask_was_here")

STATE: LiteralString = """
    select
        (select jsonb_agg(c order by c.id) from shop.customer c),
        (select count(*) from shop.written), (select last_value from shop.counter),
        (select is_called from shop.counter), (select count(*) from pg_class),
        (select count(*) from pg_proc), (select count(*) from pg_largeobject_metadata),
        (select count(*) from pg_locks l where l.locktype = 'advisory'),
        (select array_agg(pg_listening_channels) from pg_listening_channels()),
        (select count(*) from pg_prepared_statements), (select count(*) from pg_cursors),
        current_user, session_user, current_setting('search_path'),
        current_setting('transaction_read_only'), current_setting('role'),
        (select count(*) from pg_roles r where r.rolsuper),
        pg_my_temp_schema() <> 0
"""


def cases(name: str) -> Iterator[tuple[str, str, str]]:
    """(SQLSTATE, what it is, statement) of a file of statements."""
    text = (HERE / name).read_text()
    block = re.compile(r"^-- (\w{5}) (.*)\n((?:(?!-- \w{5} ).*\n?)+)", re.MULTILINE)
    for code, what, sql in block.findall(text):
        yield code, what, sql.rstrip("\n")


REFUSED = list(cases("refused.sql"))


@pytest.fixture
def shop(connection: Connection) -> Connection:
    """The superuser, with the shop."""
    connection.prepare_threshold = None  # prepared statements are part of what must not change
    connection.execute((HERE / "shop.sql").read_bytes())
    connection.execute(
        f"""do $$ begin
            if to_regrole('{READER}') is null then create role {READER} login; end if;
        end $$;
        grant pgask_reader to {READER}"""
    )
    connection.execute(
        "create temporary table scratch (a integer); grant select on scratch to public;"
        " set search_path = shop, public"
    )
    return connection


@pytest.fixture(params=["reader", "superuser"])
def asker(request: pytest.FixtureRequest, shop: Connection) -> Connection:
    """The one who asks, with the shop in reach."""
    if request.param == "reader":
        shop.execute(f"set session authorization {READER}")
    return shop


@pytest.fixture
def reader(shop: Connection) -> Connection:
    """A plain reader with the shop in reach."""
    shop.execute(f"set session authorization {READER}")
    return shop


def analyse(connection: Connection, sql: str, **params: str) -> dict[str, object]:
    row = connection.execute(
        "select pgask._analyse_statement(%s, %s)", [sql, json.dumps(params)]
    ).fetchone()
    assert row is not None
    return cast("dict[str, object]", row[0])


def run_canonical(
    connection: Connection,
    canonical: str,
    types: list[str] | None = None,
    values: list[str | None] | None = None,
    **limits: float,
) -> dict[str, object]:
    named = "".join(f", {name} => {value}" for name, value in limits.items())
    row = connection.execute(
        f"select pgask._run_read_only(%s, %s, %s{named})::text",  # type: ignore[arg-type]
        [canonical, types or [], values or []],
    ).fetchone()
    assert row is not None
    return cast("dict[str, object]", json.loads(row[0], parse_float=Decimal))


def run(connection: Connection, sql: str, **limits: float) -> dict[str, object]:
    """Analyse and run a statement without parameters."""
    return run_canonical(connection, cast("str", analyse(connection, sql)["canonical"]), **limits)


def rows(connection: Connection, sql: str, **limits: float) -> object:
    return run(connection, sql, **limits)["rows"]


def raises(code: str) -> pytest.RaisesExc[psycopg.Error]:
    def check(error: psycopg.Error) -> bool:
        return error.sqlstate == code

    return pytest.RaisesExc(psycopg.Error, check=check)


def state(connection: Connection) -> object:
    return connection.execute(STATE).fetchone()


@pytest.mark.parametrize("who", ["reader", "superuser"])
def test_a_hostile_statement_is_refused_and_nothing_changes(shop: Connection, who: str) -> None:
    wrong: list[str] = []
    if who == "reader":
        shop.execute(f"set session authorization {READER}")
    assert len(REFUSED) > 120
    for code, what, sql in REFUSED:
        before = state(shop)
        found: list[str] = []
        for function in ("_analyse_statement", "_run_read_only"):
            try:
                shop.execute(f"select pgask.{function}(%s)", [sql])  # type: ignore[arg-type]
                found.append("nothing")
            except psycopg.Error as error:
                found.append(str(error.sqlstate))
        if state(shop) != before:
            wrong.append(f"{what}: something changed")
        if found[0] != code or found[1] not in ("PA401", "PA402"):
            wrong.append(f"{what}: {found}")
    assert not wrong, "\n".join(wrong)
    assert not MARK.exists()


def test_names_mean_what_the_author_saw_and_cannot_be_hijacked_later(shop: Connection) -> None:
    shop.execute("set search_path = shop, public")
    saved = analyse(shop, "select count(*) from customer where id = 1 and upper(name) = 'ANN'")
    canonical = cast("str", saved["canonical"])
    assert "shop.customer" in canonical
    before = state(shop)
    shop.execute("set search_path = evil, shop, pg_catalog")
    shop.execute("create temporary table customer (id integer, name text)")
    shop.execute("create temporary table pg_class (oid oid, relname text)")
    assert run_canonical(shop, canonical)["rows"] == [[1]]
    catalog = "SELECT count(*) > 100 AS many FROM pg_class"
    assert run_canonical(shop, catalog)["rows"] == [[True]]
    shop.execute("drop table pg_temp.customer, pg_temp.pg_class; set search_path = shop, public")
    assert state(shop) == before


def test_a_hijacked_operator_or_function_is_seen_for_what_it_is(asker: Connection) -> None:
    asker.execute("set search_path = evil, shop, pg_catalog")
    for sql in (
        "select name from shop.customer where id = 1",
        "select count(id) from shop.customer",
        "select upper(name) from shop.customer",
    ):
        with raises("PA401"):
            analyse(asker, sql)


def test_a_stable_function_that_lies_writes_nothing(asker: Connection) -> None:
    before = state(asker)
    canonical = cast("str", analyse(asker, "select 1 where shop.double(1) = 2")["canonical"])
    assert run_canonical(asker, canonical)["rows"] == [[1]]
    with raises("25006"):
        rows(asker, "select shop.stable_liar()")
    assert state(asker) == before


def test_an_allowed_function_runs_and_its_writes_are_refused(shop: Connection) -> None:
    shop.execute("select pgask.set_setting('allowed_functions', 'shop.write_one, shop.see_all')")
    assert rows(shop, "select shop.see_all()") == [[2]]
    before = state(shop)
    with raises("25006"):
        rows(shop, "select shop.write_one()")
    assert state(shop) == before


def test_the_read_only_flag_is_off_again_afterwards(asker: Connection) -> None:
    with asker.transaction():
        rows(asker, "select 1")
        assert asker.execute("show transaction_read_only").fetchone() == ("off",)
        asker.execute("insert into shop.written default values")
        with raises("25006"), asker.transaction():
            rows(asker, "select shop.stable_liar()")
        assert asker.execute("show transaction_read_only").fetchone() == ("off",)
    assert asker.execute("select count(*) from shop.written").fetchone() == (1,)


def test_the_helpers_refuse_to_work_on_their_own(asker: Connection) -> None:
    analyse(asker, "select 1")
    for call in (
        "select pgask._execute_statement('SELECT 1', '{}', '{}', 10, 10, 1000)",
        "select pgask._execute_statement('delete from shop.customer', '{}', '{}', 10, 10, 1000)",
        "select pgask._check_plan_cost('delete from shop.customer', '{}', '{}', 1000, 1)",
    ):
        with raises("PA401"):
            asker.execute(call)  # type: ignore[arg-type]
        with raises("PA401"), asker.transaction():
            asker.execute("set transaction read only")
            asker.execute(call.replace("SELECT 1", "SELECT 99"))  # type: ignore[arg-type]


def test_what_reads_runs(asker: Connection) -> None:
    for sql in (
        "select 1;",
        "(select 1) union all (select 2) order by 1",
        "values (1), (2)",
        "table shop.customer",
        "with recursive n(i) as (select 1 union all select i + 1 from n where i < 5) table n",
        "select percentile_cont(0.5) within group (order by spent) from shop.customer",
        "select c.shout from shop.customer c",
        "select * from shop.names()",
        "select * from shop.harmless",
        "select count(*) from information_schema.columns",
        "select pg_size_pretty(pg_total_relation_size('shop.customer'))",
        "select pid, state from pg_stat_activity",
        "select name from shop.customer tablesample bernoulli (50)",
        "select random(), now(), clock_timestamp(), gen_random_uuid()",
        "select row_number() over (order by id) from shop.customer",
        "select (1, 2) < (1, 3), array[1] || 2, 'x'::shop.short, '{}'::jsonb ->> 'a'",
        "select grouping(country), country from shop.customer group by cube (country)",
        "select $$a;b$$, E'\\';', U&'\\0061', 'it''s' -- and; a comment",
        "select xmlelement(name a, 'x')",
        "select a.b[1:2] from (select array[1, 2, 3] as b) a",
        "select 1 where exists (select from shop.customer)",
        "select",
    ):
        run(asker, sql)


def test_the_rights_of_the_asker_decide(reader: Connection) -> None:
    with raises("42501"):
        analyse(reader, "select secret from shop.private")
    assert rows(reader, "select what from shop.rows_of") == [["mine"]]


def test_every_kind_of_value_comes_back_readable(asker: Connection) -> None:
    result = run(
        asker,
        """
        select 1::int2 as a, 2 as a, 9223372036854775807 as "big number", 41204.50 as "n ""q"" ",
            'NaN'::numeric, 'Infinity'::float8, 1e20::float8, 0.1::float4, true, null::text,
            date '2024-02-29', timestamp '2024-02-29 12:00', interval '1 day 2 hours', time '12:30',
            '\\x00ff'::bytea, array[1, null, 3], row(1, 'x'), '{"a": [1]}'::jsonb,
            '[1,2)'::int4range,
            'red'::shop.colour, 'ab'::shop.short, c, 'a"b\\c' || chr(10), 'Größe 😀',
            row(null, null), '00000000-0000-0000-0000-000000000001'::uuid, '{}'::int[]
        from shop.customer c where id = 1
        """,
    )
    assert result["rows"] == [
        [
            1, 2, 9223372036854775807, Decimal("41204.50"),
            "NaN", "Infinity", Decimal("1e+20"), Decimal("0.1"), True, None,
            "2024-02-29", "2024-02-29 12:00:00", "1 day 02:00:00", "12:30:00",
            "\\x00ff", "{1,NULL,3}", "(1,x)", '{"a": [1]}', "[1,2)",
            "red", "ab", "(1,Ann,DE,10.50)", 'a"b\\c\n', "Größe 😀",
            "(,)", "00000000-0000-0000-0000-000000000001", "{}",
        ]
    ]  # fmt: skip
    columns = cast("list[dict[str, str]]", result["columns"])
    assert [c["name"] for c in columns[:4]] == ["a", "a", "big number", 'n "q" ']
    assert [c["type"] for c in columns[19:22]] == ["shop.colour", "shop.short", "shop.customer"]


def test_duplicate_and_missing_columns_and_rows_are_no_problem(asker: Connection) -> None:
    result = run(asker, "select count(*), count(*) from shop.customer")
    assert result["rows"] == [[2, 2]]
    assert run(asker, "select from shop.customer")["rows"] == [[], []]
    assert run(asker, "select 1 where false")["rows"] == []


def test_numbers_keep_their_digits_to_the_last(asker: Connection) -> None:
    assert rows(asker, "select 1.10, 123456789012345678901234567890.000000000000000001") == [
        [Decimal("1.10"), Decimal("123456789012345678901234567890.000000000000000001")]
    ]


def test_parameters_are_bound_and_never_spliced(asker: Connection) -> None:
    saved = analyse(
        asker,
        "select name from shop.customer where name = :name or ':name' = 'x' or id::text = :id"
        " limit :n",
        name="text",
        n="integer",
        id="text",
    )
    assert saved["arguments"] == ["name", "id", "n"]
    canonical, types = cast("str", saved["canonical"]), cast("list[str]", saved["types"])
    for hostile in ("'; drop table shop.customer; --", "x' or '1' = '1", "$1", "\\'", "Ann\n;"):
        assert run_canonical(asker, canonical, types, [hostile, "0", "5"])["rows"] == []
    assert run_canonical(asker, canonical, types, ["Ann", None, "5"])["rows"] == [["Ann"]]


@pytest.mark.parametrize(
    ("type_name", "value"),
    [
        ("integer", "abc"),
        ("integer", "99999999999"),
        ("integer", "1; drop table shop.customer"),
        ("numeric", "1e"),
        ("date", "2024-13-01"),
        ("timestamp", "yesterday evening"),
        ("boolean", "maybe"),
    ],
)
def test_a_value_of_another_type_is_an_error(shop: Connection, type_name: str, value: str) -> None:
    saved = analyse(shop, "select :v", v=type_name)
    with pytest.raises(psycopg.Error) as error:
        run_canonical(shop, cast("str", saved["canonical"]), [type_name], [value])
    assert error.value.sqlstate in ("22P02", "22003", "22007", "22008", "PA412")


def test_an_integer_becomes_a_bigint_where_only_that_fits(shop: Connection) -> None:
    saved = analyse(shop, "select int8range(1, 5) @> :n", n="integer")
    assert saved["types"] == ["bigint"]
    assert analyse(shop, "select make_date(:y, 1, 1)", y="integer")["types"] == ["integer"]


def test_rows_and_cells_are_cut_and_it_is_said(asker: Connection) -> None:
    result = run(asker, "select i from generate_series(1, 1000000) i", row_limit=3)
    assert (result["rows"], result["truncated"]) == ([[1], [2], [3]], True)
    result = run(asker, "select i from generate_series(1, 3) i", row_limit=3)
    assert (result["rows"], result["truncated"]) == ([[1], [2], [3]], False)
    assert rows(asker, "select repeat('x', 11), repeat('x', 10)", cell_limit=10) == [
        ["x" * 10 + "…", "x" * 10]
    ]
    assert rows(asker, "select repeat('x', 20000000)", cell_limit=5) == [["xxxxx…"]]
    assert rows(asker, "select decode(repeat('ff', 5000000), 'hex')", cell_limit=6) == [
        ["\\xffff…"]
    ]


def test_a_result_that_is_too_large_as_a_whole_ends_early(asker: Connection) -> None:
    sql = "select repeat('x', 10000) a, repeat('y', 10000) b from generate_series(1, 5000) i"
    result = run(asker, sql, row_limit=5000)
    kept = cast("list[list[str]]", result["rows"])
    assert result["truncated"] is True
    assert 500 < len(kept) < 1100
    result = run(asker, sql.replace("5000", "300"), row_limit=5000)
    assert (len(cast("list[object]", result["rows"])), result["truncated"]) == (300, False)


@pytest.mark.parametrize(
    "sql",
    [
        "select count(*) from generate_series(1, 100000) a, generate_series(1, 100000) b",
        "select i from generate_series(1, 100000000) i order by md5(i::text)",
        "with recursive r(i) as (select 1 union all select i + 1 from r) select max(i) from r",
        "select count(*) from generate_series(1, 100000000) i where md5(i::text) ~ '(x|y)+z'",
    ],
)
def test_the_time_limit_truly_interrupts(asker: Connection, sql: str) -> None:
    canonical = cast("str", analyse(asker, sql)["canonical"])
    started = time.monotonic()
    with raises("PA404"):
        run_canonical(asker, canonical, milliseconds=300)
    assert time.monotonic() - started < 3
    assert asker.execute("select 1").fetchone() == (1,)


def test_the_time_limit_interrupts_a_sleep_that_was_allowed(shop: Connection) -> None:
    shop.execute("select pgask.set_setting('allowed_functions', 'pg_catalog.pg_sleep')")
    canonical = cast("str", analyse(shop, "select pg_sleep(20)")["canonical"])
    started = time.monotonic()
    with raises("PA404"):
        run_canonical(shop, canonical, milliseconds=200)
    assert time.monotonic() - started < 2


def test_the_users_own_cancel_is_no_time_limit(shop: Connection) -> None:
    canonical = cast(
        "str", analyse(shop, "select count(*) from generate_series(1, 1000000000) i")["canonical"]
    )
    timer = threading.Timer(0.3, shop.cancel)
    timer.start()
    with raises("57014"):
        run_canonical(shop, canonical, milliseconds=10000)
    timer.join()


def test_a_limit_that_strikes_at_the_very_end_harms_no_later_statement(shop: Connection) -> None:
    """The limit is swept over the moment at which the statement ends."""
    canonical = cast(
        "str", analyse(shop, "select count(*) from generate_series(1, 20000) i")["canonical"]
    )
    took = Decimal(cast("Decimal", run_canonical(shop, canonical)["milliseconds"]))
    outcomes: set[str] = set()
    for milliseconds in [*range(1, max(4, min(30, int(took * 2))))] * 6:
        try:
            run_canonical(shop, canonical, milliseconds=milliseconds)
            outcomes.add("done")
        except psycopg.Error as error:
            assert error.sqlstate == "PA404"  # noqa: PT017
            outcomes.add("stopped")
        assert shop.execute("select count(*) from generate_series(1, 1000)").fetchone() == (1000,)
    assert "done" in outcomes


def test_a_costly_plan_is_refused_before_it_runs(asker: Connection) -> None:
    sql = "select count(*) from generate_series(1, 1000000) a, generate_series(1, 1000000) b"
    canonical = cast("str", analyse(asker, sql)["canonical"])
    with raises("PA403"):
        run_canonical(asker, canonical, plan_cost=1000)
    cheap = cast("str", analyse(asker, "select 1")["canonical"])
    assert run_canonical(asker, cheap, plan_cost=1000)["rows"] == [[1]]


@pytest.mark.parametrize(
    "sql",
    [
        "select " + "(" * 20000 + "1" + ")" * 20000,
        "select " + "1 + " * 20000 + "1",
        "select " + "- " * 40000 + "1",
        "select " + "not " * 20000 + "true",
        "select '" + "x" * 200000 + "'",
        "select 1 in (" + "1, " * 30000 + "1)",
        "select " + "case when true then " * 8000 + "1" + " end" * 8000,
    ],
    ids=["parentheses", "sum", "signs", "nots", "long", "list", "cases"],
)
def test_deep_or_long_statements_leave_the_server_alive(asker: Connection, sql: str) -> None:
    pid = asker.info.backend_pid
    try:
        analyse(asker, sql)
    except psycopg.Error as error:
        assert error.sqlstate in ("PA401", "PA402")  # noqa: PT017
    assert asker.execute("select pg_backend_pid()").fetchone() == (pid,)


def test_a_fingerprint_notices_what_the_statement_reads_and_nothing_else(shop: Connection) -> None:
    shop.execute("create table shop.thing (id integer, name text, spent numeric)")
    sql = "select name, shop.double(id) from shop.thing where spent > 1"
    first = analyse(shop, sql)["fingerprint"]
    shop.execute("alter table shop.thing add column note text; create table shop.other (a int)")
    assert analyse(shop, sql)["fingerprint"] == first
    shop.execute("alter table shop.thing alter column spent type real")
    second = analyse(shop, sql)["fingerprint"]
    assert second != first
    whole = analyse(shop, "select t from shop.thing t")["fingerprint"]
    shop.execute("alter table shop.thing drop column note")
    assert analyse(shop, sql)["fingerprint"] == second
    assert analyse(shop, "select t from shop.thing t")["fingerprint"] != whole


def test_a_statement_cannot_be_analysed_where_nothing_can_be_written(asker: Connection) -> None:
    with raises("PA402"), asker.transaction():
        asker.execute("set transaction read only")
        analyse(asker, "select 1")


def test_a_saved_statement_runs_where_nothing_can_be_written(
    shop: Connection, pgask_database: str
) -> None:
    saved = analyse(shop, "select name from shop.customer order by id")
    shop.execute(
        "insert into pgask.nl_query (canonical_prompt, status, derived_sqls)"
        " values ('Names', 'system', %s)",
        [json.dumps([{"canonical": saved["canonical"], "types": saved["types"]}])],
    )
    with psycopg.connect(pgask_database, autocommit=True) as other, other.transaction():
        other.execute("set transaction read only")
        assert run_canonical(other, cast("str", saved["canonical"]))["rows"] == [["Ann"], ["Bob"]]
        with raises("PA401"), other.transaction():
            run_canonical(other, "SELECT 42")


def test_a_function_redefined_after_the_check_is_checked_again(
    shop: Connection, pgask_database: str
) -> None:
    canonical = cast("str", analyse(shop, "select shop.double(2)")["canonical"])
    shop.execute("alter function shop.double(integer) volatile")
    with psycopg.connect(pgask_database, autocommit=True) as other, raises("PA401"):
        run_canonical(other, canonical)


def test_a_statement_that_raises_the_code_of_the_block_gets_nowhere(shop: Connection) -> None:
    shop.execute(
        "create function shop.escape() returns integer language plpgsql stable as"
        " $$ begin raise exception 'out' using errcode = 'PA999'; end $$"
    )
    row = shop.execute("select pgask._run_read_only('SELECT shop.escape()')").fetchone()
    assert row == (None,)


def test_the_package_says_which_value_is_wrong_and_what_happened(shop: Connection) -> None:
    analyse(shop, "select 1")
    notices: list[str] = []
    shop.add_notice_handler(lambda notice: notices.append(notice.message_primary or ""))
    shop.execute("""
        do language plpython3u $$
        from pgask_server.database import DatabaseError
        from pgask_server.errors import PgaskError
        from pgask_server.statement.run import Limits, run
        for sql, types, values, limits in (
            ("SELECT $1, $2", ["integer", "date"], ["1", "2024-13-01"], None),
            ("SELECT $1", ["integer"], ["99999999999999999999"], None),
            ("SELECT $1", ["boolean"], ["maybe"], None),
            ("SELECT $1", ["text"], [chr(0)], None),
            ("SELECT 1", ["text"], [], None),
            ("SELECT 1 / 0", [], [], None),
            ("delete from shop.customer", [], [], None),
            ("SELECT shop.stable_liar()", [], [], None),
            ("SELECT count(*) FROM generate_series(1, 1000000000) g", [], [],
                Limits(milliseconds=50)),
            ("SELECT 1", [], [], Limits(plan_cost=0)),
            ("SELECT $1 + 0.10, $2, $3", ["integer", "date", "boolean"],
                ["4", "2024-01-02", "false"], None),
        ):
            try:
                plpy.info(run(GD["pgask"].db, sql, types, values, limits).rows)
            except (PgaskError, DatabaseError) as error:
                plpy.info(f"{error.sqlstate} {error.message}")
        $$
    """)
    assert notices == [
        "PA412 value 2 is not a valid date",
        "PA412 value 1 is not a valid integer",
        "PA412 a value is not a valid boolean",
        "PA412 a value holds a NUL character",
        "PA401 1 values are needed, 0 were given",
        "22012 division by zero",
        'PA402 the statement does not analyse: syntax error at or near "from"',
        "PA401 the statement tries to write",
        "PA404 the statement took longer than 0.05 seconds and was stopped",
        "PA403 The statement is too costly.",
        "[[Decimal('4.10'), '2024-01-02', False]]",
    ]


def test_a_function_of_ones_own_by_the_same_name_confuses_nothing(shop: Connection) -> None:
    shop.execute(
        "create function pg_temp.pgask_statement(text) returns setof record language sql"
        " begin atomic select 1; end;"
        "create function pg_temp.pgask_statement() returns setof record language sql"
        " begin atomic select 2; end"
    )
    assert "shop.customer" in str(analyse(shop, "select * from shop.customer")["canonical"])
    with raises("PA401"):
        analyse(shop, "select shop.write_one()")


def test_a_signal_from_outside_is_not_swallowed(shop: Connection) -> None:
    canonical = cast(
        "str", analyse(shop, "select count(*) from generate_series(1, 1000000000) i")["canonical"]
    )
    pid = shop.info.backend_pid
    try:
        os.kill(pid, 0)
    except OSError:
        pytest.skip("the server runs elsewhere")
    timer = threading.Timer(0.3, os.kill, [pid, signal.SIGINT])
    timer.start()
    with raises("57014"):
        run_canonical(shop, canonical)
    timer.join()
