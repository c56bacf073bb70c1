"""Whose the objects are that pgask's names stand for: nobody's are adopted, replaced or dropped.

The installer runs as a superuser, and superusers call what it leaves behind. An object that
somebody else made before, and still owns, would be his code run with their rights.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from migrations.sqlfile import InstallError
from psycopg.rows import scalar_row

if TYPE_CHECKING:
    import psycopg

ASK = "public.ask(text, jsonb, text)"
"""The one object of pgask outside its schema."""

OUR_ASK = f"""
    p.oid = pg_catalog.to_regprocedure('{ASK}')
        and p.prolang = (select l.oid from pg_catalog.pg_language l where l.lanname = 'plpython3u')
        and pg_catalog.strpos(p.prosrc, 'GD["pgask"]') > 0
"""
"""The condition on pg_proc p under which it is that object, and not one of the same name."""


def is_installed(connection: psycopg.Connection) -> bool:
    """Whether the database holds a pgask. Raises InstallError for a schema of somebody else's."""
    _refuse_schema(connection)
    return _values(connection, "select to_regclass('pgask.installation') is not null") == [True]


def refuse_foreign(connection: psycopg.Connection) -> None:
    """Raise InstallError where a schema pgask or a function ask() is there that is not pgask's."""
    installed = is_installed(connection)
    found = _values(connection, _ASK_IS_OURS)
    if found and not (installed and found == [True]):
        raise InstallError(
            f"There is a function {ASK} that is not pgask's.",
            f"Rename it: alter function {ASK} rename to NAME. If an earlier pgask left it behind, "
            f"drop it: drop function {ASK}.",
        )


def drop_ask(connection: psycopg.Connection) -> str | None:
    """Drop pgask's ask(); give a warning where the function of that name is somebody else's."""
    found = _values(connection, _ASK_IS_OURS)
    if found == [True]:
        connection.execute(f"drop function {ASK}".encode())
    return f"the function {ASK} stays, since it is not pgask's" if found == [False] else None


def _refuse_schema(connection: psycopg.Connection) -> None:
    owners = _values(connection, _FOREIGN_SCHEMA)
    if owners:
        raise InstallError(
            f"There is a schema pgask that belongs to {owners[0]}, who is not a superuser.",
            "Rename it: alter schema pgask rename to NAME.",
        )
    foreign = _values(connection, _FOREIGN_OBJECTS)
    if foreign:
        raise InstallError(
            "The schema pgask holds objects of roles that are not superusers: "
            + ", ".join(str(name) for name in foreign),
            "Move or drop what is not part of pgask; if pgask was installed by a role that was a "
            "superuser then, give it to one that is: reassign owned by OLD to NEW.",
        )


def _values(connection: psycopg.Connection, query: str) -> list[object]:
    with connection.cursor(row_factory=scalar_row) as cursor:
        return list(cursor.execute(query.encode()).fetchall())


_FOREIGN_SCHEMA = """
    select r.rolname::text
    from pg_catalog.pg_namespace n join pg_catalog.pg_roles r on r.oid = n.nspowner
    where n.nspname = 'pgask' and not r.rolsuper
"""

_FOREIGN_OBJECTS = """
    select o.name || ' of ' || pg_catalog.quote_ident(r.rolname)
    from (
        select p.oid::pg_catalog.regprocedure::text as name, p.proowner as owner
        from pg_catalog.pg_proc p
        where p.pronamespace = pg_catalog.to_regnamespace('pgask')
        union all
        select c.oid::pg_catalog.regclass::text, c.relowner
        from pg_catalog.pg_class c
        where c.relnamespace = pg_catalog.to_regnamespace('pgask')
            and c.relkind in ('r', 'p', 'v', 'm', 'f', 'S')
    ) o
    join pg_catalog.pg_roles r on r.oid = o.owner
    where not r.rolsuper
    order by 1
"""

_ASK_IS_OURS = f"""
    select coalesce({OUR_ASK} and r.rolsuper, false)
    from pg_catalog.pg_proc p join pg_catalog.pg_roles r on r.oid = p.proowner
    where p.oid = pg_catalog.to_regprocedure('{ASK}')
"""
