"""Jobs -> embeddings: what a pass makes of texts, and of a model that misbehaves.

A session loads the client of an endpoint once, which takes a second: what fits together is one
test.
"""

from __future__ import annotations

import re
import time
from itertools import pairwise
from typing import TYPE_CHECKING

import psycopg
import pytest

if TYPE_CHECKING:
    from psycopg import Connection

    from pgask.testing.model_server import ModelServer


@pytest.fixture
def kb(connection: Connection, stub_model: ModelServer) -> Connection:
    """An empty source kb.note, the stub as its model, and nothing to do."""
    connection.execute("create schema kb")
    connection.execute(
        "create table kb.note (id int primary key, title text, body text, category text)"
    )
    connection.execute(
        "select pgask.register_source('kb.note', '{{title}}\\n{{body}}',"
        " filter_columns => '{category}')"
    )
    connection.execute("call pgask.work()")
    stub_model.forget()
    return connection


def _pass(connection: Connection) -> None:
    """A pass for which every waiting job is due."""
    connection.execute(
        "update pgask.embedding_job set run_after = now(), lease_until = null"
        " where status = 'pending'"
    )
    connection.execute("call pgask.work()")


def _jobs(connection: Connection) -> list[tuple[str, str, int, str | None]]:
    return connection.execute(
        "select source_id, status, attempts, error from pgask.embedding_job order by id"
    ).fetchall()


def _embedded(connection: Connection) -> list[str]:
    rows = connection.execute(
        "select source_id from pgask.embedding group by 1 order by source_id::int"
    ).fetchall()
    return [row[0] for row in rows]


def test_fixed_chunks_are_exact_slices_of_the_rendered_text(
    kb: Connection, stub_model: ModelServer
) -> None:
    kb.execute("create table kb.long (id int primary key, title text, body text)")
    kb.execute("select pgask.register_source('kb.long', '{{title}}\\n\\n{{body}}', 'fixed(20, 5)')")
    body = "  The naïve café 🙂 serves crème brûlée.\tTwo\n\nlines, and {{title}} too. " * 9
    kb.execute("insert into kb.long values (1, 'A title 🙂', %s), (2, 'short', 'text')", [body])
    kb.execute("call pgask.work()")
    chunks = kb.execute(
        "select chunk_index, char_start, char_end, chunk_text from pgask.embedding"
        " where source_id = '1' order by chunk_index"
    ).fetchall()
    text = f"A title 🙂\n\n{body}"
    assert len(chunks) > 5
    assert [index for index, *_ in chunks] == list(range(len(chunks)))
    assert all(chunk == text[start:end] for _, start, end, chunk in chunks)
    assert all(a[2] >= b[1] for a, b in pairwise(chunks))
    stub_model.forget()
    kb.execute("select pgask.enqueue('kb.long')")
    kb.execute("call pgask.work()")
    assert stub_model.requests == []
    kb.execute("update kb.long set body = left(body, 300) || ' end' where id = 1")
    kb.execute("call pgask.work()")
    left = kb.execute(
        "select max(char_end), count(*) from pgask.embedding where source_id = '1'"
    ).fetchone()
    assert left is not None
    assert left[0] == len("A title 🙂\n\n") + 304
    assert 0 < len(stub_model.inputs) < left[1]


def test_an_unchanged_text_keeps_its_vector_and_a_new_model_embeds_what_is_superseded(
    kb: Connection, stub_model: ModelServer
) -> None:
    kb.execute("insert into kb.note values (1, 'alpha'), (2, 'beta'), (3, 'alpha')")
    kb.execute("call pgask.work()")
    assert sorted(stub_model.inputs) == ["alpha", "beta"]
    kept = "select source_id, vector::text from pgask.embedding order by 1"
    before = kb.execute(kept).fetchall()
    stub_model.forget()
    kb.execute("select pgask.enqueue('kb.note')")
    kb.execute("call pgask.work()")
    assert stub_model.requests == []
    assert kb.execute(kept).fetchall() == before

    kb.execute("select pgask.set_setting('embedding_model', 'openai/other')")
    assert kb.execute("select stale, embedding_models from pgask.source_status").fetchone() == (
        3,
        ["openai/stub"],
    )
    kb.execute("insert into kb.note values (4, 'gamma')")
    kb.execute("call pgask.work()")
    found = kb.execute("select source_id from pgask.search('alpha beta', 10)").fetchall()
    assert found == [("4",)]
    assert kb.execute("select stale from pgask.source_status").fetchone() == (3,)
    questions = "select distinct embedding_model from pgask.nl_query"
    assert kb.execute(questions).fetchall() == [("openai/other",)]
    kb.execute("select pgask.enqueue('kb.note')")
    kb.execute("call pgask.work()")
    assert kb.execute("select stale, embedding_models from pgask.source_status").fetchone() == (
        0,
        ["openai/other"],
    )


