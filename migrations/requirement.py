"""What must be there before pgask can be installed: the server, extensions, roles."""

from __future__ import annotations

import psycopg
from migrations.sqlfile import InstallError
from psycopg import sql
from psycopg.rows import scalar_row

GROUP_ROLES = ("pgask_reader", "pgask_editor", "pgask_admin", "pgask_worker")
MEMBERSHIPS = (("pgask_reader", "pgask_editor"), ("pgask_editor", "pgask_admin"))
"""(role, member): an editor may do what a reader may, an administrator what an editor may."""

EXTENSIONS = {
    "vector": ("0.8", "pgvector 0.8 or later: Debian's package postgresql-{major}-pgvector"),
    "plpython3u": ("1.0", "PL/Python: Debian's package postgresql-plpython3-{major}"),
    "pg_trgm": ("1.6", "pg_trgm, part of PostgreSQL: Debian's package postgresql-{major}"),
}
"""Name: the least version, and what to install where the server does not have it."""


def check_server(connection: psycopg.Connection) -> list[str]:
    """Refuse a server or a user with which it cannot work; give warnings for what is untried."""
    major = connection.info.server_version // 10000
    if major < 15:
        raise InstallError(
            f"The server is PostgreSQL {major}; pgask needs 15 or later.",
            "Upgrade the server; 15, 16 and 17 are tested.",
        )
    if _ask(connection, "select current_setting('transaction_read_only') = 'on'"):
        raise InstallError(
            "The server is a standby or read-only; nothing can be installed here.",
            "Connect to the primary: what is installed there is replicated.",
        )
    if not _ask(
        connection, "select r.rolsuper from pg_catalog.pg_roles r where r.rolname = current_user"
    ):
        raise InstallError(
            f"The user {connection.info.user} is not a superuser.",
            "PL/Python functions can be created by superusers only. Connect as one, for "
            "example: make migrate DATABASE_URL=postgresql://postgres@HOST/DATABASE",
        )
    encoding = _ask(connection, "select pg_catalog.current_setting('server_encoding')")
    if encoding != "UTF8":
        raise InstallError(
            f"The database is encoded in {encoding}; pgask needs UTF8.",
            "Create a database with: create database NAME encoding 'UTF8' template template0",
        )
    return [f"PostgreSQL {major} is newer than what is tested: 15 to 17."] if major > 17 else []


def ensure_extensions(connection: psycopg.Connection) -> list[str]:
    """Create the extensions that are missing, in schema public; give their names."""
    major = connection.info.server_version // 10000
    created: list[str] = []
    for name, (least, package) in EXTENSIONS.items():
        here, installed = connection.execute(_EXTENSION, [name]).fetchone() or (None, None)
        version = installed or here
        if version is None:
            raise InstallError(
                f"The server does not have the extension {name}.",
                f"Install {package.format(major=major)}. `make setup` does it for the private "
                "server.",
            )
        if _version(version) < _version(least):
            update = (
                f"alter extension {name} update" if _version(here or "") >= _version(least) else ""
            )
            raise InstallError(
                f"The extension {name} is version {version}; {least} or later is needed.",
                update or f"Install {package.format(major=major)}.",
            )
        if installed is None:
            schema = sql.SQL("pg_catalog" if name == "plpython3u" else "public")
            connection.execute(
                sql.SQL("create extension {} schema {}").format(sql.Identifier(name), schema)
            )
            created.append(name)
    return created


def ensure_roles(connection: psycopg.Connection) -> list[str]:
    """Create the group roles and their memberships where absent; give the roles created."""
    if not _missing_roles(connection) and not _missing_memberships(connection):
        return []
    # Roles belong to the whole cluster, and an advisory lock to one database: two installs into
    # two databases meet here. Connecting and reading go on meanwhile; creating roles waits.
    connection.execute("lock table pg_catalog.pg_authid in share row exclusive mode")
    created = _missing_roles(connection)
    for role in created:
        connection.execute(sql.SQL("create role {} nologin").format(sql.Identifier(role)))
    for role, member in _missing_memberships(connection):
        grant = sql.SQL("grant {} to {}").format(sql.Identifier(role), sql.Identifier(member))
        connection.execute(grant)
    return created


def drop_roles(connection: psycopg.Connection) -> list[str]:
    """Drop the group roles that nothing and nobody uses any more; give those that stay."""
    connection.execute("lock table pg_catalog.pg_authid in share row exclusive mode")
    kept: list[str] = []
    for role in reversed(GROUP_ROLES):  # a member before what it is a member of
        if not _ask(connection, "select pg_catalog.to_regrole(%s) is not null", [role]):
            continue
        if _ask(connection, _ROLE_IS_USED, [role, role, list(GROUP_ROLES)]):
            kept.append(role)
        else:
            connection.execute(sql.SQL("drop role {}").format(sql.Identifier(role)))
    return kept


_EXTENSION = """
    select a.default_version, a.installed_version
    from pg_catalog.pg_available_extensions a where a.name = %s
"""

_ROLE_IS_USED = """
    select exists (
            select from pg_catalog.pg_shdepend d
            where d.refclassid = 'pg_catalog.pg_authid'::pg_catalog.regclass
                and d.refobjid = %s::pg_catalog.regrole)
        or exists (
            select
            from pg_catalog.pg_auth_members m join pg_catalog.pg_roles r on r.oid = m.member
            where m.roleid = %s::pg_catalog.regrole and r.rolname <> all (%s))
"""


def _missing_roles(connection: psycopg.Connection) -> list[str]:
    found = connection.execute(
        "select r.rolname::text from pg_catalog.pg_roles r where r.rolname = any (%s)",
        [list(GROUP_ROLES)],
    ).fetchall()
    return [role for role in GROUP_ROLES if (role,) not in found]


def _missing_memberships(connection: psycopg.Connection) -> list[tuple[str, str]]:
    found = connection.execute(
        "select m.roleid::pg_catalog.regrole::text, m.member::pg_catalog.regrole::text"
        " from pg_catalog.pg_auth_members m"
    ).fetchall()
    return [pair for pair in MEMBERSHIPS if pair not in found]


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".") if part.isdigit())


def _ask(connection: psycopg.Connection, query: str, values: list[object] | None = None) -> object:
    """One value."""
    with connection.cursor(row_factory=scalar_row) as cursor:
        return cursor.execute(query.encode(), values).fetchone()
