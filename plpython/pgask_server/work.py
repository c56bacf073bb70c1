"""One pass of the worker: due jobs -> embeddings.

Claim, commit; read, commit; render, chunk and embed with no transaction open; write, commit.
Whatever happens to a row meanwhile shows in its job (generation, lease, or the job is gone), and
the write is a compare-and-swap on that.
"""

from __future__ import annotations

import os
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pgask_server.database import Database, DatabaseError, Row
from pgask_server.embed import Vectors, chunk_tasks, embed_texts
from pgask_server.errors import ModelMalformed, ModelRefused, ModelUnavailable, PgaskError
from pgask_server.task import Task, new_task, read_tasks

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from pgask_server.model import EmbeddingModel

_CHUNKS_PER_WRITE = 16
"""An application that deletes a row waits at most for the write of so many chunks."""


@dataclass(frozen=True, slots=True)
class WorkLimits:
    """How a pass behaves; all from settings."""

    batch: int = 64
    """Jobs claimed at once, and texts in one call of the model."""
    lease_seconds: float = 300.0
    max_attempts: int = 5
    load_at_least: int = 500
    """A backlog from which the vector index may be built after the load."""
    build_memory: str = "256MB"


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
    the_pass = _Pass(db, model, limits, source)
    try:
        the_pass.drain(max_jobs)
        if source is None:
            _refresh_questions(db, model)
    except (ModelUnavailable, ModelMalformed, ModelRefused) as error:
        db.rollback()
        db.warn(error.message)
        the_pass.down = True
    the_pass.end_load()
    return the_pass.finished


class _Pass:
    """One call of work()."""

    def __init__(
        self,
        db: Database,
        model: EmbeddingModel,
        limits: WorkLimits,
        source: tuple[str, str] | None,
    ) -> None:
        self.db = db
        self.model = model
        self.limits = limits
        self.only = source
        # The database takes back what a worker of this form holds when its session is gone.
        self.worker = f"{os.getpid()}-{random.getrandbits(32):08x}"
        self.finished = 0
        self.down = False
        self.put_off: set[str] = set()
        """Sources that cannot be read at the moment."""

    def drain(self, max_jobs: int | None) -> None:
        """Work until nothing is due, or after about max_jobs jobs. Raises ModelUnavailable."""
        self.db.execute("select pgask._begin_load($1)", ("bigint",), (self.limits.load_at_least,))
        self.db.commit()
        claimed = 0
        while max_jobs is None or claimed < max_jobs:
            left = self.limits.batch if max_jobs is None else max_jobs - claimed
            jobs = self._claim(min(self.limits.batch, left))
            if not jobs:
                return
            claimed += len(jobs)
            self._do(self._read_all(jobs))

    def end_load(self) -> None:
        """Build the vector index, unless the load goes on with the next pass."""
        at_least = None if self.down else self.limits.load_at_least
        self.db.execute(
            "select pgask._end_load($1, $2)",
            ("text", "bigint"),
            (self.limits.build_memory, at_least),
        )
        self.db.commit()

    def _claim(self, batch: int) -> Sequence[Row]:
        jobs = self.db.execute(
            "select * from pgask._claim($1, $2, pg_catalog.make_interval(secs => $3), $4, $5, $6)",
            ("text", "integer", "double precision", "text", "text", "text[]"),
            (
                self.worker,
                batch,
                self.limits.lease_seconds,
                *(self.only or (None, None)),
                sorted(self.put_off),
            ),
        )
        self.db.commit()
        return jobs

    def _do(self, tasks: Sequence[Task]) -> None:
        """Embed and write what was read. Raises ModelUnavailable, ModelMalformed."""
        vectors = embed_texts(self.model, chunk_tasks(tasks, self.model), self.limits.batch)
        good: list[Task] = []
        waiting: list[Task] = []
        for task in tasks:
            texts = [chunk.text for chunk in task.chunks if chunk.text not in task.known]
            for text in texts:
                task.error = task.error or vectors.refused.get(text)
            if task.error is not None:
                self._fail(task, task.error)
            elif all(text in vectors.by_text for text in texts):
                good.append(task)
            else:
                waiting.append(task)
        self.db.commit()
        for part in _parts(good):
            self._write(part, vectors)
        if waiting and vectors.down is not None:
            self._wait(waiting, vectors.down)
            raise vectors.down

    def _fail(self, task: Task, error: PgaskError) -> None:
        if isinstance(error, ModelMalformed):
            self._release([task], error, _delay(task.attempts), self.limits.max_attempts)
        else:
            # An input that is refused once is refused again: there is nothing to wait for.
            self._release([task], error, 0, 1)

    def _wait(self, tasks: Sequence[Task], error: ModelUnavailable | ModelMalformed) -> None:
        """Give back what a provider that is down, or talks nonsense, left undone."""
        delay = _delay(min(task.attempts for task in tasks))
        if isinstance(error, ModelMalformed):
            self._release(tasks, error, delay, self.limits.max_attempts)
        elif error.retry_after is None:
            self._release(tasks, error, delay)
        else:
            delay = error.retry_after
            self._release(tasks, error, delay, rests=True)
        self.db.commit()
        error.message = f"{error.message}; {len(tasks)} jobs wait {delay:.0f} s"

    def _read_all(self, jobs: Sequence[Row]) -> list[Task]:
        by_source: dict[tuple[str, str], list[Row]] = {}
        for job in jobs:
            key = (str(job["source_schema"]), str(job["source_table"]))
            by_source.setdefault(key, []).append(job)
        tasks: list[Task] = []
        for (schema, table), rows in by_source.items():
            tasks.extend(self._read(schema, table, rows))
        self.db.commit()
        return tasks

    def _read(self, schema: str, table: str, jobs: Sequence[Row]) -> list[Task]:
        """The jobs of one source whose rows can be read; the others are given back."""
        try:
            return read_tasks(self.db, schema, table, jobs, self.model.name)
        except PgaskError as error:
            failure = error
            sqlstate = error.sqlstate
        except DatabaseError as error:
            sqlstate = error.sqlstate
            if sqlstate[:2] in ("57", "53"):  # cancelled, shutting down, out of resources
                raise
            failure = PgaskError(error.message, detail=error.detail)
        if len(jobs) > 1 and sqlstate[:2] not in ("40", "42", "55", "PA"):
            # A value of one row, say: its neighbours can be read.
            middle = len(jobs) // 2
            return [
                *self._read(schema, table, jobs[:middle]),
                *self._read(schema, table, jobs[middle:]),
            ]
        tasks = [new_task(job) for job in jobs]
        delay = _delay(min(task.attempts for task in tasks))
        if sqlstate[:2] in ("40", "55"):  # somebody has the table locked
            self._release(tasks, failure, delay)
        else:
            self._release(tasks, failure, delay, self.limits.max_attempts)
        if sqlstate[:2] in ("40", "42", "55", "PA"):
            self.put_off.add(f"{schema}.{table}")
            self.db.warn(f"{schema}.{table} cannot be read: {failure.message}")
        return []

    def _write(self, tasks: Sequence[Task], vectors: Vectors) -> None:
        """Write the tasks whose jobs are still as they were claimed, each wholly or not at all."""
        failure: PgaskError | None = None
        try:
            written = _write(self.db, self.worker, self.model.name, tasks, vectors)
        except DatabaseError as error:
            if error.sqlstate[:2] in ("57", "53"):
                raise
            written, failure = False, PgaskError(error.message, detail=error.detail)
        self.db.commit()
        if written:
            self.finished += len(tasks)
        elif len(tasks) > 1:
            middle = len(tasks) // 2
            self._write(tasks[:middle], vectors)
            self._write(tasks[middle:], vectors)
        elif failure is not None:
            self._release(tasks, failure, _delay(tasks[0].attempts), self.limits.max_attempts)
            self.db.commit()
        else:
            # Changed or gone, and then this does nothing; or in the hands of an open transaction.
            self._release(tasks, None, 1)
            self.db.commit()

    def _release(
        self,
        tasks: Sequence[Task],
        error: PgaskError | None,
        delay: float,
        max_attempts: int | None = None,
        *,
        rests: bool = False,
    ) -> None:
        """Give jobs back for later; max_attempts: the attempt counts, so many are allowed."""
        self.db.execute(
            "select pgask._release($1, $2, $3, pg_catalog.make_interval(secs => $4), $5, $6, $7)",
            ("text", "bigint[]", "text", "double precision", "boolean", "integer", "boolean"),
            (
                self.worker,
                [task.job_id for task in tasks],
                None if error is None else _reason(error),
                delay,
                max_attempts is not None,
                max_attempts,
                rests,
            ),
        )


