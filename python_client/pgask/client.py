"""The client: one method per public function of pgask."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Self, TypeVar

import psycopg
from psycopg.rows import TupleRow, dict_row

from pgask import calls, version
from pgask.connection import conninfo, handshake
from pgask.errors import translated

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from uuid import UUID

    from pgask.answer import Answer
    from pgask.calls import Call
    from pgask.models import Check, QueueStatus, SearchHit, SourceStatus

T = TypeVar("T")
Connection = psycopg.Connection[TupleRow]


class Client:
    """Asks, searches and manages one database.

    dsn: a libpq URL or connection string; '' for the PG* environment. It connects at the first
    call (or by `with`), each call being a transaction of its own, and connects again after the
    connection was lost. Connecting raises ConnectionFailed, NotInstalled, NotPermitted, or
    VersionMismatch where the database's pgask does not fit this client.

    Every method but `work` takes `conn`: a psycopg connection of the caller's on which to run
    instead, inside whatever transaction is open there. All errors are `pgask.errors`.
    """

    def __init__(self, dsn: str = "") -> None:
        self._conninfo = conninfo(dsn)
        self._connection: Connection | None = None
        self._connecting = Lock()

    def __enter__(self) -> Self:
        """Connect."""
        _ = self.connection
        return self

    def __exit__(self, *exception: object) -> None:
        """Disconnect."""
        self.close()

    @property
    def connection(self) -> Connection:
        """The client's own connection, in autocommit mode."""
        with self._connecting:
            if self._connection is None or self._connection.closed:
                self._connection = self._connect()
            return self._connection

    @property
    def connected(self) -> Connection | None:
        """The connection if there is one; it is not made."""
        return self._connection

    def _connect(self) -> Connection:
        with translated():
            connection = psycopg.connect(self._conninfo, autocommit=True)
        try:
            with handshake(connection.info.dbname, connection.info.user):
                installed = _run(connection, calls.version())
            version.check(installed)
        except BaseException:
            connection.close()
            raise
        return connection

    def close(self) -> None:
        """Disconnect; a later call connects again."""
        if self._connection is not None:
            self._connection.close()

    def _call(self, call: Call[T], conn: psycopg.Connection[object] | None) -> T:
        with translated():
            return _run(self.connection if conn is None else conn, call)

    def ask(
        self,
        question: str,
        params: Mapping[str, object] | None = None,
        *,
        scope_key: str = "global",
        conn: psycopg.Connection[object] | None = None,
    ) -> Answer:
        """Answer a question asked in plain English.

        params: values for the saved question's parameters, {name: value}; they win over what the
        words say. scope_key: the kind of screen it is asked on. A question that nothing matches
        is answered too: with the nearest saved questions and passages.
        """
        return self._call(calls.answer(question, params, scope_key), conn)

    def answer(
        self,
        question: str,
        params: Mapping[str, object] | None = None,
        *,
        scope_key: str = "global",
        conn: psycopg.Connection[object] | None = None,
    ) -> Answer:
        """The same as `ask`, under the name of the SQL function that returns the parts."""
        return self.ask(question, params, scope_key=scope_key, conn=conn)

    def search(
        self,
        query: str,
        k: int = 10,
        source: str | None = None,
        filter: Mapping[str, object] | None = None,  # noqa: A002 (the name of the SQL parameter)
        *,
        mode: str | None = None,
        min_similarity: float | None = None,
        conn: psycopg.Connection[object] | None = None,
    ) -> list[SearchHit]:
        """The k chunks nearest in meaning to the query, best first.

        source: only of this table, 'kb.article'. filter: only where the filter columns have
        these values. mode: default the database's. min_similarity: only chunks at least so
        similar. Raises SearchArgumentInvalid.
        """
        return self._call(calls.search(query, k, source, filter, mode, min_similarity), conn)

    def save_question(
        self,
        canonical_prompt: str,
        sqls: Sequence[Mapping[str, object] | str] = (),
        params: Sequence[Mapping[str, object]] = (),
        label: str | None = None,
        scope_key: str = "global",
        *,
        display: str | None = None,
        notes: str | None = None,
        is_shared: bool = False,
        phrasings: Sequence[str] = (),
        conn: psycopg.Connection[object] | None = None,
    ) -> UUID:
        """Save a question as a draft of one's own; returns its id.

        canonical_prompt: plain English with {name} for each parameter. sqls: {"sql", "display",
        "title"} or a plain string each, with :name for the same parameter. params: {"name",
        "type", "required", "default", "min", "max", "values", "column", "example"} each.
        display: for the statements that name none. is_shared: others may run it. phrasings:
        other ways to put the question, with the same {name} places. Raises QuestionInvalid,
        StatementRefused, StatementInvalid.
        """
        call = calls.save_question(
            canonical_prompt, sqls, params, label, scope_key, display, notes, is_shared, phrasings
        )
        return self._call(call, conn)

    def approve_question(
        self,
        question_id: UUID | str,
        *,
        note: str | None = None,
        conn: psycopg.Connection[object] | None = None,
    ) -> None:
        """Approve a draft for everyone. note: why, kept with it. Raises QuestionNotFound."""
        self._call(calls.approve_question(question_id, note), conn)

    def register_source(
        self,
        source: str,
        text_template: str,
        chunking_policy: str = "none",
        filter_columns: Sequence[str] = (),
        *,
        key_columns: Sequence[str] | None = None,
        updated_at_column: str | None = None,
        notes: str | None = None,
        backfill: bool = True,
        conn: psycopg.Connection[object] | None = None,
    ) -> SourceStatus:
        """Make a table searchable: its rows are rendered, cut into chunks and embedded.

        source: 'kb.article'. text_template: text with {{column}} places. chunking_policy: none
        or fixed(size, overlap) in tokens. filter_columns: copied to each chunk. key_columns:
        default the primary key. backfill: enqueue the rows that exist. Raises a SourceError.
        """
        call = calls.register_source(
            source,
            text_template,
            chunking_policy,
            filter_columns,
            key_columns,
            updated_at_column,
            notes,
            backfill,
        )
        return self._call(call, conn)

    def work(self, source: str | None = None, *, max_jobs: int | None = None) -> None:
        """Embed until nothing is due, committing as it goes, on the client's own connection.

        source: only this table, 'kb.article'. max_jobs: stop after about so many.
        """
        self._call(calls.work(source, max_jobs), None)

    def status(self, *, conn: psycopg.Connection[object] | None = None) -> list[SourceStatus]:
        """Each source with how far its embedding is, by name."""
        return self._call(calls.status(), conn)

    def queue(self, *, conn: psycopg.Connection[object] | None = None) -> QueueStatus:
        """How many jobs wait, run and have failed."""
        return self._call(calls.queue(), conn)

    def doctor(self, *, conn: psycopg.Connection[object] | None = None) -> list[Check]:
        """Check the server, the package, the model and the rights."""
        return self._call(calls.doctor(), conn)

    def version(self, *, conn: psycopg.Connection[object] | None = None) -> str:
        """The version of pgask in the database."""
        return self._call(calls.version(), conn)

    def set_setting(
        self, name: str, value: str | None, *, conn: psycopg.Connection[object] | None = None
    ) -> None:
        """Set a setting; None restores its default. Raises SettingInvalid, NotPermitted."""
        self._call(calls.set_setting(name, value), conn)


def _run(connection: psycopg.Connection[object], call: Call[T]) -> T:
    with connection.cursor(row_factory=dict_row) as cursor:
        cursor.execute(call.statement, call.values)
        return call.read(cursor.fetchall() if cursor.description else [])