def test_a_model_that_is_down_costs_no_attempt_and_loses_nothing(
    kb: Connection, stub_model: ModelServer
) -> None:
    notices: list[str] = []
    kb.add_notice_handler(lambda notice: notices.append(notice.message_primary or ""))
    kb.execute("insert into kb.note select i, 'note ' || i from generate_series(1, 3) i")
    for behaviour in ({"status": 500}, {"status": 503}, {"fault": "dropped"}, {"status": 401}):
        stub_model.behave(**behaviour)
        stub_model.forget()
        _pass(kb)
        assert len(stub_model.requests) == 1
        jobs = _jobs(kb)
        assert [job[1:3] for job in jobs] == [("pending", 0)] * 3
        assert all(job[3] for job in jobs)
    kb.execute("select pgask.set_setting('embedding_timeout', '0.2')")
    stub_model.behave(delay=1.0)
    _pass(kb)
    assert [job[1:3] for job in _jobs(kb)] == [("pending", 0)] * 3
    assert len(notices) == 5
    assert all("3 jobs wait" in notice for notice in notices)
    kb.execute("select pgask.set_setting('embedding_timeout', null)")
    stub_model.recover()
    stub_model.forget()
    kb.execute("call pgask.work()")
    assert stub_model.requests == []  # not due yet
    _pass(kb)
    assert (_jobs(kb), _embedded(kb)) == ([], ["1", "2", "3"])


def test_a_provider_that_asks_for_time_is_left_alone_by_everybody(
    kb: Connection, stub_model: ModelServer
) -> None:
    kb.execute("insert into kb.note values (1, 'one')")
    stub_model.behave(status=429, retry_after=2, times=1)
    kb.execute("call pgask.work()")
    asked = time.monotonic()
    kb.execute("insert into kb.note values (2, 'two')")
    kb.execute("call pgask.work()")
    assert len(stub_model.requests) == 1
    assert [job[:3] for job in _jobs(kb)] == [("1", "pending", 0), ("2", "pending", 0)]
    time.sleep(max(0.0, 2.2 - (time.monotonic() - asked)))
    kb.execute("call pgask.work()")
    assert (_jobs(kb), _embedded(kb)) == ([], ["1", "2"])


def test_nonsense_from_the_model_is_charged_and_a_failed_job_can_be_retried(
    kb: Connection, stub_model: ModelServer
) -> None:
    kb.execute("select pgask.set_setting('max_attempts', '4')")
    kb.execute("insert into kb.note values (1, 'one'), (2, 'two')")
    for attempt, fault in enumerate(("wrong_count", "nan", "zero", "wrong_dimension"), 1):
        stub_model.behave(fault=fault)
        stub_model.forget()
        _pass(kb)
        assert len(stub_model.requests) <= 3
        status = "failed" if attempt == 4 else "pending"
        assert [job[1:3] for job in _jobs(kb)] == [(status, attempt)] * 2
    assert _embedded(kb) == []
    failed = kb.execute("select source_id, attempts, error from pgask.failed_job").fetchall()
    assert [(source_id, attempts) for source_id, attempts, _ in failed] == [("1", 4), ("2", 4)]
    assert all("dimension" in error for *_, error in failed)

    stub_model.recover()
    stub_model.forget()
    kb.execute("call pgask.work()")
    assert stub_model.requests == []
    kb.execute("update kb.note set title = 'new two' where id = 2")
    kb.execute("call pgask.work()")
    assert _embedded(kb) == ["2"]
    assert kb.execute("select pgask.retry_failed('kb.note')").fetchone() == (1,)
    kb.execute("call pgask.work()")
    assert (_jobs(kb), _embedded(kb)) == ([], ["1", "2"])
    # A reply that is wrong once is no reason to wait.
    stub_model.behave(fault="wrong_count", times=1)
    kb.execute("insert into kb.note values (3, 'three'), (4, 'four')")
    kb.execute("call pgask.work()")
    assert (_jobs(kb), _embedded(kb)) == ([], ["1", "2", "3", "4"])


def test_a_poisonous_text_costs_its_own_row_and_few_requests(
    kb: Connection, stub_model: ModelServer
) -> None:
    kb.execute("insert into kb.note select i, 'note ' || i from generate_series(1, 32) i")
    kb.execute("update kb.note set title = 'POISON' where id = 13")
    stub_model.behave(refuse_marker="POISON")
    kb.execute("call pgask.work()")
    assert [job[:3] for job in _jobs(kb)] == [("13", "failed", 1)]
    assert len(_embedded(kb)) == 31
    assert len(stub_model.requests) <= 11  # all, then twice five halves
    stub_model.forget()
    kb.execute("call pgask.work()")
    assert stub_model.requests == []
    stub_model.behave(most_inputs=5)
    kb.execute("update kb.note set title = 'again ' || id")
    kb.execute("call pgask.work()")
    assert (_jobs(kb), len(_embedded(kb))) == ([], 32)


