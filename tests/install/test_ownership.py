"""What somebody else made under a name of pgask's: not adopted, changed, dropped or run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg
import pytest
from migrations.install import install, uninstall
from migrations.sqlfile import InstallError
from psycopg.conninfo import conninfo_to_dict

if TYPE_CHECKING:
    from collections.abc import Iterator

ASK = "create function public.ask(a text, b jsonb, c text) returns text return 'theirs'"


@pytest.fixture
def theirs(pgask_empty_database: str) -> Iterator[str]:
    """A role that is no superuser and may create schemas and functions in the database."""
    database = conninfo_to_dict(pgask_empty_database)["dbname"]
    role = f"owner_{database}"
    with psycopg.connect(pgask_empty_database, autocommit=True) as connection:
        connection.execute(f"create role {role}".encode())
        connection.execute(f"grant create on database {database} to {role}".encode())
        connection.execute(f"grant create on schema public to {role}".encode())
        yield role
        connection.execute(f"drop owned by {role} cascade".encode())
        connection.execute(f"drop role {role}".encode())


def run(url: str, *statements: str, role: str | None = None) -> list[tuple[object, ...]]:
    """Execute statements, as another role if one is given; the rows of the last."""
    with psycopg.connect(url) as connection:
        if role is not None:
            connection.execute(f"set role {role}".encode())
        for statement in statements[:-1]:
            connection.execute(statement.encode())
        cursor = connection.execute(statements[-1].encode())
        return cursor.fetchall() if cursor.description else []


def privileges(url: str, function: str) -> list[tuple[object, ...]]:
    return run(
        url,
        "select p.proowner::regrole::text, p.proacl::text, p.prosrc, pg_get_functiondef(p.oid)"
        f" from pg_proc p where p.oid = '{function}'::regprocedure",
    )


def test_an_ask_of_other_arguments_keeps_its_rights(pgask_empty_database: str) -> None:
    run(pgask_empty_database, "create function public.ask(n int) returns int return n")
    before = privileges(pgask_empty_database, "public.ask(int)")
    report = install(pgask_empty_database)
    assert privileges(pgask_empty_database, "public.ask(int)") == before
    assert not any("ask(integer)" in change for change in report.changes)
    uninstall(pgask_empty_database)
    assert privileges(pgask_empty_database, "public.ask(int)") == before
    assert uninstall(pgask_empty_database).changes == []


@pytest.mark.parametrize("as_superuser", [True, False])
def test_an_ask_that_somebody_else_made_is_not_replaced(
    pgask_empty_database: str, theirs: str, *, as_superuser: bool
) -> None:
    run(pgask_empty_database, ASK, role=None if as_superuser else theirs)
    before = privileges(pgask_empty_database, "public.ask(text, jsonb, text)")
    with pytest.raises(InstallError, match=r"public\.ask\(text, jsonb, text\)") as raised:
        install(pgask_empty_database)
    assert raised.value.hint is not None
    assert "alter function public.ask(text, jsonb, text) rename to" in raised.value.hint
    assert privileges(pgask_empty_database, "public.ask(text, jsonb, text)") == before
    assert uninstall(pgask_empty_database).changes == []
    assert privileges(pgask_empty_database, "public.ask(text, jsonb, text)") == before


def test_an_ask_that_took_the_place_of_pgasks_own_is_refused_and_outlives_it(
    pgask_empty_database: str,
) -> None:
    install(pgask_empty_database)
    run(pgask_empty_database, "drop function public.ask(text, jsonb, text)", ASK)
    with pytest.raises(InstallError, match="not pgask's"):
        install(pgask_empty_database)
    report = uninstall(pgask_empty_database)
    assert "dropped schema pgask" in report.changes
    assert "the function public.ask(text, jsonb, text) stays, since it is not pgask's" in (
        report.warnings
    )
    assert run(pgask_empty_database, "select public.ask('a', '{}', 'b')") == [("theirs",)]


def test_a_schema_that_an_ordinary_role_made_is_refused(
    pgask_empty_database: str, theirs: str
) -> None:
    run(
        pgask_empty_database,
        "create schema pgask",
        # Read as a superuser, this would run what it calls.
        "create view pgask.alembic_version as select (1 / 0)::text as version_num",
        role=theirs,
    )
    with pytest.raises(InstallError, match=theirs) as raised:
        install(pgask_empty_database)
    assert raised.value.hint == "Rename it: alter schema pgask rename to NAME."
    with pytest.raises(InstallError, match=theirs):
        uninstall(pgask_empty_database)
    assert run(pgask_empty_database, "select to_regclass('pgask.alembic_version') is null") == [
        (False,)
    ]


def test_a_superusers_schema_with_something_of_an_ordinary_role_in_it_is_refused(
    pgask_empty_database: str, theirs: str
) -> None:
    run(pgask_empty_database, "create schema pgask", f"grant create on schema pgask to {theirs}")
    run(
        pgask_empty_database,
        "create function pgask.version() returns text return '1'",
        role=theirs,
    )
    with pytest.raises(InstallError, match=rf"pgask\.version\(\) of {theirs}"):
        install(pgask_empty_database)


def test_a_schema_of_that_name_that_is_not_pgask_is_not_dropped(pgask_empty_database: str) -> None:
    run(pgask_empty_database, "create schema pgask", "create table pgask.mine (id int)")
    assert uninstall(pgask_empty_database).changes == []
    assert run(pgask_empty_database, "select count(*) from pgask.mine") == [(0,)]


def test_doctor_runs_no_function_of_an_ordinary_role(
    pgask_empty_database: str, theirs: str
) -> None:
    install(pgask_empty_database)
    run(pgask_empty_database, f"grant usage, create on schema pgask to {theirs}")
    run(
        pgask_empty_database,
        'create function pgask._doctor_x() returns table ("check" text, status text,'
        " detail text, hint text) language sql as"
        " $$ select 'x', 'ok', current_user::text, null $$",
        role=theirs,
    )
    checks = {row[0] for row in run(pgask_empty_database, "select * from pgask.doctor()")}
    assert "x" not in checks
    assert {"PostgreSQL", "package", "embedding model"} <= checks
