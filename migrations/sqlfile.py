"""A file of SQL: its placeholders filled in, run as a whole, an error told with file and line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, LiteralString, cast

import psycopg
from alembic import op
from psycopg import sql

if TYPE_CHECKING:
    from sqlalchemy import Connection

ROOT = Path(__file__).resolve().parents[1]


class InstallError(Exception):
    """Why nothing was installed, in words, and what to do about it."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        self.message = message
        self.hint = hint
        super().__init__(message if hint is None else f"{message}\nHint: {hint}")


def run_file(connection: psycopg.Connection, path: Path) -> None:
    """Run every statement of a file. @vector@ and @pg_trgm@ stand for those extensions' schemas.

    Raises InstallError that names the file and the line.
    """
    text = path.read_text("utf-8")
    places = dict(connection.execute(_EXTENSION_SCHEMAS).fetchall())

    def fill(match: re.Match[str]) -> str:
        return sql.Identifier(places[match[1]]).as_string(connection)

    text = re.sub(r"@(vector|pg_trgm)@", fill, text)
    try:
        # Without parameters this is the simple protocol: many statements, % and : mean themselves.
        connection.execute(cast("LiteralString", text))
    except psycopg.Error as error:
        raise InstallError(_explain(error, path, text), error.diag.message_hint) from error


def run_beside(revision: str, ending: str) -> None:
    """Run the SQL file that stands beside a revision: `__file__`, '.sql' or '_down.sql'."""
    path = Path(revision)
    run_file(driver_connection(op.get_bind()), path.with_name(path.stem + ending))


def driver_connection(shared: Connection) -> psycopg.Connection:
    """The psycopg connection under a SQLAlchemy one."""
    return cast("psycopg.Connection", shared.connection.driver_connection)


_EXTENSION_SCHEMAS = """
    select e.extname::text, n.nspname::text
    from pg_catalog.pg_extension e join pg_catalog.pg_namespace n on n.oid = e.extnamespace
    where e.extname in ('vector', 'pg_trgm')
"""


def _explain(error: psycopg.Error, path: Path, text: str) -> str:
    name = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
    position = error.diag.statement_position
    line = f", line {text.count(chr(10), 0, int(position)) + 1}" if position else ""
    parts = [f"{name}{line}: {error.diag.message_primary or error}", error.diag.message_detail]
    if not position and error.diag.context:
        parts.append(error.diag.context)
    return "\n".join(part for part in parts if part)