def _refresh_questions(db: Database, model: EmbeddingModel) -> None:
    """Give saved questions their vectors after a change of the model."""
    if db.execute("select from pgask._superseded_questions($1)", ("text",), (model.name,), 1):
        # Loads much that an ordinary pass does not need.
        from pgask_server.question.save import refresh_vectors

        refresh_vectors(db, model.embed, model.name)


def _parts(tasks: Sequence[Task]) -> Generator[Sequence[Task]]:
    """The tasks in runs that are written together."""
    part: list[Task] = []
    chunks = 0
    for task in tasks:
        if part and chunks + len(task.chunks) > _CHUNKS_PER_WRITE:
            yield part
            part, chunks = [], 0
        part.append(task)
        chunks += len(task.chunks)
    if part:
        yield part


def _write(db: Database, worker: str, model: str, tasks: Sequence[Task], vectors: Vectors) -> bool:
    chunks = [(task.job_id, chunk) for task in tasks for chunk in task.chunks]
    written = db.execute(
        "select pgask._write($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) as written",
        (
            "text",
            "text",
            "bigint[]",
            "bigint[]",
            "text[]",
            "jsonb[]",
            "bigint[]",
            "integer[]",
            "integer[]",
            "integer[]",
            "text[]",
            "text[]",
        ),
        (
            worker,
            model,
            [task.job_id for task in tasks],
            [task.generation for task in tasks],
            [task.policy for task in tasks],
            [task.filter_values for task in tasks],
            [job_id for job_id, _ in chunks],
            [chunk.index for _, chunk in chunks],
            [chunk.start for _, chunk in chunks],
            [chunk.end for _, chunk in chunks],
            [chunk.text for _, chunk in chunks],
            [vectors.by_text.get(chunk.text) for _, chunk in chunks],
        ),
    )
    return bool(written[0]["written"])


def _reason(error: PgaskError) -> str:
    return error.message if error.detail is None else f"{error.message}: {error.detail}"


def _delay(attempts: int) -> float:
    """Seconds until the next attempt: 2^attempts, with jitter."""
    return min(300.0, 2.0**attempts) * random.uniform(0.75, 1.25)  # noqa: S311 - jitter
