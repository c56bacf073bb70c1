"""A worker or a server that dies in the middle: everything converges afterwards."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest

from pgask.testing.model_server import ModelServer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pgask.testing.database import TestServer
    from pgask.testing.plugin import Install

pytestmark = pytest.mark.slow


class Cluster:
    """A PostgreSQL of this test's own, which may be killed."""

    def __init__(self, directory: Path, programs: Path, environment: dict[str, str]) -> None:
        self._data = directory / "data"
        self._programs = programs
        self._directory = directory
        self._environment = environment
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        self.url = f"postgresql://pgask@127.0.0.1:{self._port}/postgres"
        self._run("initdb", "-D", str(self._data), "-U", "pgask", "-A", "trust", "-E", "UTF8",
                  "--locale=C.UTF-8", "--no-sync")  # fmt: skip

    def start(self) -> None:
        options = f"-p {self._port} -k '' -c listen_addresses=127.0.0.1 -c max_connections=20"
        self._run("pg_ctl", "start", "-w", "-s", "-D", str(self._data), "-o", options,
                  "-l", str(self._directory / "log"))  # fmt: skip

    def stop(self) -> None:
        """As after a power cut."""
        self._run("pg_ctl", "stop", "-w", "-s", "-m", "immediate", "-D", str(self._data))

    def kill(self, process: int) -> None:
        subprocess.run([*self._as_server(), "kill", "-9", str(process)], check=True)

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [*self._as_server(), str(self._programs / program), *arguments],
            check=True,
            cwd="/",
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            timeout=120,
        )

    @staticmethod
    def _as_server() -> list[str]:
        if os.geteuid() != 0:
            return []
        runuser = shutil.which("runuser", path="/usr/sbin:/sbin:/usr/bin:/bin")
        assert runuser is not None
        return [runuser, "-u", "postgres", "--"]


@pytest.fixture(scope="module")
def cluster(pgask_server: TestServer, pgask_install: Install) -> Iterator[Cluster]:
    with psycopg.connect(pgask_server.url("postgres")) as connection:
        row = connection.execute(
            "select setting, pg_backend_pid() from pg_config where name = 'BINDIR'"
        ).fetchone()
        assert row is not None
        programs = Path(row[0])
        environment = _environment(row[1])
    directory = Path(tempfile.mkdtemp(prefix="pgask-crash-"))
    if os.geteuid() == 0:
        shutil.chown(directory, "postgres")
    cluster = Cluster(directory, programs, environment)
    try:
        cluster.start()
        pgask_install(cluster.url)
        yield cluster
        cluster.stop()
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _environment(backend: int) -> dict[str, str]:
    """The environment of the server for tests, where this machine lets us see it."""
    try:
        content = Path(f"/proc/{backend}/environ").read_bytes().decode(errors="replace")
    except OSError:
        pytest.skip("the server's environment cannot be seen: it runs elsewhere")
    pairs = [entry.partition("=") for entry in content.split("\0") if "=" in entry]
    return {name: value for name, _, value in pairs if not name.startswith("PG_")}


@pytest.fixture
def model(cluster: Cluster) -> Iterator[ModelServer]:
    """The stub as the cluster's model, a source of three rows, and a pass that is under way."""
    with ModelServer() as model:
        with psycopg.connect(cluster.url, autocommit=True) as session:
            session.execute("drop schema if exists kb cascade")
            session.execute("truncate pgask.embedding, pgask.embedding_job")
            session.execute("delete from pgask.embedding_ingest_registry")
            session.execute("select pgask.set_setting('embedding_base_url', %s)", [model.url])
            session.execute("select pgask.set_setting('embedding_model', 'openai/stub')")
            session.execute("create schema kb")
            session.execute("create table kb.note (id int primary key, body text)")
            session.execute("select pgask.register_source('kb.note', '{{body}}')")
            session.execute("call pgask.work()")
            session.execute("insert into kb.note values (1, 'one'), (2, 'two'), (3, 'three')")
        model.forget()
        yield model


def _start_a_pass(cluster: Cluster, model: ModelServer) -> int:
    """A pass that waits for the model; the process of its backend."""
    model.behave(delay=30)
    session = psycopg.connect(cluster.url, autocommit=True)

    def run() -> None:
        try:
            session.execute("call pgask.work()")
        except psycopg.OperationalError:
            pass
        finally:
            session.close()

    threading.Thread(target=run, daemon=True).start()
    ends = time.monotonic() + 30
    while not model.requests and time.monotonic() < ends:
        time.sleep(0.02)
    assert model.requests
    model.recover()
    return session.info.backend_pid


def _connect(cluster: Cluster) -> psycopg.Connection:
    ends = time.monotonic() + 30
    while True:
        try:
            return psycopg.connect(cluster.url, autocommit=True)
        except psycopg.OperationalError:
            if time.monotonic() > ends:
                raise
            time.sleep(0.1)


def _converges(cluster: Cluster, change: str) -> None:
    with _connect(cluster) as session:
        session.execute(change.encode())
        session.execute("call pgask.work()")
        found = session.execute(
            "select source_id, chunk_text from pgask.embedding order by 1"
        ).fetchall()
        assert found == session.execute("select id::text, body from kb.note order by 1").fetchall()
        assert session.execute("select count(*) from pgask.embedding_job").fetchone() == (0,)
        index = session.execute("select to_regclass('pgask.embedding_vector_hnsw') is not null")
        assert index.fetchone() == (True,)


def test_a_killed_backend_loses_nothing(cluster: Cluster, model: ModelServer) -> None:
    backend = _start_a_pass(cluster, model)
    cluster.kill(backend)
    time.sleep(0.5)  # the server restarts its sessions
    _converges(cluster, "update kb.note set body = 'two, new' where id = 2")


def test_a_server_that_stops_at_once_loses_nothing(cluster: Cluster, model: ModelServer) -> None:
    _start_a_pass(cluster, model)
    cluster.stop()
    cluster.start()
    _converges(cluster, "delete from kb.note where id = 1")


def test_a_load_that_dies_without_the_vector_index_gets_it_back(
    cluster: Cluster, model: ModelServer
) -> None:
    with psycopg.connect(cluster.url, autocommit=True) as session:
        session.execute("insert into kb.note select i, 'n' || i from generate_series(4, 600) i")
    _start_a_pass(cluster, model)
    with psycopg.connect(cluster.url) as session:
        gone = session.execute("select to_regclass('pgask.embedding_vector_hnsw') is null")
        assert gone.fetchone() == (True,)
    cluster.stop()
    cluster.start()
    _converges(cluster, "insert into kb.note values (601, 'last')")
