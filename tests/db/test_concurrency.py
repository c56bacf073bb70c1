"""Sessions that meet: nothing is lost, nothing is left over, and the application never waits."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import psycopg
import pytest

if TYPE_CHECKING:
    from collections.abc import Generator

    from psycopg import Connection

    from pgask.testing.model_server import ModelServer

PATIENCE = 0.1
"""Seconds that a statement of the application may take while a worker is at work."""


@pytest.fixture
def kb(connection: Connection, stub_model: ModelServer) -> Connection:
    """A source kb.note of which row 1 is embedded, and nothing to do."""
    connection.execute("create schema kb")
    connection.execute("create table kb.note (id int primary key, body text, category text)")
    connection.execute(
        "select pgask.register_source('kb.note', '{{body}}', filter_columns => '{category}')"
    )
    connection.execute("insert into kb.note values (1, 'old text')")
    connection.execute("call pgask.work()")
    stub_model.forget()
    return connection


@contextmanager
def _worker(
    url: str, model: ModelServer, delay: float = 0.0, requests: int = 1
) -> Generator[threading.Thread]:
    """A pass in a session of its own, which has sent so many requests when this begins.

    delay: seconds that the model takes for the first of them.
    """
    session = psycopg.connect(url, autocommit=True)
    session.execute("select pgask._embed_query('warm')")
    model.forget()
    if delay:
        model.behave(delay=delay, times=1)
    thread = threading.Thread(target=lambda: session.execute("call pgask.work()"))
    thread.start()
    try:
        _until(lambda: len(model.requests) >= requests or not thread.is_alive())
        yield thread
    finally:
        thread.join(30)
        session.close()
        assert not thread.is_alive()


def _until(condition: object) -> None:
    assert callable(condition)
    ends = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < ends
        time.sleep(0.01)


def _quickly(connection: Connection, statement: str) -> None:
    """The application's statement, which must not wait for the worker."""
    began = time.perf_counter()
    connection.execute(statement.encode())
    assert time.perf_counter() - began < PATIENCE


def _state(connection: Connection) -> tuple[list[tuple[str, str]], int]:
    texts = connection.execute(
        "select source_id, chunk_text from pgask.embedding order by 1"
    ).fetchall()
    jobs = connection.execute("select count(*) from pgask.embedding_job").fetchone()
    assert jobs is not None
    return texts, jobs[0]


@pytest.mark.parametrize(
    ("change", "after"),
    [
        ("update kb.note set body = 'newer' where id = 2", [("1", "old text"), ("2", "newer")]),
        ("delete from kb.note where id = 2", [("1", "old text")]),
        ("update kb.note set id = 3 where id = 2", [("1", "old text"), ("3", "new")]),
        ("truncate kb.note", []),
        ("truncate kb.note; insert into kb.note values (2, 'again')", [("2", "again")]),
        ("delete from kb.note where id = 2; insert into kb.note values (2, 'again')",
         [("1", "old text"), ("2", "again")]),
    ],
)  # fmt: skip
def test_a_change_of_a_row_that_is_being_embedded_is_neither_lost_nor_orphaned(
    kb: Connection,
    stub_model: ModelServer,
    pgask_database: str,
    change: str,
    after: list[tuple[str, str]],
) -> None:
    kb.execute("update kb.note set category = 'warm'")  # the trigger's own first time
    kb.execute("insert into kb.note values (2, 'new')")
    with _worker(pgask_database, stub_model, delay=1.0):
        _quickly(kb, change)
    assert kb.execute("select count(*) from pgask.embedding where chunk_text = 'new'"
                      " and source_id = '2'").fetchone() == (0,)  # fmt: skip
    kb.execute("call pgask.work()")
    assert _state(kb) == (after, 0)


def test_two_workers_share_the_work_and_embed_nothing_twice(
    kb: Connection, stub_model: ModelServer, pgask_database: str
) -> None:
    kb.execute("select pgask.set_setting('embedding_batch', '8')")
    kb.execute("insert into kb.note select i, 'note ' || i from generate_series(2, 81) i")
    stub_model.behave(delay=0.1)
    with _worker(pgask_database, stub_model):
        kb.execute("call pgask.work()")
    assert len(stub_model.inputs) == len(set(stub_model.inputs)) == 80
    assert len(_state(kb)[0]) == 81
    assert _state(kb)[1] == 0


def test_an_expired_lease_is_taken_over_and_the_late_writer_writes_nothing(
    kb: Connection, stub_model: ModelServer, pgask_database: str
) -> None:
    kb.execute("select pgask.set_setting('lease_seconds', '1')")
    kb.execute("update kb.note set body = 'new text'")
    with _worker(pgask_database, stub_model, delay=3.0) as late:
        kb.execute("call pgask.work()")
        assert _state(kb)[1] == 1  # the lease still holds
        time.sleep(1.1)
        kb.execute("call pgask.work()")
        assert late.is_alive()
        assert _state(kb) == ([("1", "new text")], 0)
        written = kb.execute("select xmin::text, ctid::text from pgask.embedding").fetchall()
    assert kb.execute("select xmin::text, ctid::text from pgask.embedding").fetchall() == written
    assert _state(kb) == ([("1", "new text")], 0)


