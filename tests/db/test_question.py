"""save_question: what it refuses, and how it says so; the built-in questions and their vectors."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import psycopg
import pytest

from pgask.testing.model_server import Behaviour

if TYPE_CHECKING:
    from psycopg.rows import TupleRow

    from pgask.testing.model_server import ModelServer

    Connection = psycopg.Connection[TupleRow]

DEEP = "[" * 1200 + "]" * 1200


def refused(connection: Connection, call: str, *values: object) -> psycopg.errors.Diagnostic:
    """What the call is refused with."""
    with pytest.raises(psycopg.Error) as caught:
        connection.execute(f"select {call}", values)  # type: ignore[arg-type]
    diag = caught.value.diag
    # In the CONTEXT of each error PL/Python names the functions; that much is its own.
    assert "Traceback" not in f"{diag.message_primary}{diag.message_detail}{diag.message_hint}"
    return diag


ABSENT = [
    ("PA002", "pgask.set_setting(null, 'x')"),
    ("PA002", "pgask.set_setting(null, null)"),
    ("PA002", "pgask._get_setting(null)"),
    ("PA101", "pgask.register_source(null, '{{a}}')"),
    ("PA102", "pgask.register_source('note', null)"),
    ("PA104", "pgask.register_source('note', '{{a}}', 'none', array['a', null])"),
    ("PA104", "pgask.register_source('note', '{{a}}', 'none', array[array['a', 'a']])"),
    ("PA101", "pgask.register_source('note', '{{a}}', key_columns => array[null]::text[])"),
    ("PA411", "pgask.save_question(null)"),
    ("PA411", "pgask.save_question('')"),
    ("PA411", "pgask.save_question(E'\\u200b')"),
    ("PA411", "pgask.save_question('x', phrasings => array['y', null])"),
    ("PA411", "pgask.save_question('x', phrasings => array[array['y'], array['z']])"),
    ("PA411", "pgask.save_question('x', phrasings => array[' '])"),
    ("PA411", "pgask.save_question(repeat('x', 2001))"),
    ("PA411", "pgask.save_question('x', phrasings => array[repeat('y', 2001)])"),
    ("PA411", "pgask.save_question('x', label => repeat('y', 201))"),
    ("PA411", "pgask.save_question('x', scope_key => ' ')"),
    ("PA402", "pgask._analyse_statement(null)"),
    ("PA402", "pgask._analyse_statement('select 1', '[]')"),
    ("PA402", "pgask._analyse_statement('select 1', '{\"a\": 7}')"),
    ("PA202", "pgask._embed_query(null)"),
    ("PA202", "pgask._embed_texts(array['a', null])"),
    ("PA412", "ask('x', '[]')"),
    ("PA412", "ask('x', 'null')"),
]


def test_what_is_absent_is_a_clear_error(connection: Connection) -> None:
    connection.execute("create table note (id integer primary key, a text)")
    found = [(refused(connection, call).sqlstate, call) for _, call in ABSENT]
    assert found == ABSENT


def test_an_absent_argument_with_a_default_is_that_default(connection: Connection) -> None:
    connection.execute("create table note (id integer primary key, a text)")
    connection.execute("insert into note values (1, 'one')")
    connection.execute(
        "select pgask.register_source('note', '{{a}}', null, null, backfill => null)"
    )
    assert connection.execute(
        "select r.chunking_policy, r.filter_columns from pgask.embedding_ingest_registry r"
    ).fetchone() == ("none", [])
    connection.execute(
        "select pgask.save_question('How many?', null, null, null, null, null, null, null, null)"
    )
    assert connection.execute(
        "select q.derived_sqls, q.params, q.phrasings, q.scope_key, q.is_shared"
        " from pgask.nl_query q where q.status = 'draft'"
    ).fetchone() == ([], [], [], "global", False)
    for call in ("ask(null)", "ask(null, null, null)", "pgask.answer(null, null, null)::text"):
        row = connection.execute(f"select {call}").fetchone()  # type: ignore[arg-type]
        assert row is not None
        assert "Type a question" in row[0]


SQLS = [
    "{}", "7", '"select 1"', "null", "true", "[[]]", "[null]", "[7]", "[{}]", "[[[]]]",
    '[{"sql": null}]', '[{"sql": 7}]', '[{"sql": ["select 1"]}]', '[{"sql": {}}]', '[" "]',
    '[{"sql": "select 1", "title": []}]', '[{"sql": "select 1", "title": 7}]',
    '[{"sql": "select 1", "display": 7}]', '[{"sql": "select 1", "display": ["bar"]}]',
    '[{"sql": "select 1", "display": {"a": 1}}]', '[{"sql": "select 1", "more": 1}]', DEEP,
]  # fmt: skip


def test_sqls_of_a_wrong_shape_are_refused(connection: Connection) -> None:
    for sqls in SQLS:
        call = "pgask.save_question('x', %s)"
        assert refused(connection, call, sqls).sqlstate == "PA411", sqls


PARAMS = [
    "{}", "7", '"[]"', '"x"', "null", "true", "[[]]", "[null]", "[7]", '["n"]', "[{}]", DEEP,
    '[{"name": 7}]', '[{"name": null}]', '[{"name": []}]', '[{"name": "N"}]',
    *(
        json.dumps([{"name": "n", **wrong}])
        for wrong in (
            {"type": 7}, {"type": []}, {"type": {}}, {"type": "money"}, {"more": 1},
            {"default": []}, {"default": {}}, {"default": True},
            {"type": "integer", "default": "x"}, {"type": "integer", "default": [1]},
            {"type": "integer", "default": {}}, {"type": "integer", "default": True},
            {"type": "number", "default": []}, {"type": "boolean", "default": []},
            {"type": "date", "default": 7}, {"type": "date", "default": {}},
            {"type": "timestamp", "default": []}, {"type": "integer", "example": {}},
            {"values": {}}, {"values": "a"}, {"values": 7}, {"values": [[]]},
            {"values": [{"a": 1}]}, {"type": "integer", "values": ["x"]},
            {"type": "integer", "min": []}, {"type": "integer", "max": {}},
            {"min": 1}, {"column": 7}, {"column": []}, {"pattern": []}, {"pattern": "("},
            {"required": "yes"}, {"required": []},
        )
    ),
]  # fmt: skip


def test_params_of_a_wrong_shape_are_refused(connection: Connection) -> None:
    for params in PARAMS:
        call = "pgask.save_question('The {n} best', '[]', %s)"
        assert refused(connection, call, params).sqlstate == "PA411", params


def test_the_longest_prompt_and_label_are_kept(connection: Connection) -> None:
    connection.execute(
        "select pgask.save_question(rpad('word ', 2000, 'word '), label => repeat('y', 200))"
    )


def test_a_fault_of_pgask_is_an_error_without_a_traceback(connection: Connection) -> None:
    connection.execute("select pgask._boot()")
    connection.execute("""
        do language plpython3u $$
        from pgask_server import configured, settings
        def write(db, name, value):
            configured._KEYS.add("sk-secret")
            return {}[f"no such thing \\0 sk-secret {name}"]
        settings.write = write
        $$
    """)
    diag = refused(connection, "pgask.set_setting('row_limit', '1')")
    assert diag.sqlstate == "PA000"
    assert diag.message_primary == "pgask failed: KeyError"
    assert "no such thing" in str(diag.message_detail)
    assert "row_limit" in str(diag.message_detail)
    assert "sk-secret" not in f"{diag.message_detail}{diag.context}{diag.message_hint}"
    assert "settings.py" not in f"{diag.message_detail}{diag.context}"
    assert connection.execute("select 1").fetchone() == (1,)


def test_built_in_questions_ask_a_model_only_for_what_lacks_a_vector(
    connection: Connection, stub_model: ModelServer
) -> None:
    count = connection.execute(
        "select count(*) from pgask.nl_query q where q.status = 'system'"
    ).fetchone()
    assert count is not None
    connection.execute("select pgask._refresh_builtin_questions()")
    assert len(stub_model.requests) == count[0]
    stub_model.forget()
    connection.execute("select pgask._refresh_builtin_questions()")
    connection.execute("update pgask.nl_query set notes = 'x', schema_fingerprint = 'PostgreSQL 1'")
    before = vectors(connection)
    connection.execute("select pgask._refresh_builtin_questions()")
    assert vectors(connection) == before
    assert stub_model.requests == []
    connection.execute(
        "update pgask.nl_query set notes = 'x' where status = 'system' and label ="
        " (select min(q.label) from pgask.nl_query q where q.status = 'system')"
    )
    connection.execute(
        "update pgask.nl_query set query_vector = null, embedding_model = null where label ="
        " (select min(q.label) from pgask.nl_query q where q.status = 'system')"
    )
    connection.execute("select pgask._refresh_builtin_questions()")
    assert len(stub_model.requests) == 1


def vectors(connection: Connection) -> list[TupleRow]:
    return connection.execute(
        "select q.label, q.query_vector::text, q.embedding_model from pgask.nl_query q order by 1"
    ).fetchall()


def test_an_endpoint_that_hangs_holds_up_the_installer_once(
    connection: Connection, stub_model: ModelServer
) -> None:
    connection.execute("select pgask.set_setting('embedding_timeout', '1')")
    stub_model.behave(delay=20)
    started = time.monotonic()
    connection.execute("select pgask._refresh_builtin_questions()")
    assert time.monotonic() - started < 10
    assert len(stub_model.requests) == 1
    stub_model.recover()
    connection.execute("call pgask.work()")
    assert {model for _, _, model in vectors(connection)} == {"openai/stub"}


def test_an_endpoint_that_fails_leaves_the_vectors_to_the_worker(
    connection: Connection, stub_model: ModelServer
) -> None:
    for behaviour in (Behaviour(status=500), Behaviour(status=400), Behaviour(fault="nan")):
        stub_model.behave(behaviour)
        connection.execute("select pgask._refresh_builtin_questions()")
        assert {model for _, _, model in vectors(connection)} == {None}
