"""Ways past the checks of statements and of values, each of which was open once."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from unittest.mock import ANY

import pytest
from tests.db.test_statement import HERE, analyse, cases, raises, run_canonical

if TYPE_CHECKING:
    import psycopg
    from psycopg.rows import TupleRow

    Connection = psycopg.Connection[TupleRow]

REFUSED = list(cases("break_in_refused.sql"))

ALLOWED = [
    "select edi.plain()",
    "select edi.plain(3)",
    "select t.a, t.a + 1 from edi.tb t",
    "select array_agg(t.a), max(t.a) from edi.tb t",
    "select jsonb_populate_record(h, '{\"id\": 5}') from edi.harmless h",
    "select to_jsonb(s) from (select t.a from edi.tb t) s",
]


@pytest.fixture
def edi(connection: Connection) -> Connection:
    """The superuser, with the schema edi."""
    connection.execute((HERE / "break_in.sql").read_bytes())
    return connection


@pytest.mark.parametrize(("code", "what", "sql"), REFUSED, ids=[what for _, what, _ in REFUSED])
def test_a_function_that_hides_is_found(edi: Connection, code: str, what: str, sql: str) -> None:
    del what
    with raises(code):
        analyse(edi, sql)
    with raises(code):
        run_canonical(edi, sql)
    assert edi.execute("select count(*) from edi.written").fetchone() == (0,)


@pytest.mark.parametrize("sql", ALLOWED)
def test_what_runs_no_check_is_let_through(edi: Connection, sql: str) -> None:
    run_canonical(edi, str(analyse(edi, sql)["canonical"]))


@pytest.mark.parametrize(
    ("code", "call"),
    [
        ("PA401", "_run_read_only(null)"),
        ("PA401", "_run_read_only('SELECT 1', null)"),
        ("PA401", "_run_read_only('SELECT 1', arguments => null)"),
        ("PA401", "_run_read_only('SELECT 1', row_limit => null)"),
        ("PA401", "_run_read_only('SELECT 1', cell_limit => null)"),
        ("PA401", "_run_read_only('SELECT 1', milliseconds => null)"),
        ("PA401", "_run_read_only('SELECT 1', row_limit => -1)"),
        ("PA401", "_run_read_only('SELECT 1', cell_limit => 0)"),
        ("PA401", "_run_read_only('SELECT $1', '{text}', '{}', plan_cost => 10)"),
        ("PA401", "_run_read_only('SELECT 1', '{{text},{text}}', '{{a},{b}}')"),
        ("PA402", "_run_read_only('SELECT $1', array[null], '{a}')"),
        ("PA402", "_run_read_only('SELECT $1', '{no_such_type}', '{a}')"),
        ("PA402", "_admit_statement(null, '{}')"),
        ("PA402", "_admit_statement('SELECT $1', null)"),
        ("PA401", "_execute_statement(null, '{}', '{}', 1, 1, 1)"),
        ("PA401", "_execute_statement('SELECT 1', '{}', '{}', null, 1, 1)"),
        ("PA401", "_check_plan_cost('SELECT 1', '{}', '{}', 1, null)"),
        ("PA401", "_check_plan_cost('SELECT 1', '{}', null, 1, 1)"),
        ("PA402", "_inspect_statement(null, '{}', '')"),
        ("PA402", "_inspect_statement('SELECT 1', null, '')"),
        ("PA412", "_check_value('1', null)"),
        ("PA412", "_check_value('1', 'no_such_type')"),
    ],
)
def test_an_argument_that_is_absent_or_senseless_is_named(
    connection: Connection, code: str, call: str
) -> None:
    with raises(code) as caught:
        connection.execute(f"select pgask.{call}")  # type: ignore[arg-type]
    assert "Traceback" not in str(caught.value.diag.message_primary)
    assert "plpy" not in str(caught.value.diag.message_primary)


def test_an_absent_value_is_no_value_of_any_type(connection: Connection) -> None:
    assert run_canonical(connection, "SELECT $1 AS x", ["integer"], [None])["rows"] == [[None]]
    connection.execute("select pgask._check_value(null, 'integer')")


def test_a_temporary_function_of_the_session_is_not_in_the_way(connection: Connection) -> None:
    connection.execute(
        "create function pg_temp.pgask_statement() returns integer language sql as 'select 1'"
    )
    assert str(analyse(connection, "select 7 as x")["canonical"]).strip() == "SELECT 7 AS x"


def package(connection: Connection, code: str) -> list[object]:
    """What `code` hands to note(), run inside the server with `db` at hand."""
    analyse(connection, "select 1")
    notices: list[str] = []

    def keep(notice: psycopg.errors.Diagnostic) -> None:
        notices.append(notice.message_primary or "")

    connection.add_notice_handler(keep)
    head = (
        "import json\n"
        "from pgask_server.database import DatabaseError\n"
        "from pgask_server.errors import PgaskError\n"
        "db = GD['pgask'].db\n"
        "def note(make):\n"
        "    try:\n"
        "        plpy.info(json.dumps(make(), default=str))\n"
        "    except (PgaskError, DatabaseError) as error:\n"
        "        plpy.info(json.dumps([error.sqlstate, error.message, error.detail]))\n"
    )
    try:
        connection.execute(
            f"do language plpython3u $do$\n{head}{code}\n$do$"  # type: ignore[arg-type]
        )
    finally:
        connection.remove_notice_handler(keep)
    return [json.loads(notice) for notice in notices]


def test_a_number_beyond_integer_is_run_as_bigint(connection: Connection) -> None:
    assert package(
        connection,
        """
