"""One call per public function: its statement, its values, and how its rows are read.

Both clients run these; neither knows any SQL.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from typing import Generic, TypeVar, cast
from uuid import UUID

from psycopg.sql import SQL, Composed, Identifier, Placeholder
from psycopg.types.json import Jsonb

from pgask import queries
from pgask.answer import Answer
from pgask.models import Check, QueueStatus, SearchHit, SourceStatus, read_row

T = TypeVar("T")
Row = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """A statement with its values, and the reader of its rows."""

    statement: SQL | Composed
    values: Mapping[str, object]
    read: Callable[[Sequence[Row]], T]


def version() -> Call[str]:
    """`pgask.version()`."""
    return Call(queries.VERSION, {}, lambda rows: str(rows[0]["version"]))


def answer(question: str, params: Mapping[str, object] | None, scope_key: str) -> Call[Answer]:
    """`pgask.answer()` and the Markdown of its result, as `ask()` returns it."""
    arguments = {"question": question, "params": _jsonb(params or {}), "scope_key": scope_key}

    def read(rows: Sequence[Row]) -> Answer:
        return Answer.from_json(str(rows[0]["answer"]), text=str(rows[0]["text"]))

    return _function(queries.ANSWER, arguments, read)


def search(
    query: str,
    k: int,
    source: str | None,
    filter: Mapping[str, object] | None,  # noqa: A002 (the name of the SQL parameter)
    mode: str | None,
    min_similarity: float | None,
) -> Call[list[SearchHit]]:
    """`pgask.search()`."""
    arguments = {
        "query": query,
        "k": k,
        "source": source,
        "filter": None if filter is None else _jsonb(filter),
        "mode": mode,
        "min_similarity": min_similarity,
    }
    return _function(
        queries.SEARCH, arguments, lambda rows: [read_row(SearchHit, row) for row in rows]
    )


def save_question(
    canonical_prompt: str,
    sqls: Sequence[Mapping[str, object] | str],
    params: Sequence[Mapping[str, object]],
    label: str | None,
    scope_key: str,
    display: str | None,
    notes: str | None,
    is_shared: bool,
    phrasings: Sequence[str],
) -> Call[UUID]:
    """`pgask.save_question()`."""
    arguments = {
        "canonical_prompt": canonical_prompt,
        "sqls": _jsonb(list(sqls)),
        "params": _jsonb(list(params)),
        "label": label,
        "scope_key": scope_key,
        "display": display,
        "notes": notes,
        "is_shared": is_shared,
        "phrasings": list(phrasings),
    }
    return _function(queries.SAVE_QUESTION, arguments, lambda rows: cast("UUID", rows[0]["id"]))


def approve_question(question_id: UUID | str, note: str | None) -> Call[None]:
    """`pgask.approve_question()`."""
    arguments = {"question_id": UUID(str(question_id)), "note": note}
    return _function(queries.APPROVE_QUESTION, arguments, _nothing)


def register_source(
    source: str,
    text_template: str,
    chunking_policy: str,
    filter_columns: Sequence[str],
    key_columns: Sequence[str] | None,
    updated_at_column: str | None,
    notes: str | None,
    backfill: bool,
) -> Call[SourceStatus]:
    """`pgask.register_source()`."""
    arguments = {
        "source": source,
        "text_template": text_template,
        "chunking_policy": chunking_policy,
        "filter_columns": list(filter_columns),
        "key_columns": None if key_columns is None else list(key_columns),
        "updated_at_column": updated_at_column,
        "notes": notes,
        "backfill": backfill,
    }
    return _function(
        queries.REGISTER_SOURCE, arguments, lambda rows: read_row(SourceStatus, rows[0])
    )


def work(source: str | None, max_jobs: int | None) -> Call[None]:
    """`call pgask.work()`."""
    return _function(queries.WORK, {"source": source, "max_jobs": max_jobs}, _nothing)


def status() -> Call[list[SourceStatus]]:
    """The view `pgask.source_status`."""
    return Call(
        queries.SOURCE_STATUS, {}, lambda rows: [read_row(SourceStatus, row) for row in rows]
    )


def queue() -> Call[QueueStatus]:
    """The view `pgask.queue_status`."""
    return Call(queries.QUEUE_STATUS, {}, lambda rows: read_row(QueueStatus, rows[0]))


def doctor() -> Call[list[Check]]:
    """`pgask.doctor()`."""
    return Call(queries.DOCTOR, {}, lambda rows: [read_row(Check, row) for row in rows])


def set_setting(name: str, value: str | None) -> Call[None]:
    """`pgask.set_setting()`."""
    statement = queries.SET_SETTING.format(arguments=SQL("%(name)s, %(value)s"))
    return Call(statement, {"name": name, "value": value}, _nothing)


def _function(
    statement: SQL, arguments: Mapping[str, object], read: Callable[[Sequence[Row]], T]
) -> Call[T]:
    """Name the arguments; one that is None is left out, so that the function's default holds."""
    values = {name: value for name, value in arguments.items() if value is not None}
    named = SQL(", ").join(
        SQL("{} => {}").format(Identifier(name), Placeholder(name)) for name in values
    )
    return Call(statement.format(arguments=named), values, read)


def _nothing(rows: Sequence[Row]) -> None:
    del rows


def _jsonb(value: object) -> Jsonb:
    return Jsonb(value, dumps=lambda content: json.dumps(content, default=_plain))


def _plain(value: object) -> object:
    """What JSON has no notation for: dates and UUIDs as text, exact numbers with every digit."""
    match value:
        case datetime() | date() | time():
            return value.isoformat()
        case UUID() | Decimal():
            return str(value)
        case _:
            raise TypeError(f"a value of type {type(value).__name__} cannot be sent as JSON")