def test_a_source_that_cannot_be_read_or_is_locked_stops_no_other(
    kb: Connection, stub_model: ModelServer, pgask_database: str
) -> None:
    kb.execute("create table kb.odd (id int primary key, body text)")
    kb.execute("create view kb.odd_view as select id, body, 10 / (id - 2) as x from kb.odd")
    kb.execute(
        "select pgask.register_source('kb.odd_view', '{{body}} {{x}}', key_columns => '{id}')"
    )
    kb.execute("insert into kb.odd select i, 'odd ' || i from generate_series(1, 4) i")
    kb.execute("select pgask.enqueue('kb.odd_view', '{1,2,3,4}')")
    kb.execute(
        "insert into pgask.embedding_job (source_schema, source_table, source_id)"
        " values ('kb', 'odd_view', 'not a number')"
    )
    kb.execute("insert into kb.note values (10, 'ten')")
    kb.execute("call pgask.work()")
    assert _embedded(kb) == ["1", "3", "4", "10"]
    assert [job[:3] for job in _jobs(kb)] == [("2", "pending", 1), ("not a number", "pending", 1)]
    assert "division by zero" in str(_jobs(kb)[0][3])

    kb.execute("delete from pgask.embedding_job; drop view kb.odd_view")
    kb.execute(
        "insert into pgask.embedding_job (source_schema, source_table, source_id)"
        " values ('kb', 'odd_view', '1')"
    )
    with psycopg.connect(pgask_database) as other:
        kb.execute("create table kb.busy (id int primary key, body text)")
        kb.execute("select pgask.register_source('kb.busy', '{{body}}')")
        kb.execute("insert into kb.busy select i, 'busy ' || i from generate_series(100, 200) i")
        kb.execute("insert into kb.note values (11, 'eleven')")
        other.execute("lock table kb.busy")
        began = time.monotonic()
        kb.execute("call pgask.work()")
        assert time.monotonic() - began < 5
        assert _embedded(kb) == ["1", "3", "4", "10", "11"]
    _pass(kb)
    assert len(_embedded(kb)) == 106


def test_work_says_so_when_it_is_called_inside_a_transaction(connection: Connection) -> None:
    with pytest.raises(psycopg.Error) as raised, connection.transaction():
        connection.execute("call pgask.work()")
    assert raised.value.sqlstate == "PA501"


def test_an_empty_pass_takes_a_few_milliseconds(connection: Connection) -> None:
    connection.execute("call pgask.work()")
    seconds: list[float] = []
    for _ in range(15):
        began = time.perf_counter()
        connection.execute("call pgask.work()")
        seconds.append(time.perf_counter() - began)
    assert min(seconds) < 0.005


def test_the_jobs_of_a_source_are_found_by_the_index_on_it(connection: Connection) -> None:
    connection.execute(
        "insert into pgask.embedding_job (source_schema, source_table, source_id)"
        " select 's', 't' || i % 20, i::text from generate_series(1, 20000) i"
    )
    connection.execute("analyze pgask.embedding_job")
    plan = "\n".join(
        row[0]
        for row in connection.execute(
            "explain select o.id from pgask.embedding_job o where (o.source_schema, o.source_table)"
            " = ('s', 't3') and o.status = 'pending' and o.run_after <= now()"
            " order by o.source_id limit 64 for update skip locked"
        )
    )
    assert re.search(r"Index Scan using one_open_job_per_source_row", plan), plan
    assert "Sort" not in plan


def test_the_index_is_left_out_for_a_load_and_built_after_it(connection: Connection) -> None:
    connection.execute("create schema kb")
    connection.execute("create table kb.note (id int primary key, body text)")
    connection.execute("select pgask.register_source('kb.note', '{{body}}')")
    connection.execute("insert into kb.note select i, '' from generate_series(1, 600) i")
    index = "select to_regclass('pgask.embedding_vector_hnsw') is not null"
    connection.execute("call pgask.work(max_jobs => 64)")
    assert connection.execute(index).fetchone() == (False,)
    connection.execute("call pgask.work()")
    assert connection.execute(index).fetchone() == (True,)
    # A worker that was killed in the middle of a load has left none.
    connection.execute("drop index pgask.embedding_vector_hnsw")
    connection.execute("call pgask.work()")
    assert connection.execute(index).fetchone() == (True,)
