"""The package is loaded from where the owner says; settings are checked and keys are kept."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from psycopg.rows import TupleRow

import pgask_server

Connection = psycopg.Connection[TupleRow]

# As on a server that was started without PYTHONPATH.
HIDE_THE_PACKAGE = """
    do language plpython3u $$
        import importlib.util, os, sys
        origin = importlib.util.find_spec("pgask_server").origin
        sys.path.remove(os.path.dirname(os.path.dirname(origin)))
    $$
"""

WHERE_THE_PACKAGE_IS = """
    create function pg_temp.where_it_is() returns text language plpython3u as $$
        import importlib.util, os
        return os.path.dirname(os.path.dirname(importlib.util.find_spec("pgask_server").origin))
    $$;
    select pg_temp.where_it_is()
"""

# Where the stored path, the standard library and the distribution's packages are searched.
ORDER_OF_SEARCH = """
    create function pg_temp.order_of_search() returns int[] language plpython3u as $$
        import os, sys, pgask_server
        place = os.path.dirname(os.path.dirname(pgask_server.__file__))
        return [
            sys.path.index(place),
            sys.path.index(os.path.dirname(os.__file__)),
            next(i for i, p in enumerate(sys.path) if p.endswith("dist-packages")),
        ]
    $$;
    select pg_temp.order_of_search()
