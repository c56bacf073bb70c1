"""The client for asyncio: the methods of `Client`, awaited."""

from __future__ import annotations

from asyncio import Lock
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
Connection = psycopg.AsyncConnection[TupleRow]


class AsyncClient:
    """Asks, searches and manages one database; see `Client` for everything but the awaiting."""

    def __init__(self, dsn: str = "") -> None:
        self._conninfo = conninfo(dsn)
        self._connection: Connection | None = None
        self._connecting = Lock()

    async def __aenter__(self) -> Self:
        """Connect."""
        await self.connection()
        return self

    async def __aexit__(self, *exception: object) -> None:
        """Disconnect."""
        await self.close()

    async def connection(self) -> Connection:
        """The client's own connection, in autocommit mode."""
        async with self._connecting:
            if self._connection is None or self._connection.closed:
                self._connection = await self._connect()
            return self._connection

    async def _connect(self) -> Connection:
        with translated():
            connection = await psycopg.AsyncConnection.connect(self._conninfo, autocommit=True)
        try:
            with handshake(connection.info.dbname, connection.info.user):
                installed = await _run(connection, calls.version())
            version.check(installed)
        except BaseException:
            await connection.close()
            raise
        return connection

    async def close(self) -> None:
        """Disconnect; a later call connects again."""
        if self._connection is not None:
            await self._connection.close()

    async def _call(self, call: Call[T], conn: psycopg.AsyncConnection[object] | None) -> T:
        with translated():
            return await _run(await self.connection() if conn is None else conn, call)

    async def ask(
        self,
        question: str,
        params: Mapping[str, object] | None = None,
        *,
        scope_key: str = "global",
        conn: psycopg.AsyncConnection[object] | None = None,
    ) -> Answer:
        """Answer a question asked in plain English."""
        return await self._call(calls.answer(question, params, scope_key), conn)

    async def answer(
        self,
        question: str,
        params: Mapping[str, object] | None = None,
        *,
        scope_key: str = "global",
        conn: psycopg.AsyncConnection[object] | None = None,
    ) -> Answer:
        """The same as `ask`, under the name of the SQL function that returns the parts."""
        return await self.ask(question, params, scope_key=scope_key, conn=conn)

    async def search(
        self,
        query: str,
        k: int = 10,
        source: str | None = None,
        filter: Mapping[str, object] | None = None,  # noqa: A002 (the name of the SQL parameter)
        *,
        mode: str | None = None,
        min_similarity: float | None = None,
        conn: psycopg.AsyncConnection[object] | None = None,
    ) -> list[SearchHit]:
        """The k chunks nearest in meaning to the query, best first."""
        return await self._call(calls.search(query, k, source, filter, mode, min_similarity), conn)

    async def save_question(
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
        conn: psycopg.AsyncConnection[object] | None = None,
    ) -> UUID:
        """Save a question as a draft of one's own; returns its id."""
        call = calls.save_question(
            canonical_prompt, sqls, params, label, scope_key, display, notes, is_shared, phrasings
        )
        return await self._call(call, conn)

    async def approve_question(
        self,
        question_id: UUID | str,
        *,
        note: str | None = None,
        conn: psycopg.AsyncConnection[object] | None = None,
    ) -> None:
        """Approve a draft for everyone. note: why, kept with it. Raises QuestionNotFound."""
        await self._call(calls.approve_question(question_id, note), conn)

    async def register_source(
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
        conn: psycopg.AsyncConnection[object] | None = None,
    ) -> SourceStatus:
        """Make a table searchable: its rows are rendered, cut into chunks and embedded."""
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
        return await self._call(call, conn)

    async def work(self, source: str | None = None, *, max_jobs: int | None = None) -> None:
        """Embed until nothing is due, committing as it goes, on the client's own connection.

        source: only this table, 'kb.article'. max_jobs: stop after about so many.
        """
        await self._call(calls.work(source, max_jobs), None)

    async def status(
        self, *, conn: psycopg.AsyncConnection[object] | None = None
    ) -> list[SourceStatus]:
        """Each source with how far its embedding is, by name."""
        return await self._call(calls.status(), conn)

    async def queue(self, *, conn: psycopg.AsyncConnection[object] | None = None) -> QueueStatus:
        """How many jobs wait, run and have failed."""
        return await self._call(calls.queue(), conn)

    async def doctor(self, *, conn: psycopg.AsyncConnection[object] | None = None) -> list[Check]:
        """Check the server, the package, the model and the rights."""
        return await self._call(calls.doctor(), conn)

    async def version(self, *, conn: psycopg.AsyncConnection[object] | None = None) -> str:
        """The version of pgask in the database."""
        return await self._call(calls.version(), conn)

    async def set_setting(
        self, name: str, value: str | None, *, conn: psycopg.AsyncConnection[object] | None = None
    ) -> None:
        """Set a setting; None restores its default. Raises SettingInvalid, NotPermitted."""
        await self._call(calls.set_setting(name, value), conn)


async def _run(connection: psycopg.AsyncConnection[object], call: Call[T]) -> T:
    async with connection.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(call.statement, call.values)
        return call.read(await cursor.fetchall() if cursor.description else [])
