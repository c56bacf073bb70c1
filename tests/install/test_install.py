"""The installer: all or nothing, any number at once, again without a change, away and back."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest
from migrations import catalog
from migrations.install import ROOT, install, uninstall
from migrations.sqlfile import InstallError
from psycopg.conninfo import conninfo_to_dict, make_conninfo

if TYPE_CHECKING:
    from collections.abc import Iterator


def objects(url: str) -> catalog.Catalog:
    with psycopg.connect(url) as connection:
        return catalog.describe(connection)


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(ROOT / "migrations" / "install.py"), *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def stages(tmp_path: Path) -> Path:
    """A copy of sql/ that a test may break."""
    return Path(shutil.copytree(ROOT / "sql", tmp_path / "sql"))


@pytest.fixture
def shop(pgask_empty_database: str) -> str:
    """An application's database, without pgask."""
    with psycopg.connect(pgask_empty_database) as connection:
        connection.execute("create schema shop")
        connection.execute(
            "create table shop.note (id int primary key, body text, kind text default 'plain')"
        )
        connection.execute("insert into shop.note values (1, 'A desk'), (2, 'A chair')")
    return pgask_empty_database


@pytest.fixture
def plain_role(pgask_empty_database: str) -> Iterator[str]:
    """The URL of the empty database for a role that is no superuser."""
    parameters = conninfo_to_dict(pgask_empty_database)
    role = f"plain_{parameters['dbname']}"
    with psycopg.connect(pgask_empty_database, autocommit=True) as connection:
        connection.execute(f"create role {role} login password 'plain'".encode())
        yield make_conninfo(pgask_empty_database, user=role, password="plain")
        connection.execute(f"drop role {role}".encode())


def test_a_new_database_gets_everything_and_a_second_install_changes_nothing(
    pgask_empty_database: str,
) -> None:
    first = install(pgask_empty_database)
    before = objects(pgask_empty_database)
    rows = data(pgask_empty_database)
    second = install(pgask_empty_database)
    assert "created schema pgask" in first.changes
    assert second.changes == []
    assert str(second) == f"pgask {second.version}: nothing to do"
    assert objects(pgask_empty_database) == before
    assert data(pgask_empty_database) == rows


def data(url: str) -> dict[str, list[str]]:
    """Every row of every table of pgask, with its place: an update would move it."""
    with psycopg.connect(url) as connection:
        tables = connection.execute(
            "select c.oid::regclass::text from pg_class c"
            " where c.relnamespace = 'pgask'::regnamespace and c.relkind = 'r' order by 1"
        ).fetchall()
        return {
            name: [
                str(row)
                for row in connection.execute(
                    f"select t.ctid, t::text from {name} t order by t.ctid".encode()
                )
            ]
            for (name,) in tables
        }


def test_a_broken_file_leaves_nothing_behind(shop: str, stages: Path) -> None:
    (stages / "70_broken.sql").write_text(
        "-- a comment with 'quotes', % and :names\n\nselect 1;\nselect nothing_here();\n"
    )
    with pytest.raises(InstallError, match=r"70_broken\.sql, line 4: .*nothing_here"):
        install(shop, sql_directory=stages)
    assert objects(shop) == {}


def test_a_broken_file_leaves_an_installed_database_as_it_was(
    pgask_database: str, stages: Path
) -> None:
    before = objects(pgask_database)
    (stages / "05_new.sql").write_text("create function pgask._new() returns int return 1;")
    (stages / "70_broken.sql").write_text("create table")
    with pytest.raises(InstallError, match=r"70_broken\.sql"):
        install(pgask_database, sql_directory=stages)
    assert objects(pgask_database) == before


def test_ten_installs_at_once_all_succeed(pgask_empty_database: str) -> None:
    with ThreadPoolExecutor(10) as pool:
        reports = list(pool.map(install, [pgask_empty_database] * 10))
    assert sorted(bool(report.changes) for report in reports) == [False] * 9 + [True]


def test_a_function_that_no_file_creates_any_more_is_an_error(
    pgask_database: str,
) -> None:
    with psycopg.connect(pgask_database) as connection:
        connection.execute("create function pgask.search(text) returns int return 1")
    with pytest.raises(InstallError, match=r"pgask\.search\(text\)") as raised:
        install(pgask_database)
    assert raised.value.hint is not None
    assert "Drop it in a new revision" in raised.value.hint