from pgask_server.statement.run import run
note(lambda: run(db, "SELECT count(*) FROM generate_series(1, 3) i(i) WHERE i.i < $1",
    ["integer"], ["3000000000"]).rows)
note(lambda: run(db, "SELECT $1, $2 + 1", ["text", "integer"], ["a", "-3000000000"]).rows)
note(lambda: run(db, "SELECT $1 + $2", ["integer", "integer"], ["1", "3000000000"]).rows)
""",
    ) == [[[3]], [["a", -2999999999]], [[3000000001]]]


def test_a_number_that_the_statement_cannot_take_is_named(connection: Connection) -> None:
    assert package(
        connection,
        """
from pgask_server.statement.run import ValueOutOfRange, run
def position():
    try:
        run(db, "SELECT make_date($1, $2, 1)", ["integer", "integer"], ["2024", "3000000000"])
    except ValueOutOfRange as error:
        return error.position
note(position)
note(lambda: run(db, "SELECT make_date($1, $2, 1)", ["integer", "integer"],
    ["2024", "3000000000"]))
note(lambda: run(db, "SELECT ($1)::smallint", ["integer"], ["3000000000"]))
note(lambda: run(db, "SELECT $1", ["integer"], ["99999999999999999999"]))
note(lambda: run(db, "SELECT pg_sleep($1)", ["integer"], ["3000000000"]))
""",
    ) == [
        2,
        ["PA412", "value 2 is not a valid integer", "3000000000 is out of its range."],
        ["PA412", "value 1 is not a valid integer", "3000000000 is out of its range."],
        [
            "PA412",
            "value 1 is not a valid integer",
            "99999999999999999999 is out of its range.",
        ],
        [
            "PA401",
            "the statement calls pg_sleep(), which is not allowed",
            ANY,
        ],
    ]


def test_today_does_not_depend_on_how_dates_are_shown(connection: Connection) -> None:
    for style in ("ISO, DMY", "German", "SQL, MDY", "Postgres, DMY"):
        connection.execute(f"set datestyle = '{style}'")  # type: ignore[arg-type]
        code = "from pgask_server.question.bind import current_date\nnote(lambda: current_date(db))"
        row = connection.execute("select to_char(current_date, 'YYYY-MM-DD')").fetchone()
        assert row is not None
        assert package(connection, code) == [row[0]]


def test_a_pattern_is_matched_by_the_database_and_takes_no_time(connection: Connection) -> None:
    connection.execute("set statement_timeout = '5s'")
    assert package(
        connection,
        r"""
from pgask_server.question.bind import bind
from pgask_server.question.parameter import check_value, parse_parameters
from pgask_server.question.pattern import pattern_matcher
matches = pattern_matcher(db)
evil, code = parse_parameters([{"name": "evil", "pattern": "(a|aa)+b"},
    {"name": "code", "pattern": "[A-Z]{2}-\\d+|x"}], matches=matches)
note(lambda: check_value(evil, "a" * 4000, matches))
note(lambda: check_value(evil, "aaab", matches))
note(lambda: check_value(code, "AB-12", matches))
note(lambda: check_value(code, "AB-12x", matches))
note(lambda: check_value(code, "AB-1\n", matches))
note(lambda: bind(db, [evil], "what of " + "a" * 3000 + " aab?").values)
note(lambda: bind(db, [code], "what about order AB-1234?").values)
note(lambda: bind(db, [code], "what about order 1234?").missing)
note(lambda: parse_parameters([{"name": "n", "pattern": "("}], matches=matches))
note(lambda: parse_parameters([{"name": "n", "pattern": "a)|(?:b"}], matches=matches))
note(lambda: parse_parameters([{"name": "n", "pattern": "***=a"}], matches=matches))
note(lambda: parse_parameters([{"name": "n", "pattern": "(a*)*\\1"}], matches=matches))
note(lambda: parse_parameters([{"name": "n", "pattern": "x" * 1001}], matches=matches))
""",
    ) == [
        ["PA412", f'"{"a" * 59}…" is not a value of parameter "evil"', "It has the form (a|aa)+b."],
        "aaab",
        "AB-12",
        [
            "PA412",
            '"AB-12x" is not a value of parameter "code"',
            "It has the form [A-Z]{2}-\\d+|x.",
        ],
        [
            "PA412",
            '"AB-1\n" is not a value of parameter "code"',
            "It has the form [A-Z]{2}-\\d+|x.",
        ],
        {"evil": "aab"},
        {"code": "AB-1234"},
        ["code"],
        [
            "PA411",
            'parameter "n": the pattern is not a regular expression',
            "parentheses () not balanced",
        ],
        [
            "PA411",
            'parameter "n": the pattern is not a regular expression',
            "parentheses () not balanced",
        ],
        [
            "PA411",
            'parameter "n": the pattern is not a regular expression',
            "quantifier operand invalid",
        ],
        ["PA411", 'parameter "n": the pattern refers back to a part of itself', None],
        ["PA411", 'parameter "n": the pattern is longer than 1000 characters', None],
    ]
