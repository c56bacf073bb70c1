"""Alembic and the installer on one connection, in one transaction."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import psycopg
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from migrations.sqlfile import ROOT, InstallError, driver_connection
from sqlalchemy import Connection, create_engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

if TYPE_CHECKING:
    from collections.abc import Generator


@contextmanager
def transaction(dsn: str) -> Generator[tuple[Connection, psycopg.Connection]]:
    """One transaction as alembic needs it and as psycopg has it: both are the same connection.

    Committed at the end; rolled back by any exception. Raises InstallError for database errors.
    """
    engine = create_engine(
        "postgresql+psycopg://", creator=lambda: _connect(dsn), poolclass=NullPool
    )
    try:
        with engine.begin() as shared:
            yield shared, driver_connection(shared)
    except (psycopg.Error, DBAPIError) as error:
        cause = error.orig if isinstance(error, DBAPIError) else error
        if not isinstance(cause, psycopg.Error):
            raise
        text = [cause.diag.message_primary or str(cause), cause.diag.message_detail]
        raise InstallError("\n".join(filter(None, text)), cause.diag.message_hint) from error


def upgrade(shared: Connection, installed: str | None, version: str) -> None:
    """Apply the revisions that the database does not have yet.

    installed: the version that the database says it holds; version: the one of this clone.
    """
    config = _config(shared)
    current = _current(shared)
    unknown = current is not None and not _knows(config, current)
    if unknown or (installed is not None and _number(installed) > _number(version)):
        raise InstallError(
            f"The database holds pgask {installed}, revision {current}, which is newer than "
            f"this clone ({version}).",
            "Update the clone (git pull) and run the installer again.",
        )
    command.upgrade(config, "head")


def downgrade(shared: Connection) -> None:
    """Take every revision back."""
    config = _config(shared)
    current = _current(shared)
    if current is not None and not _knows(config, current):
        raise InstallError(
            f"The database holds revision {current}, which is newer than this clone.",
            "Update the clone (git pull): it knows how to take that revision back.",
        )
    command.downgrade(config, "base")


def _connect(dsn: str) -> psycopg.Connection:
    try:
        connection = psycopg.connect(
            dsn, autocommit=True, fallback_application_name="pgask install"
        )
    except psycopg.Error as error:
        raise InstallError(
            f"Cannot connect to the database: {error}".strip(),
            "Give --dsn or DATABASE_URL as postgresql://USER@HOST:PORT/DATABASE.",
        ) from error
    connection.execute(_SURE_FOOTING)
    connection.autocommit = False
    # An install that waited for another must see what that one has committed.
    connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
    return connection


# Whatever is set for the role or the database must not decide what the files mean, and nobody's
# objects in a writable schema may be taken for PostgreSQL's own.
_SURE_FOOTING = """
    set search_path = pg_catalog, pg_temp;
    set statement_timeout = 0;
    set idle_in_transaction_session_timeout = 0;
    set check_function_bodies = on;
    set client_min_messages = warning;
    set row_security = on;
    set client_encoding = 'UTF8';
    set datestyle = 'ISO, MDY';
    set standard_conforming_strings = on;
"""


def _config(shared: Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", str(ROOT / "migrations").replace("%", "%%"))
    config.attributes["connection"] = shared
    return config


def _current(shared: Connection) -> str | None:
    context = MigrationContext.configure(shared, opts={"version_table_schema": "pgask"})
    return context.get_current_revision()


def _knows(config: Config, revision: str) -> bool:
    script = ScriptDirectory.from_config(config)
    return revision in {known.revision for known in script.walk_revisions()}


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())
