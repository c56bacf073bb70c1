"""Claimed jobs -> tasks: what the rows of a source hold now, rendered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from pgask_server.database import Database, DatabaseError, Row
from pgask_server.template import parse_template, render

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pgask_server.chunk import Chunk
    from pgask_server.errors import PgaskError


@dataclass(slots=True)
class Task:
    """One claimed job on its way to chunks."""

    job_id: int
    generation: int
    attempts: int
    source_id: str
    filter_values: str = "{}"
    policy: str = ""
    chunks: Sequence[Chunk] = ()
    known: frozenset[str] = frozenset()
    """Chunk texts that have a vector already."""
    error: PgaskError | None = None
    text: str = ""


def read_tasks(
    db: Database, schema: str, table: str, jobs: Sequence[Row], model: str
) -> list[Task]:
    """The jobs of one source with what their rows hold now. Raises DatabaseError, PgaskError."""
    recipes = db.execute(
        "select r.text_template, r.template_columns, r.chunking_policy"
        " from pgask._source_recipe($1, $2) r",
        ("text", "text"),
        (schema, table),
    )
    if not recipes:
        return []  # unregistered meanwhile, and its jobs with it
    source = recipes[0]
    columns = _texts(source["template_columns"])
    template = parse_template(str(source["text_template"]))
    policy = str(source["chunking_policy"])
    ids = [str(job["source_id"]) for job in jobs]
    where = ("text", "text", "text[]")
    rows = {
        str(row["source_id"]): row
        for row in db.execute(
            "select * from pgask._read_rows($1, $2, $3)", where, (schema, table, ids)
        )
    }
    known: dict[str, set[str]] = {}
    for chunk in db.execute(
        "select * from pgask._read_chunks($1, $2, $3, $4)",
        (*where, "text"),
        (schema, table, ids, model),
    ):
        known.setdefault(str(chunk["source_id"]), set()).add(str(chunk["chunk_text"]))
    tasks: list[Task] = []
    for job in jobs:
        task = new_task(job)
        task.policy = policy
        task.known = frozenset(known.get(task.source_id, ()))
        row = rows.get(task.source_id)
        if row is not None:
            values = _nullable(row["template_values"])
            if len(values) != len(columns):
                raise DatabaseError("40001", "the source was altered while it was read")
            task.text = render(template, dict(zip(columns, values, strict=True)))
            task.filter_values = str(row["filter_values"])
        tasks.append(task)
    return tasks


def new_task(job: Row) -> Task:
    return Task(
        job_id=_integer(job["job_id"]),
        generation=_integer(job["generation"]),
        attempts=_integer(job["attempts"]),
        source_id=str(job["source_id"]),
    )


def _integer(value: object) -> int:
    if not isinstance(value, int):
        raise TypeError(f"the database sent {value!r} for an integer")
    return value


def _texts(value: object) -> list[str]:
    return [text for text in _nullable(value) if text is not None]


def _nullable(value: object) -> list[str | None]:
    if not isinstance(value, list):
        raise TypeError(f"the database sent {value!r} for a text[]")
    return [None if item is None else str(item) for item in cast("list[object]", value)]