def test_a_view_that_no_file_creates_any_more_is_an_error(pgask_database: str) -> None:
    with psycopg.connect(pgask_database) as connection:
        connection.execute("create view pgask.old_status as select 1 as one")
    with pytest.raises(InstallError, match=r"pgask\.old_status"):
        install(pgask_database)


def test_a_changed_function_is_put_right_and_named(pgask_database: str) -> None:
    before = objects(pgask_database)
    with psycopg.connect(pgask_database) as connection:
        connection.execute(
            "create or replace function pgask.version() returns text return 'changed by hand'"
        )
    assert install(pgask_database).changes == ["changed function pgask.version()"]
    assert objects(pgask_database) == before


def test_settings_of_roles_and_databases_do_not_change_what_is_installed(
    pgask_empty_database: str, pgask_database: str
) -> None:
    name = conninfo_to_dict(pgask_empty_database)["dbname"]
    with psycopg.connect(pgask_empty_database) as connection:
        connection.execute("create schema evil")
        connection.execute(
            "create function evil.now() returns timestamptz return '-infinity'::timestamptz"
        )
        for setting in (
            "search_path = evil, pg_catalog, public",
            "statement_timeout = '1ms'",
            "default_transaction_isolation = 'serializable'",
            "standard_conforming_strings = on",
            "check_function_bodies = off",
            "datestyle = 'German, DMY'",
        ):
            connection.execute(f"alter database {name} set {setting}".encode())
    install(pgask_empty_database)
    with psycopg.connect(pgask_database, autocommit=True) as connection:
        connection.execute(f"alter database {name} reset all".encode())
    assert objects(pgask_empty_database) == objects(pgask_database)


def test_extensions_are_found_in_whatever_schema_they_are(
    pgask_empty_database: str,
) -> None:
    with psycopg.connect(pgask_empty_database) as connection:
        connection.execute('create schema "My Extensions"')
        connection.execute('create extension vector schema "My Extensions"')
        connection.execute('create extension pg_trgm schema "My Extensions"')
    report = install(pgask_empty_database)
    assert "extension plpython3u created" in report.changes
    assert "extension vector created" not in report.changes


def test_down_and_up_again_leaves_the_tables_of_the_application_alone(shop: str) -> None:
    install(shop)
    tables = application(shop)
    with psycopg.connect(shop, autocommit=True) as connection:
        register(connection)
    report = uninstall(shop)
    assert "dropped schema pgask" in report.changes
    assert objects(shop) == {}
    assert application(shop) == tables
    with psycopg.connect(shop) as connection:
        connection.execute("insert into shop.note values (3, 'A lamp')")
    install(shop)
    with psycopg.connect(shop, autocommit=True) as connection:
        register(connection)
    assert uninstall(shop).changes
    assert uninstall(shop).changes == []


def test_uninstalling_names_what_goes_with_it(shop: str) -> None:
    install(shop)
    with psycopg.connect(shop, autocommit=True) as connection:
        register(connection)
        connection.execute("create view shop.chunk as select e.chunk_text from pgask.embedding e")
        connection.execute("create view shop.version as select pgask.version() as version")
    gone = [warning for warning in uninstall(shop).warnings if "role" not in warning]
    assert gone == [
        "gone too, since it used pgask: view shop.chunk",
        "gone too, since it used pgask: view shop.version",
    ]


def application(url: str) -> list[object]:
    """The tables of the schema shop with their rows and triggers."""
    with psycopg.connect(url) as connection:
        return [
            connection.execute("select n.*, n.xmin, n.ctid from shop.note n").fetchall(),
            connection.execute(
                "select t.tgname from pg_trigger t"
                " where t.tgrelid = 'shop.note'::regclass and not t.tgisinternal"
            ).fetchall(),
            connection.execute(
                "select a.attname, a.atttypid, d.adbin from pg_attribute a left join pg_attrdef d"
                " on d.adrelid = a.attrelid and d.adnum = a.attnum"
                " where a.attrelid = 'shop.note'::regclass and a.attnum > 0 order by a.attnum"
            ).fetchall(),
        ]


def register(connection: psycopg.Connection) -> None:
    connection.execute(
        "select pgask.register_source('shop.note', '{{body}}', filter_columns => '{kind}')"
    )
    connection.execute("call pgask.work()")


