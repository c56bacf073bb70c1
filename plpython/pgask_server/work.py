"""One pass of the worker: due jobs -> embeddings.

Claim and read, commit; render, chunk and embed with no transaction open; write, commit. Whatever
happens to a row meanwhile shows in its job (generation, lease, or the job is gone), and the write
is a compare-and-swap on that.
"""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pgask_server.chunk import Chunk, is_blank, parse_policy, split
from pgask_server.database import Database, Row
from pgask_server.errors import ModelMalformed, ModelRefused, ModelUnavailable, PgaskError
from pgask_server.model import EmbeddingModel
from pgask_server.template import parse_template, render
from pgask_server.vector_literal import vector_literal


@dataclass(frozen=True, slots=True)
class WorkLimits:
    """How a pass behaves; all from settings."""

    batch: int = 64
    """Jobs claimed at once."""
    lease_seconds: float = 300.0
    max_attempts: int = 5
    load_at_least: int = 500
    """A backlog from which the vector index may be built after the load."""
    build_memory: str = "512MB"


@dataclass(slots=True)
class _Task:
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


@dataclass(slots=True)
class _Vectors:
    """Vectors by text, as the database reads them."""

    by_text: dict[str, str] = field(default_factory=dict[str, str])
    refused: dict[str, PgaskError] = field(default_factory=dict[str, PgaskError])


def work(
    db: Database,
    model: EmbeddingModel,
    limits: WorkLimits,
    max_jobs: int | None = None,
    source: tuple[str, str] | None = None,
) -> int:
    """Work until nothing is due, or after about max_jobs jobs; the number of jobs finished.

    Raises InsideTransaction where the session cannot commit. A provider that is down ends the
    pass with a warning; its jobs wait.
    """
    db.commit()
    worker = f"{os.getpid()}-{random.getrandbits(32):08x}"  # noqa: S311 - a name, no secret
    finished = claimed = 0
    _begin_load(db, limits)
    while max_jobs is None or claimed < max_jobs:
        batch = limits.batch if max_jobs is None else min(limits.batch, max_jobs - claimed)
        tasks = _claim(db, worker, batch, limits, model.name, source)
        db.commit()
        if not tasks:
            break
        claimed += len(tasks)
        try:
            vectors = _embed(model, _prepare(tasks, model))
        except (ModelUnavailable, ModelMalformed) as error:
            delay = _delay(min(task.attempts for task in tasks), error)
            _release(db, worker, tasks, error, delay, charge=isinstance(error, ModelMalformed),
                     limits=limits)  # fmt: skip
            db.commit()
            db.warn(f"{error.message}; {len(tasks)} jobs wait {delay:.0f} s")
            break
        finished += _write(db, worker, model.name, tasks, vectors, limits)
        db.commit()
    if db.execute(
        "select pgask._end_load($1) as built", ("text",), (limits.build_memory,)
    )[0]["built"]:
        db.commit()
    return finished


def _begin_load(db: Database, limits: WorkLimits) -> None:
    db.execute("select pgask._begin_load($1)", ("bigint",), (limits.load_at_least,))
    db.commit()


def _claim(
    db: Database,
    worker: str,
    batch: int,
    limits: WorkLimits,
    model: str,
    only: tuple[str, str] | None,
) -> list[_Task]:
    jobs = db.execute(
        "select * from pgask._claim($1, $2, pg_catalog.make_interval(secs => $3), $4, $5)",
        ("text", "integer", "double precision", "text", "text"),
        (worker, batch, limits.lease_seconds, *(only or (None, None))),
    )
    by_source: dict[tuple[str, str], list[Row]] = {}
    for job in jobs:
        key = (str(job["source_schema"]), str(job["source_table"]))
        by_source.setdefault(key, []).append(job)
    tasks: list[_Task] = []
    for (schema, table), rows in by_source.items():
        tasks.extend(_read(db, schema, table, rows, model))
    return tasks


def _read(
    db: Database, schema: str, table: str, jobs: Sequence[Row], model: str
) -> list[_Task]:
    """The jobs of one source with what their rows hold now."""
    source = db.execute(
        "select r.text_template, r.template_columns, r.chunking_policy"
        " from pgask._source_recipe($1, $2) r",
        ("text", "text"),
        (schema, table),
    )[0]
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
    tasks: list[_Task] = []
    for job in jobs:
        source_id = str(job["source_id"])
        task = _Task(
            job_id=_integer(job["job_id"]),
            generation=_integer(job["generation"]),
            attempts=_integer(job["attempts"]),
            source_id=source_id,
            policy=policy,
            known=frozenset(known.get(source_id, ())),
        )
        row = rows.get(source_id)
        if row is not None:
            values = dict(zip(columns, _nullable(row["template_values"]), strict=True))
            task.text = render(template, values)
            task.filter_values = str(row["filter_values"])
        tasks.append(task)
    return tasks


