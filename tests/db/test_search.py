"""search: what it finds, what it takes without an error, and that the index serves it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg
import pytest

if TYPE_CHECKING:
    from psycopg import Connection

MODEL = "local/all-MiniLM-L6-v2"


@pytest.fixture
def kb(connection: Connection) -> Connection:
    """Sources kb.note and kb.memo with five rows, embedded by the real model."""
    connection.execute("create schema kb")
    for table in ("note", "memo"):
        connection.execute(f"create table kb.{table} (id int primary key, body text, kind text,"
                           " year int)".encode())  # fmt: skip
        connection.execute(
            f"select pgask.register_source('kb.{table}', '{{{{body}}}}',"
            " filter_columns => '{kind, year}')".encode()
        )
    connection.execute(
        "insert into kb.note values (1, 'The cat sleeps on the sofa', 'pet', 2020),"
        " (2, 'Dogs like to chase a ball', 'pet', 2021),"
        " (3, 'The central bank raised interest rates', 'money', null)"
    )
    connection.execute("insert into kb.memo values (1, 'A kitten drinks milk', 'pet', 2020),"
                       " (2, 'Mortgages became dearer', 'money', 2021)")  # fmt: skip
    connection.execute("call pgask.work()")
    return connection


def _search(connection: Connection, arguments: str) -> list[tuple[str, str]]:
    return connection.execute(
        f"select s.source_table, s.source_id from pgask.search({arguments}) s".encode()
    ).fetchall()


def test_search_narrows_by_source_filter_number_and_similarity(kb: Connection) -> None:
    assert _search(kb, "'a cat', 2") == [("note", "1"), ("memo", "1")]
    assert _search(kb, "'a cat', source => 'kb.note'")[0] == ("note", "1")
    assert _search(kb, "'a cat', source => 'memo', k => 1") == [("memo", "1")]
    assert {key for key, _ in _search(kb, "'feline', source => 'kb.memo'")} == {"memo"}
    assert _search(kb, """'feline', filter => '{"kind": "money", "year": 2021}'""") == [
        ("memo", "2")
    ]
    assert _search(kb, """'feline', filter => '{"year": null}'""") == [("note", "3")]
    assert _search(kb, """'feline', filter => '{"kind": "none"}'""") == []
    assert len(_search(kb, "'feline', k => 10000")) == 5
    assert _search(kb, "'feline', min_similarity => 0.99") == []
    assert _search(kb, "'A kitten drinks milk', min_similarity => 0.99") == [("memo", "1")]
    similarities = kb.execute("select similarity, score from pgask.search('pets')").fetchall()
    assert similarities == sorted(similarities, reverse=True)
    assert all(-1 <= similarity <= 1.0001 for similarity, _ in similarities)


@pytest.mark.parametrize(
    "query", [None, "", " ", "\t\n", "\u00a0", "\u200b\ufeff", "\u0301", "\ue000"]
)
def test_a_query_without_a_visible_character_finds_nothing(
    kb: Connection, query: str | None
) -> None:
    assert kb.execute("select * from pgask.search(%s)", [query]).fetchall() == []


@pytest.mark.parametrize(
    "query",
    [
        "🙂", "👩‍👩‍👧 🏳️‍🌈", "?", "'", '"', "\\", "$$ $function$", "%s {0} {{body}}", "a' or 1=1;--",
        "\x01\x02 bell \x07", "mañana 日本語 العربية", "x" * 100_000, "many words " * 10_000,
        "<script>alert(1)</script>", "-1e309",
    ],
)  # fmt: skip
def test_no_text_is_too_odd_to_search_for(kb: Connection, query: str) -> None:
    assert len(kb.execute("select * from pgask.search(%s)", [query]).fetchall()) == 5


@pytest.mark.parametrize(
    ("sqlstate", "arguments"),
    [
        ("PA301", "'x', 0"),
        ("PA301", "'x', 10001"),
        ("PA301", "'x', null"),
        ("PA301", "'x', mode => 'magic'"),
        ("PA301", "'x', filter => '[]'"),
        ("PA301", "'x', filter => null"),
        ("PA105", "'x', source => 'kb.absent'"),
        ("PA105", "'x', source => ''"),
        ("PA105", "'x', source => 'a.b.c'"),
        ("PA105", """'x', source => '"'"""),
    ],
)
def test_a_wrong_argument_is_refused_by_name(kb: Connection, sqlstate: str, arguments: str) -> None:
    with pytest.raises(psycopg.Error) as raised:
        _search(kb, arguments)
    assert raised.value.sqlstate == sqlstate


@pytest.fixture
def many(connection: Connection) -> Connection:
    """5,000 synthetic chunks, 5 of them rare; 50 of another model."""
    connection.execute("create schema kb")
    connection.execute("create table kb.big (id int primary key, body text)")
    connection.execute("select pgask.register_source('kb.big', '{{body}}', backfill => false)")
    connection.execute("drop index pgask.embedding_vector_hnsw")
    connection.execute(
        "insert into pgask.embedding (source_schema, source_table, source_id, chunk_index,"
        " chunk_text, char_start, char_end, vector, embedding_model, chunking_used, filter_values)"
        " select 'kb', 'big', i::text, 0, 'text', 0, 4,"
        " (select array_agg(sin(i * 12.9898 + d * 78.233)) || array_fill(0::float8, array[1008])"
        "  from generate_series(1, 16) d)::vector,"
        " case when i % 100 = 7 then 'openai/other' else %s end, 'none',"
        " case when i % 1000 = 0 then '{\"rare\": true}' else '{}' end::jsonb"
        " from generate_series(1, 5000) i".replace("%", "%%").replace("%%s", "%s"),
        [MODEL],
    )
    connection.execute("call pgask.work()")
    connection.execute("analyze pgask.embedding")
    return connection


NEAREST = (
    "select s.source_id from pgask._search_vector((select e.vector from pgask.embedding e"
    " where e.source_id = '1'), %s, {k}, null, null, {filter}, null) s"
)


def test_a_filter_that_one_chunk_in_a_thousand_passes_still_gives_them_all(
    many: Connection,
) -> None:
    found = many.execute(
        NEAREST.format(k=10, filter="'{\"rare\": true}'").encode(), [MODEL]
    ).fetchall()
    assert {row[0] for row in found} == {"1000", "2000", "3000", "4000", "5000"}
    assert (
        len(many.execute(NEAREST.format(k=300, filter="'{}'").encode(), [MODEL]).fetchall()) == 300
    )


def test_vectors_of_two_models_never_meet(many: Connection) -> None:
    found = many.execute(NEAREST.format(k=200, filter="'{}'").encode(), ["openai/other"]).fetchall()
    assert {int(row[0]) % 100 for row in found} == {7}
    assert len(found) == 50


@pytest.mark.parametrize("role", ["none", "pgask_reader"])
def test_the_nearest_are_found_by_the_vector_index(many: Connection, role: str) -> None:
    many.execute("grant usage on schema kb to pgask_reader; grant select on kb.big to pgask_reader")
    many.execute(f"set role {role}".encode())
    plan = "\n".join(
        row[0]
        for row in many.execute(
            "explain select e.id from pgask.embedding e where e.embedding_model = %s order by"
            " e.vector <=> ('[1' || repeat(',0', 1023) || ']')::vector limit 10",
            [MODEL],
        )
    )
    many.execute("reset role")
    assert "Index Scan using embedding_vector_hnsw" in plan, plan