"""


def value(connection: Connection, query: str) -> Any:
    cursor = connection.execute(query.encode())
    while cursor.nextset():
        pass
    row = cursor.fetchone()
    assert row is not None
    return row[0]


def store_path(connection: Connection, path: str) -> None:
    connection.execute(
        "insert into pgask.setting (name, value) values ('package_path', %s)", [path]
    )


def test_the_package_is_loaded_from_the_stored_path(connection: Connection) -> None:
    elsewhere = value(connection, WHERE_THE_PACKAGE_IS)
    connection.execute(HIDE_THE_PACKAGE)
    store_path(connection, str(elsewhere))
    connection.execute("select pgask._boot()")
    place, stdlib, others = value(connection, ORDER_OF_SEARCH)
    assert stdlib < place < others


def test_without_the_package_the_error_says_where_it_looked(connection: Connection) -> None:
    connection.execute(HIDE_THE_PACKAGE)
    with pytest.raises(psycopg.Error) as raised:
        connection.execute("select pgask._boot()")
    assert raised.value.sqlstate == "PA001"
    assert raised.value.diag.message_detail is not None
    assert "the server's PYTHONPATH" in raised.value.diag.message_detail
    store_path(connection, "/nowhere/at/all")
    with pytest.raises(psycopg.Error) as raised:
        connection.execute("select pgask._boot()")
    assert raised.value.diag.message_detail is not None
    assert "Looked in /nowhere/at/all." in raised.value.diag.message_detail
    assert "does not exist" in raised.value.diag.message_detail
    assert raised.value.diag.message_hint is not None
    assert "--package-path" in raised.value.diag.message_hint


def test_a_setting_in_the_session_does_not_choose_the_package(connection: Connection) -> None:
    connection.execute(HIDE_THE_PACKAGE)
    connection.execute("set pgask.package_path = '/tmp'")
    with pytest.raises(psycopg.Error, match="cannot load the package"):
        connection.execute("select pgask._boot()")


def test_a_package_of_another_version_is_refused(connection: Connection) -> None:
    connection.execute("update pgask.installation set version = '0.0.1'")
    with pytest.raises(psycopg.Error) as raised:
        connection.execute("select pgask._get_setting('row_limit')")
    assert raised.value.sqlstate == "PA001"
    assert f"is version {pgask_server.__version__}" in str(raised.value)
    assert raised.value.diag.message_hint is not None
    assert "make migrate" in raised.value.diag.message_hint


def test_the_version_is_that_of_the_package(connection: Connection) -> None:
    assert value(connection, "select pgask.version()") == pgask_server.__version__


def test_a_setting_is_stored_used_and_forgotten(connection: Connection) -> None:
    assert value(connection, "select pgask._get_setting('row_limit')") == "1000"
    connection.execute("select pgask.set_setting('row_limit', ' 50 ')")
    assert value(connection, "select pgask._get_setting('row_limit')") == "50"
    connection.execute("select pgask.set_setting('row_limit', null)")
    assert value(connection, "select pgask._get_setting('row_limit')") == "1000"
    rows = "select count(*) from pgask.setting s where s.name = 'row_limit'"
    assert value(connection, rows) == 0


@pytest.mark.parametrize(
    ("name", "wrong", "hint"),
    [
        ("row_limt", "5", "Did you mean row_limit?"),
        ("row_limit", "0", "A whole number from 1 to 1000000"),
        ("row_limit", "five", "A whole number from 1 to 1000000"),
        ("match_threshold", "1.5", "A number from 0 to 1"),
        ("embedding_model", "all-MiniLM-L6-v2", "local/NAME"),
        ("embedding_model", "local/../../etc", "local/NAME"),
        ("chat_base_url", "ftp://example.com", "http://"),
        ("chat_base_url", "https://me:secret@example.com/v1", "_api_key"),
        ("model_directory", "models", "An absolute path"),
        ("model_directory", "/nowhere/at/all", "no directory"),
        ("index_build_memory", "lots", "512MB"),
        ("allowed_functions", "now", "schema.function"),
        ("chat_api_key", "two words", "A key is printable ASCII"),
    ],
)
def test_a_wrong_setting_is_refused_with_what_is_right(
    connection: Connection, name: str, wrong: str, hint: str
) -> None:
    with pytest.raises(psycopg.Error) as raised:
        connection.execute("select pgask.set_setting(%s, %s)", [name, wrong])
    assert raised.value.sqlstate == "PA002"
    assert raised.value.diag.message_hint is not None
    assert hint in raised.value.diag.message_hint
    if name.endswith("_key"):
        assert wrong not in str(raised.value)


def test_a_key_is_read_by_workers_and_the_owner_only(connection: Connection) -> None:
    connection.execute("select pgask.set_setting('embedding_api_key', 'sk-secret')")
    assert value(connection, "select pgask._secret('embedding_api_key')") == "sk-secret"
    with pytest.raises(psycopg.Error, match="is a secret"):
        connection.execute("select pgask._get_setting('embedding_api_key')")
    assert "secret" not in str(value(connection, "select pgask._settings()"))
    connection.execute("set role pgask_worker")
    assert value(connection, "select pgask._secret('embedding_api_key')") == "sk-secret"
    for role in ("pgask_reader", "pgask_editor", "pgask_admin"):
        connection.execute(f"set role {role}")
        for query in (
            "select pgask._secret('embedding_api_key')",
            "select * from pgask.setting",
            "select pgask.set_setting('row_limit', '1')",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(query)


def test_an_asker_reads_a_setting_without_a_right_on_the_table(connection: Connection) -> None:
    connection.execute("set role pgask_reader")
    assert value(connection, "select pgask._get_setting('row_limit')") == "1000"


def test_an_error_of_the_database_keeps_its_sqlstate(connection: Connection) -> None:
    connection.execute("grant execute on function pgask.set_setting to pgask_reader")
    connection.execute("set role pgask_reader")
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="setting"):
        connection.execute("select pgask.set_setting('row_limit', '1')")


def test_doctor_finds_nothing_wrong_here_and_says_what_it_looked_at(
    connection: Connection,
) -> None:
    rows = connection.execute('select d."check", d.status from pgask.doctor() d').fetchall()
    checks = dict(rows)
    assert {"PostgreSQL", "extension vector", "package", "row-level security"} <= checks.keys()
    assert "error" not in checks.values()


def test_doctor_goes_on_where_a_check_fails(connection: Connection) -> None:
    connection.execute("update pgask.installation set version = '0.0.1'")
    rows = connection.execute(
        "select d.\"check\", d.hint from pgask.doctor() d where d.status = 'error'"
    ).fetchall()
    assert [name for name, _ in rows if name == "package"] == ["package"]
    assert "make migrate" in str(rows[0][1])
