"""The plugin's fixtures under shorter names, for a test suite in which nothing else has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import psycopg
    from psycopg.rows import TupleRow

    from pgask import Client
    from pgask.testing.model_server import ModelServer


@pytest.fixture
def connection(
    pgask_connection: psycopg.Connection[TupleRow],
) -> psycopg.Connection[TupleRow]:
    """A connection to this test's database, in autocommit mode, with rows as tuples."""
    return pgask_connection


@pytest.fixture
def client(pgask_client: Client) -> Client:
    """A client of this test's database."""
    return pgask_client


@pytest.fixture
def model_server(pgask_model_server: ModelServer) -> ModelServer:
    """A running stub of an OpenAI-compatible server, whose failures the test chooses."""
    return pgask_model_server


@pytest.fixture
def stub_model(pgask_stub_model: ModelServer) -> ModelServer:
    """The stub server, set as the embedding model `openai/stub` of this test's database."""
    return pgask_stub_model