def test_a_job_of_a_session_that_is_gone_is_taken_over_at_once(
    kb: Connection, stub_model: ModelServer
) -> None:
    kb.execute("update kb.note set body = 'new text'")
    kb.execute(
        "update pgask.embedding_job set status = 'running', attempts = 1,"
        " worker = '999999999-0123abcd', lease_until = now() + interval '1 hour'"
    )
    kb.execute("call pgask.work()")
    assert _state(kb) == ([("1", "new text")], 0)
    kb.execute("update kb.note set body = 'other text'")
    kb.execute(
        "update pgask.embedding_job set status = 'running',"
        " worker = 'elsewhere', lease_until = now() + interval '1 hour'"
    )
    kb.execute("call pgask.work()")
    assert _state(kb) == ([("1", "new text")], 1)


def test_an_open_transaction_blocks_no_worker_and_its_rows_follow_when_it_ends(
    kb: Connection, stub_model: ModelServer, pgask_database: str
) -> None:
    kb.execute("insert into kb.note values (2, 'two'), (3, 'three')")
    with psycopg.connect(pgask_database) as application:
        # One has its job locked, one its chunks, and one is deleted.
        application.execute("update kb.note set body = 'two, changed' where id = 2")
        application.execute("delete from kb.note where id = 1")
        application.execute("insert into kb.note values (4, 'four')")
        kb.execute("select pgask._enqueue_rows('kb', 'note', '{1}')")
        began = time.monotonic()
        kb.execute("call pgask.work()")
        assert time.monotonic() - began < 1
        assert _state(kb)[0] == [("1", "old text"), ("3", "three")]
        application.commit()
    kb.execute("update pgask.embedding_job set run_after = now()")
    kb.execute("call pgask.work()")
    assert _state(kb) == ([("2", "two, changed"), ("3", "three"), ("4", "four")], 0)


@pytest.mark.parametrize("ends", ["commit", "rollback"])
def test_a_transaction_that_is_open_while_its_row_is_embedded_is_followed_however_it_ends(
    kb: Connection, stub_model: ModelServer, pgask_database: str, ends: str
) -> None:
    kb.execute("update kb.note set body = 'second'")
    with psycopg.connect(pgask_database) as application:
        with _worker(pgask_database, stub_model, delay=0.5):
            _quickly(application, "update kb.note set body = 'third'")
        application.execute(ends.encode())
    kb.execute("update pgask.embedding_job set run_after = now()")
    kb.execute("call pgask.work()")
    assert _state(kb) == ([("1", "third" if ends == "commit" else "second")], 0)


def test_a_transaction_that_holds_the_whole_table_does_not_stop_other_sources(
    kb: Connection, stub_model: ModelServer, pgask_database: str
) -> None:
    kb.execute("create table kb.other (id int primary key, body text)")
    kb.execute("select pgask.register_source('kb.other', '{{body}}')")
    kb.execute("insert into kb.other values (7, 'seven')")
    kb.execute("insert into kb.note values (2, 'two')")
    with psycopg.connect(pgask_database) as application:
        application.execute("truncate kb.note")
        kb.execute("call pgask.work()")
        assert _state(kb)[0] == [("1", "old text"), ("7", "seven")]
        application.rollback()
    kb.execute("update pgask.embedding_job set run_after = now()")
    kb.execute("call pgask.work()")
    assert _state(kb) == ([("1", "old text"), ("2", "two"), ("7", "seven")], 0)


def test_an_index_build_makes_no_application_wait_and_no_deleted_row_stay(
    kb: Connection, stub_model: ModelServer, pgask_database: str
) -> None:
    kb.execute("insert into kb.note values (2, 'two')")
    kb.execute("update kb.note set category = 'warm'")
    kb.execute("call pgask.work()")
    with psycopg.connect(pgask_database) as builder:
        builder.execute("lock table pgask.embedding in share mode")  # as CREATE INDEX takes it
        _quickly(kb, "delete from kb.note where id = 1")
        _quickly(kb, "update kb.note set body = 'changed' where id = 2")
        _quickly(kb, "insert into kb.note values (3, 'three')")
    kb.execute("call pgask.work()")
    assert _state(kb) == ([("2", "changed"), ("3", "three")], 0)


def test_writers_and_workers_at_full_speed_end_in_the_state_of_the_table(
    kb: Connection, stub_model: ModelServer, pgask_database: str
) -> None:
    failures: list[psycopg.Error] = []

    def write(first: int) -> None:
        try:
            with psycopg.connect(pgask_database, autocommit=True) as session:
                for i in range(40):
                    row = first + i % 10
                    session.execute(
                        "insert into kb.note values (%s, %s) on conflict (id)"
                        " do update set body = excluded.body",
                        [row, f"text {i} of {row}"],
                    )
                    if i % 7 == 3:
                        session.execute("delete from kb.note where id = %s", [row])
        except psycopg.Error as error:
            failures.append(error)

    writers = [threading.Thread(target=write, args=(first,)) for first in (100, 200)]
    for writer in writers:
        writer.start()
    with _worker(pgask_database, stub_model, requests=0):
        while any(writer.is_alive() for writer in writers):
            kb.execute("call pgask.work()")
    assert failures == []
    kb.execute("update pgask.embedding_job set run_after = now()")
    kb.execute("call pgask.work()")
    rows = kb.execute("select id::text, body from kb.note order by 1").fetchall()
    assert _state(kb) == (rows, 0)
