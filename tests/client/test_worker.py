"""The worker: woken by a change, stopped by a signal, back after a lost connection."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import psycopg
import pytest

from pgask import Client, errors
from pgask.worker import Worker, next_batch

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from psycopg.rows import TupleRow

    from pgask.testing.model_server import ModelServer


@pytest.fixture
def notes(
    connection: psycopg.Connection[TupleRow], client: Client, stub_model: ModelServer
) -> psycopg.Connection[TupleRow]:
    """A connection to a database with an empty registered table `note`."""
    connection.execute("create table public.note (id integer primary key, words text not null)")
    client.register_source("public.note", "{{words}}")
    return connection


@contextmanager
def _working(dsn: str, count: int = 1, poll: float = 60) -> Generator[list[str]]:
    lines: list[str] = []
    worker = Worker(dsn, count=count, poll=poll, report=lines.append)
    thread = threading.Thread(target=worker.run)
    thread.start()
    try:
        yield lines
    finally:
        worker.stop()
        thread.join(30)
        assert not thread.is_alive()


def _until(happened: Callable[[], bool], seconds: float = 15) -> float:
    began = time.monotonic()
    while not happened():
        assert time.monotonic() - began < seconds, "it did not happen in time"
        time.sleep(0.02)
    return time.monotonic() - began


def _embedded(connection: psycopg.Connection[TupleRow]) -> int:
    row = connection.execute("select count(*) from pgask.embedding").fetchone()
    assert row is not None
    return int(row[0])


def test_a_change_wakes_the_worker(
    notes: psycopg.Connection[TupleRow], pgask_database: str
) -> None:
    with _working(pgask_database, count=2):
        notes.execute("insert into public.note values (1, 'first')")
        _until(lambda: _embedded(notes) == 1)
        time.sleep(0.3)
        notes.execute("insert into public.note values (2, 'second')")
        assert _until(lambda: _embedded(notes) == 2) < 5


def test_a_worker_whose_connection_is_lost_comes_back(
    notes: psycopg.Connection[TupleRow], pgask_database: str
) -> None:
    with _working(pgask_database) as lines:
        notes.execute("insert into public.note values (1, 'first')")
        _until(lambda: _embedded(notes) == 1)
        notes.execute(
            "select pg_terminate_backend(a.pid) from pg_stat_activity as a "
            "where a.datname = current_database() and a.query ilike '%pgask_job%' "
            "and a.pid <> pg_backend_pid()"
        )
        notes.execute(
            "select pg_terminate_backend(a.pid) from pg_stat_activity as a "
            "where a.datname = current_database() and a.application_name = 'pgask' "
            "and a.pid <> pg_backend_pid()"
        )
        _until(lambda: bool(lines))
        notes.execute("insert into public.note values (2, 'second')")
        _until(lambda: _embedded(notes) == 2)
    assert "trying again" in lines[0]


def test_a_model_that_is_down_is_not_asked_in_a_hurry(
    notes: psycopg.Connection[TupleRow], pgask_database: str, stub_model: ModelServer
) -> None:
    stub_model.behave(status=500)
    notes.execute("insert into public.note values (1, 'first')")
    with _working(pgask_database) as lines:
        _until(lambda: bool(lines))
        asked = len(stub_model.requests)
        time.sleep(1.5)
        assert len(stub_model.requests) - asked <= 2


@pytest.fixture
def two_sources(
    notes: psycopg.Connection[TupleRow], client: Client, pgask_database: str
) -> Generator[psycopg.Connection[TupleRow]]:
    """Table `note` with 400 rows, and a source with 200 that nobody can read: it is locked."""
    notes.execute("insert into public.note select n, 'word ' || n from generate_series(1, 400) n")
    notes.execute("create table public.shut (id integer primary key, words text not null)")
    notes.execute("insert into public.shut select n, 'shut ' || n from generate_series(1, 200) n")
    client.register_source("public.shut", "{{words}}")
    with psycopg.connect(pgask_database) as holder:
        holder.execute("lock table public.shut in access exclusive mode")
        yield notes


def test_a_source_that_cannot_be_read_does_not_slow_the_others(
    two_sources: psycopg.Connection[TupleRow], pgask_database: str
) -> None:
    with _working(pgask_database) as lines:
        _until(lambda: _embedded(two_sources) == 400)
        two_sources.execute("insert into public.note values (401, 'late')")
        _until(lambda: _embedded(two_sources) == 401)
    assert "public.shut cannot be read" in lines[0]


def test_one_run_of_work_embeds_what_can_be_read(
    two_sources: psycopg.Connection[TupleRow], pgask_database: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pgask", "work", "--dsn", pgask_database],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert _embedded(two_sources) == 400
    assert "public.shut cannot be read" in done.stderr
    assert done.returncode == 1


def test_jobs_of_a_source_at_rest_do_not_keep_the_worker_running(
    notes: psycopg.Connection[TupleRow], pgask_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes.execute("insert into public.note values (1, 'first')")
    notes.execute("update pgask.embedding_ingest_registry set is_active = false")
    passes: list[int] = []
    work = Client.work

    def counted(client: Client, *, max_jobs: int | None = None) -> None:
        passes.append(1)
        work(client, max_jobs=max_jobs)

    monkeypatch.setattr(Client, "work", counted)
    with _working(pgask_database):
        _until(lambda: len(passes) > 1)
        time.sleep(1.5)
    assert len(passes) <= 3


def test_a_database_without_pgask_ends_the_worker(pgask_empty_database: str) -> None:
    with pytest.raises(errors.NotInstalled):
        Worker(pgask_empty_database, count=2).run()


def test_sigterm_ends_the_command_after_its_batch(
    notes: psycopg.Connection[TupleRow], pgask_database: str, stub_model: ModelServer
) -> None:
    stub_model.behave(delay=0.5)
    notes.execute("insert into public.note values (1, 'first')")
    process = subprocess.Popen(
        [sys.executable, "-m", "pgask", "worker", "-n", "2"],
        env={**os.environ, "PGASK_DSN": pgask_database, "PYTHONPATH": os.pathsep.join(sys.path)},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        _until(lambda: len(stub_model.requests) > 0)
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 0
    assert log.splitlines()[-1] == "stopped"
    assert _embedded(notes) == 1


def test_a_second_stop_does_not_wait_for_the_model(
    notes: psycopg.Connection[TupleRow], pgask_database: str, stub_model: ModelServer
) -> None:
    stub_model.behave(delay=10)
    notes.execute("insert into public.note values (1, 'first')")
    worker = Worker(pgask_database, grace=60, report=lambda _: None)
    thread = threading.Thread(target=worker.run)
    thread.start()
    _until(lambda: len(stub_model.requests) > 0)
    worker.stop()
    worker.stop()
    thread.join(9)
    assert not thread.is_alive()


@pytest.mark.parametrize(
    ("batch", "seconds", "following"),
    [(64, 0.5, 128), (64, 4, 64), (64, 20, 32), (16, 20, 16), (4096, 0.1, 4096)],
)
def test_a_batch_takes_a_few_seconds(batch: int, seconds: float, following: int) -> None:
    assert next_batch(batch, seconds) == following