def _prepare(tasks: Sequence[_Task], model: EmbeddingModel) -> list[str]:
    """Chunk every task; the distinct texts that need a vector."""
    needed: dict[str, None] = {}
    for task in tasks:
        # A row that is gone or renders to nothing has no chunks, and so loses its old ones.
        if is_blank(task.text):
            continue
        try:
            task.chunks = split(task.text, parse_policy(task.policy), model.token_spans)
        except PgaskError as error:
            task.error = error
            continue
        for chunk in task.chunks:
            if chunk.text not in task.known:
                needed[chunk.text] = None
    return list(needed)


def _embed(model: EmbeddingModel, texts: Sequence[str]) -> _Vectors:
    """The vectors of the texts; a text that the model refuses is found by bisection."""
    vectors = _Vectors()

    def embed(part: Sequence[str]) -> None:
        if not part:
            return
        try:
            found = model.embed(part)
        except ModelRefused as error:
            if len(part) == 1:
                vectors.refused[part[0]] = error
                return
            middle = len(part) // 2
            embed(part[:middle])
            embed(part[middle:])
            return
        _store(vectors, part, found)

    embed(texts)
    return vectors


def _store(vectors: _Vectors, texts: Sequence[str], found: NDArray[np.float32]) -> None:
    for text, vector in zip(texts, found, strict=True):
        vectors.by_text[text] = vector_literal(vector)


def _write(
    db: Database,
    worker: str,
    model: str,
    tasks: Sequence[_Task],
    vectors: _Vectors,
    limits: WorkLimits,
) -> int:
    good: list[_Task] = []
    for task in tasks:
        for chunk in task.chunks:
            task.error = task.error or vectors.refused.get(chunk.text)
        if task.error is None:
            good.append(task)
        else:
            # An input that is refused once is refused again: there is nothing to wait for.
            _release(db, worker, [task], task.error, 0, charge=True, limits=limits, final=True)
    if not good:
        return 0
    chunks = [(task.job_id, chunk) for task in good for chunk in task.chunks]
    written = db.execute(
        "select pgask._write($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) as written",
        (
            "text", "text", "bigint[]", "bigint[]", "text[]", "jsonb[]",
            "bigint[]", "integer[]", "integer[]", "integer[]", "text[]", "text[]",
        ),  # fmt: skip
        (
            worker,
            model,
            [task.job_id for task in good],
            [task.generation for task in good],
            [task.policy for task in good],
            [task.filter_values for task in good],
            [job_id for job_id, _ in chunks],
            [chunk.index for _, chunk in chunks],
            [chunk.start for _, chunk in chunks],
            [chunk.end for _, chunk in chunks],
            [chunk.text for _, chunk in chunks],
            [vectors.by_text.get(chunk.text) for _, chunk in chunks],
        ),
    )
    return _integer(written[0]["written"])


def _release(
    db: Database,
    worker: str,
    tasks: Sequence[_Task],
    error: PgaskError,
    delay: float,
    *,
    charge: bool,
    limits: WorkLimits,
    final: bool = False,
) -> None:
    reason = error.message if error.detail is None else f"{error.message}: {error.detail}"
    db.execute(
        "select pgask._release($1, $2, $3, pg_catalog.make_interval(secs => $4), $5, $6)",
        ("text", "bigint[]", "text", "double precision", "boolean", "integer"),
        (
            worker,
            [task.job_id for task in tasks],
            reason,
            delay,
            charge,
            1 if final else limits.max_attempts,
        ),
    )


def _delay(attempts: int, error: PgaskError) -> float:
    """Seconds until the next attempt: what the provider asked for, else 2^attempts, with jitter."""
    if isinstance(error, ModelUnavailable) and error.retry_after is not None:
        return error.retry_after
    return min(300.0, 2.0**attempts) * random.uniform(0.75, 1.25)  # noqa: S311 - jitter


def _integer(value: object) -> int:
    if not isinstance(value, int):
        raise TypeError(f"the database sent {value!r} for an integer")
    return value


def _texts(value: object) -> list[str]:
    return [text for text in _nullable(value) if text is not None]


def _nullable(value: object) -> list[str | None]:
    if not isinstance(value, list):
        raise TypeError(f"the database sent {value!r} for a text[]")
    return [None if item is None else str(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
