"""The pytest plugin itself; `pgask.testing` says how to use it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

# Every run of pytest in an environment that has pgask loads this module: what takes time to
# import is imported by the fixture that needs it.
if TYPE_CHECKING:
    import psycopg
    from psycopg.rows import TupleRow

    from pgask import Client
    from pgask.testing.database import TestServer
    from pgask.testing.model_server import ModelServer

Install = Callable[[str], None]
"""Installs pgask into the empty database with the given URL."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of this plugin."""
    group = parser.getgroup("pgask", "pgask: databases with pgask installed")
    group.addoption(
        "--pgask-url",
        metavar="URL",
        default=None,
        help="superuser URL of the PostgreSQL server for tests (default: $PGASK_TEST_URL)",
    )
    group.addoption(
        "--pgask-template",
        metavar="NAME",
        default=None,
        help="clone this database, which has pgask installed, instead of installing pgask",
    )


def _option(request: pytest.FixtureRequest, name: str) -> str | None:
    value: object = request.config.getoption(name)
    return None if value is None else str(value)


@pytest.fixture(scope="session")
def pgask_server(request: pytest.FixtureRequest) -> TestServer:
    """The server on which the tests make their databases."""
    url = _option(request, "--pgask-url") or os.environ.get("PGASK_TEST_URL")
    if not url:
        pytest.fail(
            "No PostgreSQL server for tests: give --pgask-url or set PGASK_TEST_URL to the URL "
            "of a superuser.",
            pytrace=False,
        )
    try:
        from pgask.testing.database import TestServer
    except ModuleNotFoundError as error:
        pytest.fail(f"{error}. Install pgask[testing].", pytrace=False)
    return TestServer(url)


@pytest.fixture(scope="session")
def pgask_install() -> Install:
    """How pgask is installed: override it, or set PGASK_INSTALL to the path of the installer."""
    installer = os.environ.get("PGASK_INSTALL")
    if not installer:
        pytest.fail(
            "How is pgask installed? Override the fixture pgask_install, set PGASK_INSTALL to "
            "the path of migrations/install.py, or give --pgask-template.",
            pytrace=False,
        )

    def install(url: str) -> None:
        # By the environment, not as an argument: a URL holds a password.
        environment = {**os.environ, "DATABASE_URL": url}
        done = subprocess.run(  # noqa: S603 (the path is the caller's own)
            [sys.executable, str(Path(installer))],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            pytest.fail(f"{installer} failed:\n{done.stdout}{done.stderr}", pytrace=False)

    return install


@pytest.fixture(scope="session")
def pgask_template(request: pytest.FixtureRequest, pgask_server: TestServer) -> Iterator[str]:
    """The name of a database with pgask installed, from which every test's is cloned."""
    existing = _option(request, "--pgask-template")
    if existing:
        yield existing
        return
    install: Install = request.getfixturevalue("pgask_install")
    with pgask_server.database(as_template=True) as name:
        install(pgask_server.url(name))
        yield name


@pytest.fixture
def pgask_database(pgask_server: TestServer, pgask_template: str) -> Iterator[str]:
    """The URL of a database with pgask installed, for this test alone."""
    with pgask_server.database(pgask_template) as name:
        yield pgask_server.url(name)


@pytest.fixture
def pgask_empty_database(pgask_server: TestServer) -> Iterator[str]:
    """The URL of a new database without pgask, for this test alone."""
    with pgask_server.database() as name:
        yield pgask_server.url(name)


@pytest.fixture
def pgask_connection(
    pgask_database: str,
) -> Iterator[psycopg.Connection[TupleRow]]:
    """A connection to this test's database, in autocommit mode, with rows as tuples."""
    import psycopg

    with psycopg.connect(pgask_database, autocommit=True) as connection:
        yield connection


@pytest.fixture
def pgask_client(pgask_database: str) -> Iterator[Client]:
    """A client of this test's database."""
    from pgask import Client

    with Client(pgask_database) as client:
        yield client


@pytest.fixture
def pgask_model_server() -> Iterator[ModelServer]:
    """A running stub of an OpenAI-compatible server, whose failures the test chooses."""
    from pgask.testing.model_server import ModelServer

    with ModelServer() as server:
        yield server


@pytest.fixture
def pgask_stub_model(pgask_client: Client, pgask_model_server: ModelServer) -> ModelServer:
    """The stub server, set as the embedding model `openai/stub` of this test's database."""
    pgask_client.set_setting("embedding_base_url", pgask_model_server.url)
    pgask_client.set_setting("embedding_model", "openai/stub")
    return pgask_model_server
