"""The pytest plugin as an application uses it."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import psycopg
import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from pgask import Client
    from pgask.testing.database import TestServer
    from pgask.testing.model_server import ModelServer

_SUITE = """
import psycopg

def test_a_change(pgask_connection):
    pgask_connection.execute("insert into pgask.word values ('mine')")

def test_starts_without_it(pgask_connection, pgask_database):
    assert pgask_connection.execute("select count(*) from pgask.word").fetchone() == (0,)
    with psycopg.connect(pgask_database) as other:
        assert other.execute("select current_database()").fetchone() != ("{template}",)
"""


@pytest.fixture
def installed(pgask_empty_database: str) -> str:
    """The name of a database with a stand-in for pgask."""
    with psycopg.connect(pgask_empty_database) as connection:
        connection.execute("create schema pgask")
        connection.execute("create table pgask.word (word text)")
        return connection.info.dbname


def test_each_test_of_an_application_has_its_own_clone(
    tmp_path: Path, installed: str, pgask_server: TestServer
) -> None:
    (tmp_path / "test_application.py").write_text(_SUITE.replace("{template}", installed))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path),
         "--rootdir", str(tmp_path), "--pgask-template", installed,
         "--pgask-url", pgask_server.url(installed)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    assert "2 passed" in done.stdout, done.stdout + done.stderr


def test_a_clone_is_dropped_even_while_somebody_is_connected(
    pgask_server: TestServer, connection: psycopg.Connection[tuple[object, ...]]
) -> None:
    with pgask_server.database() as name:
        lingering = psycopg.connect(pgask_server.url(name))
    found = connection.execute("select 1 from pg_database where datname = %s", [name]).fetchone()
    lingering.close()
    assert found is None


def test_the_stub_model_is_the_model_of_this_database(
    client: Client, connection: psycopg.Connection[tuple[object, ...]], stub_model: ModelServer
) -> None:
    connection.execute("create table public.note (id integer primary key, words text)")
    connection.execute("insert into public.note values (1, 'red apple')")
    client.register_source("public.note", "{{words}}")
    client.work()
    assert "red apple" in stub_model.inputs