def test_a_dump_restores_into_a_new_database_and_works_on(
    shop: str, pgask_database: str, tmp_path: Path
) -> None:
    install(shop)
    with psycopg.connect(shop, autocommit=True) as connection:
        register(connection)
    before = objects(shop)
    dump = tmp_path / "dump"
    restored = make_conninfo(shop, dbname=f"{conninfo_to_dict(shop)['dbname']}_restored")
    with psycopg.connect(pgask_database, autocommit=True) as connection:
        major = connection.info.server_version // 10000
        place = Path(f"/usr/lib/postgresql/{major}/bin")
        name = conninfo_to_dict(restored)["dbname"]
        connection.execute(f"create database {name} template template0".encode())
        try:
            programs = {
                program: str(place / program) if place.is_dir() else program
                for program in ("pg_dump", "pg_restore")
            }
            subprocess.run([programs["pg_dump"], "-Fc", "-f", str(dump), "-d", shop], check=True)
            subprocess.run(
                [programs["pg_restore"], "--exit-on-error", "-d", restored, str(dump)], check=True
            )
            assert objects(restored) == before
            works_on(restored)
            assert install(restored).changes == []
        finally:
            connection.execute(f"drop database {name} with (force)".encode())


def works_on(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        found = connection.execute(
            "select s.chunk_text from pgask.search('something to sit on', k => 1) s"
        ).fetchall()
        assert found == [("A chair",)]
        connection.execute("update shop.note set body = 'A sofa' where id = 1")
        pending = connection.execute("select q.pending from pgask.queue_status q").fetchall()
        assert pending == [(1,)]
        connection.execute("call pgask.work()")
        found = connection.execute(
            "select s.chunk_text from pgask.search('a couch', k => 1) s"
        ).fetchall()
        assert found == [("A sofa",)]


@pytest.mark.parametrize(
    "change",
    [
        "update pgask.installation set version = '99.1.0'",
        "update pgask.alembic_version set version_num = '9999'",
    ],
)
def test_a_database_of_a_newer_version_is_refused(pgask_database: str, change: str) -> None:
    with psycopg.connect(pgask_database) as connection:
        connection.execute(change.encode())
    before = objects(pgask_database)
    with pytest.raises(InstallError, match="newer than this clone") as raised:
        install(pgask_database)
    assert raised.value.hint is not None
    assert "git pull" in raised.value.hint
    assert objects(pgask_database) == before


def test_who_is_no_superuser_is_told_so(plain_role: str) -> None:
    with pytest.raises(InstallError, match="is not a superuser") as raised:
        install(plain_role)
    assert raised.value.hint is not None
    assert "DATABASE_URL=" in raised.value.hint


def test_a_server_that_does_not_answer_is_told_in_words() -> None:
    done = run("--dsn", "postgresql://nobody:s3cret@127.0.0.1:1/none?connect_timeout=2")
    assert done.returncode == 1
    assert done.stderr.startswith("Cannot connect to the database")
    assert "Traceback" not in done.stderr
    assert "s3cret" not in done.stderr


def test_a_wrong_package_path_is_told(pgask_empty_database: str, tmp_path: Path) -> None:
    with pytest.raises(InstallError, match="package_path is not valid") as raised:
        install(pgask_empty_database, package_path=tmp_path / "missing")
    assert str(tmp_path / "missing") in raised.value.message
    assert raised.value.hint == "The server finds no directory there that it may read."
    assert objects(pgask_empty_database) == {}


def test_env_becomes_settings_and_a_key_is_not_echoed(pgask_database: str) -> None:
    environment = {
        "PGASK_CHAT_MODEL": "openai/gpt-4.1-mini",
        "PGASK_CHAT_BASE_URL": "https://models.example.com/v1",
        "PGASK_CHAT_API_KEY": "sk-very-secret",
    }
    report = install(pgask_database, environment=environment)
    assert report.changes == [
        "setting chat_api_key",
        "setting chat_base_url = https://models.example.com/v1",
        "setting chat_model = openai/gpt-4.1-mini",
    ]
    assert install(pgask_database, environment=environment).changes == []
    with pytest.raises(InstallError) as raised:
        install(pgask_database, environment={"PGASK_CHAT_API_KEY": "sk very secret"})
    assert "very" not in str(raised.value)


def test_an_install_of_another_database_at_the_same_time_shares_the_roles(
    pgask_empty_database: str, shop: str
) -> None:
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(install, [pgask_empty_database, shop]))
    assert objects(shop) == objects(pgask_empty_database)
