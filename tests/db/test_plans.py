"""The plan of every hot query uses its index; read from the server's own auto_explain."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg.errors import Diagnostic

Explain = Callable[[str], str] if TYPE_CHECKING else object


@pytest.fixture
def explain(connection: Connection) -> Explain:
    """Runs a statement; the plans of it and of everything inside it."""
    connection.execute("create schema kb")
    connection.execute("create table kb.note (id bigint primary key, body text, category text)")
    connection.execute(
        "insert into kb.note select i, 'note ' || i, 'c' || i % 50 from generate_series(1, 300) i"
    )
    connection.execute(
        "select pgask.register_source('kb.note', '{{body}}', filter_columns => '{category}')"
    )
    # Vectors that no model made: a plan does not care.
    connection.execute(
        "insert into pgask.embedding (source_schema, source_table, source_id, chunk_index,"
        " chunk_text, char_start, char_end, vector, embedding_model, chunking_used, filter_values)"
        " select 'kb', 'note', i::text, 0, 'note ' || i, 0, 5,"
        " (select array_agg(random()) from generate_series(1, 1024 + i - i))::real[]::vector,"
        " 'local/all-MiniLM-L6-v2', 'none', jsonb_build_object('category', 'c' || i % 50)"
        " from generate_series(1, 300) i"
    )
    connection.execute("insert into kb.note select i, 'more' from generate_series(301, 310) i")
    connection.execute("analyze")
    plans: list[str] = []

    def collect(notice: Diagnostic) -> None:
        plans.append(notice.message_primary or "")

    connection.add_notice_handler(collect)
    connection.execute("load 'auto_explain'")
    for setting, value in {
        "auto_explain.log_min_duration": "0",
        "auto_explain.log_nested_statements": "on",
        "client_min_messages": "log",
        # Few rows: what is guarded is that the index can serve the query at all.
        "enable_seqscan": "off",
        "enable_sort": "off",
        "jit": "off",
    }.items():
        connection.execute("select set_config(%s, %s, false)", [setting, value])

    def run(statement: str) -> str:
        plans.clear()
        connection.execute(statement.encode())
        return "\n".join(plans)

    return run


def _plan_of(plans: str, query: str) -> str:
    """The plan whose query text matches."""
    found = [
        plan
        for plan in re.split(r"(?=duration: )", plans)
        if re.search(query, plan.replace("\n", " "))
    ]
    assert found, f"no statement matches {query!r}"
    return "\n".join(found)


def test_a_search_walks_the_vector_index(explain: Explain) -> None:
    plan = explain("select * from pgask.search('note', 5)")
    assert "embedding_vector_hnsw" in _plan_of(plan, r"Query Text: select array_agg\(n.id\)")


def test_the_statement_of_the_specification_walks_the_vector_index(explain: Explain) -> None:
    plan = explain(
        "select source_id, chunk_text from pgask.embedding"
        " where source_schema = 'kb' and source_table = 'note'"
        " order by vector <=> pgask._embed_query('note') limit 5"
    )
    assert "embedding_vector_hnsw" in _plan_of(plan, "Query Text: select source_id, chunk_text")


def test_a_filter_can_use_its_index(explain: Explain) -> None:
    plan = explain(
        'select count(*) from pgask.embedding where filter_values @> \'{"category": "c7"}\''
    )
    assert "embedding_filter_values_gin" in plan


def test_matching_walks_the_index_of_the_questions(explain: Explain) -> None:
    plan = explain("select pgask.answer('which tables take the most space?')")
    assert "nl_query_vector_hnsw" in _plan_of(plan, "_nearest_questions|query_vector")


def test_claiming_finds_due_jobs_by_index(explain: Explain) -> None:
    plan = explain("select * from pgask._claim('me', 10, interval '1 minute', null, null)")
    claims = [_plan_of(plan, rf"set status = '{status}'") for status in ("running", "pending")]
    for claim in claims:
        assert "Seq Scan on embedding_job" not in claim
        assert "Index Scan using" in claim


def test_rows_are_read_by_their_key(explain: Explain) -> None:
    plan = explain("select * from pgask._read_rows('kb', 'note', '{1,2,3}')")
    assert "note_pkey" in plan


def test_a_deleted_row_finds_its_chunks_by_index(explain: Explain) -> None:
    plan = explain("delete from kb.note where id = 7")
    assert "a_chunk_is_stored_once" in _plan_of(plan, "delete from pgask.embedding e")
    assert "one_open_job_per_source_row" in _plan_of(plan, "delete from pgask.embedding_job j")
