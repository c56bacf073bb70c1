"""How both clients connect: the parameters, and the version handshake."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from pgask.errors import ConnectionFailed, NotInstalled, NotPermitted, PgaskError, translated

if TYPE_CHECKING:
    from collections.abc import Generator

_UNKNOWN_SCHEMA, _UNKNOWN_FUNCTION = "3F000", "42883"


def conninfo(dsn: str) -> str:
    """The connection string to use for `dsn`.

    dsn: a libpq URL or key=value string, '' for the PG* environment. SQLAlchemy's form
    (postgresql+psycopg://) is understood. Raises ConnectionFailed where it is not valid, without
    repeating it: it may hold a password.
    """
    dsn = re.sub(r"^postgres(ql)?\+\w+://", "postgresql://", dsn)
    try:
        given = conninfo_to_dict(dsn)
    except psycopg.ProgrammingError:
        raise ConnectionFailed(
            "The connection string is not valid.",
            hint="It reads like postgresql://user@host:5432/database, or like "
            "'host=... dbname=...'.",
        ) from None
    defaults = {"application_name": "pgask", "connect_timeout": "10"}
    return make_conninfo(dsn, **{k: v for k, v in defaults.items() if k not in given})


@contextmanager
def handshake(database: str, role: str) -> Generator[None]:
    """Say in words why a database gives no version of pgask."""
    try:
        with translated():
            yield
    except NotPermitted as error:
        raise NotPermitted(
            f"The role {role} may not use pgask in the database {database}.",
            sqlstate=error.sqlstate,
            hint=f'grant pgask_reader to "{role}"',
        ) from error
    except PgaskError as error:
        if error.sqlstate not in (_UNKNOWN_SCHEMA, _UNKNOWN_FUNCTION):
            raise
        raise NotInstalled(
            f"pgask is not installed in the database {database}.",
            sqlstate=error.sqlstate,
            hint="Install it: make migrate DATABASE_URL=postgresql://...",
        ) from error
