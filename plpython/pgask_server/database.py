"""The one way in which the package meets the database.

`plpy` fulfils it in the backend (see `server.py`); a psycopg connection can fulfil it beside the
database. Values come back as PL/Python gives them: numbers, booleans, `Decimal`, `None`, lists for
arrays, and `str` for everything else (jsonb, vector, timestamptz, uuid).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

Value = object
"""One column's value or one parameter."""

Row = Mapping[str, object]
"""One row by column name."""


class DatabaseError(Exception):
    """An error of the database itself: SQLSTATE, message, detail, hint."""

    def __init__(
        self, sqlstate: str, message: str, detail: str | None = None, hint: str | None = None
    ) -> None:
        self.sqlstate = sqlstate
        self.message = message
        self.detail = detail
        self.hint = hint
        super().__init__(message)


class Database(Protocol):
    """What the package needs of a database session."""

    def execute(
        self, sql: str, types: Sequence[str] = (), values: Sequence[object] = (), limit: int = 0
    ) -> Sequence[Row]:
        """Run one statement with `$1 ...` of the named types; plans are cached per session.

        limit: the most rows fetched; 0 for all. Raises DatabaseError, or the package's own error
        where that went through SQL; the statement's effects are then rolled back, the surrounding
        transaction is usable.
        """
        ...

    def columns(
        self, sql: str, types: Sequence[str] = (), values: Sequence[object] = ()
    ) -> Sequence[tuple[str, int]]:
        """Run `sql` and give its result's columns as (name, type oid), duplicates included."""
        ...

    def commit(self) -> None:
        """End the transaction; outside a procedure called at top level: InsideTransaction."""
        ...

    def rollback(self) -> None:
        """Roll the transaction back, under the same conditions as `commit`."""
        ...

    def warn(self, message: str) -> None:
        """Send the client a WARNING."""
        ...
