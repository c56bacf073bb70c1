"""ask and answer: what they show of what they ran, and what they say when they cannot."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, cast

import psycopg
import pytest

from pgask.testing.model_server import Behaviour

if TYPE_CHECKING:
    from collections.abc import Mapping

    from psycopg.rows import TupleRow

    from pgask.testing.model_server import ModelServer

    Connection = psycopg.Connection[TupleRow]

EDITOR = "pgask_test_editor"
READER = "pgask_test_reader"
SECRET = "SELECT pg_read_file('PG_VERSION'::text) AS content"


@pytest.fixture
def people(connection: Connection) -> Connection:
    """The superuser; an editor and a reader are there."""
    for name, group in ((EDITOR, "pgask_editor"), (READER, "pgask_reader")):
        connection.execute(
            f"""do $$ begin
                if to_regrole('{name}') is null then create role {name} login; end if;
            end $$;
            grant {group} to {name}"""  # type: ignore[arg-type]
        )
    return connection


def answer(connection: Connection, question: str, params: str = "{}") -> Mapping[str, object]:
    row = connection.execute("select pgask.answer(%s, %s)", [question, params]).fetchone()
    assert row is not None
    return cast("Mapping[str, object]", row[0])


def store(
    connection: Connection,
    prompt: str,
    canonical: str,
    *,
    sql: str = "select 1 as content",
    types: list[str] | None = None,
) -> str:
    """A shared draft of the session's user of which nothing was checked, as only the owner of
    pgask can store one: what follows must hold all the same."""
    statement = {
        "sql": sql,
        "canonical": canonical,
        "arguments": [],
        "types": types or [],
        "columns": [],
        "display": "table",
    }
    (who,) = connection.execute("select session_user::text").fetchone() or ("",)
    connection.execute("reset session authorization")
    row = connection.execute(
        "select pgask._store_question(null, %s, '[]', (pgask._embed_texts(array[%s]))[1],"
        " pgask._get_setting('embedding_model'), %s, '[]', null, 'global', true, null)::text",
        [prompt, prompt, json.dumps([statement])],
    ).fetchone()
    assert row is not None
    connection.execute("insert into pgask.profile (name) values (%s) on conflict do nothing", [who])
    connection.execute(
        "update pgask.nl_query set owner_id = p.id from pgask.profile p"
        " where p.name = %s and nl_query.id = %s",
        [who, row[0]],
    )
    if who.startswith("pgask_test"):
        connection.execute(f"set session authorization {who}".encode())
    return str(row[0])


def code_of(connection: Connection, question: str, *before: str) -> str | None:
    """The SQLSTATE with which the question fails in a read-only transaction; None: answered."""
    try:
        with connection.transaction():
            for statement in ("set transaction read only", *before):
                connection.execute(statement)  # type: ignore[arg-type]
            assert answer(connection, question)["outcome"] == "answered"
    except psycopg.Error as error:
        return error.sqlstate
    return None


def test_a_shared_draft_of_another_is_not_trusted_where_nothing_can_be_checked(
    people: Connection, pgask_database: str
) -> None:
    people.execute(f"set session authorization {EDITOR}")
    forged = store(people, "What stands in the file of versions?", SECRET)
    people.execute("reset session authorization")
    with psycopg.connect(pgask_database, autocommit=True) as other:
        assert code_of(other, "What stands in the file of versions?") == "PA401"
    people.execute("update pgask.nl_query set status = 'approved' where id = %s", [forged])
    with psycopg.connect(pgask_database, autocommit=True) as other:
        assert code_of(other, "What stands in the file of versions?") is None
    people.execute("update pgask.nl_query set retired_at = now() where id = %s", [forged])
    with psycopg.connect(pgask_database, autocommit=True) as other, other.transaction():
        other.execute("set transaction read only")
        with pytest.raises(psycopg.Error) as caught:
            other.execute("select pgask._run_read_only(%s)", [SECRET])
        assert caught.value.sqlstate == "PA401"


def test_a_draft_runs_for_its_owner_and_for_no_definer_where_nothing_can_be_checked(
    people: Connection, pgask_database: str
) -> None:
    people.execute(f"set session authorization {EDITOR}")
    people.execute("select pgask.save_question('How many fingers?', '[\"select 5 as fingers\"]')")
    store(people, "What stands in the file of versions?", SECRET)
    people.execute("reset session authorization")
    people.execute(
        "create function public.lent(question text) returns jsonb language sql security definer"
        " begin atomic select pgask.answer(question); end"
    )
    with psycopg.connect(pgask_database, autocommit=True) as other:
        other.execute(f"set session authorization {EDITOR}")
        assert code_of(other, "How many fingers?") is None
        other.execute("set default_transaction_read_only = on")
        with pytest.raises(psycopg.Error) as caught:
            other.execute("select public.lent('What stands in the file of versions?')")
        assert caught.value.sqlstate == "PA401"
        other.execute("set session authorization default")
        assert code_of(other, "How many fingers?") == "PA401"


def test_a_trusted_text_is_trusted_with_its_own_types_only(
    people: Connection, pgask_database: str
) -> None:
    people.execute(
        "insert into pgask.nl_query (canonical_prompt, status, derived_sqls) values"
        """ ('x', 'system', '[{"canonical": "SELECT $1 AS a", "types": ["integer"]}]')"""
    )
    call = "select pgask._run_read_only('SELECT $1 AS a', %s, '{1}')::text"
    with psycopg.connect(pgask_database, autocommit=True) as other, other.transaction():
        other.execute("set transaction read only")
        assert other.execute(call, [["integer"]]).fetchone() is not None
        with pytest.raises(psycopg.Error) as caught:
            other.execute(call, [["text"]])
        assert caught.value.sqlstate == "PA401"


def test_an_answer_shows_the_statement_that_ran(people: Connection) -> None:
    people.execute(f"set session authorization {EDITOR}")
    store(
        people,
        "How many apples are left?",
        "SELECT 99 AS apples",
        sql="select count(*) as apples from shop.apple",
    )
    assert answer(people, "How many apples are left?")["sql"] == ["SELECT 99 AS apples"]


def test_a_shown_statement_names_its_parameters_and_leaves_texts_alone(
    connection: Connection,
) -> None:
    sql = (
        "select c.name, '$1 :n it''s' as \"a$2\", (array[1, 2, 3])[1: :n] as some"
        " from (values ('red'), ('blue')) c (name)"
        " where length(c.name) <= :n and c.name <> :shade limit :n"
    )
    connection.execute(
        "select pgask.save_question('Colours of shade {shade} with at most {n} letters', %s, %s)",
        [
            json.dumps([sql]),
            json.dumps([{"name": "n", "type": "integer"}, {"name": "shade"}]),
        ],
    )
    found = answer(connection, "Colours of shade dark with at most 3 letters", '{"shade": "dark"}')
    (sql,) = cast("list[str]", found["sql"])
    flat = " ".join(sql.split())
    assert "'$1 :n it''s'" in flat
    assert '"a$2"' in flat
    assert "[1: :n]" in flat
    assert "<> :shade" in flat
    assert "LIMIT :n" in flat
    assert "$3" not in flat
    assert "Only" not in str(found["narrative"])


FAULTS = [
    *(Behaviour(status=status) for status in (500, 429, 401, 404, 400)),
    *(
        Behaviour(fault=fault)
        for fault in ("dropped", "not_json", "half_body", "wrong_count", "nan", "zero")
    ),
]


def test_a_model_that_fails_is_said_in_words(people: Connection, stub_model: ModelServer) -> None:
    people.execute(f"set session authorization {READER}")
    for behaviour in FAULTS:
        stub_model.behave(behaviour)
        found = answer(people, "Which tables take the most space?")
        assert (found["outcome"], found["source"]) == ("no_match", "none")
        narrative = str(found["narrative"])
        assert narrative.startswith("The question cannot be understood at the moment: ")
        assert "pgask:" not in narrative
        assert not narrative.endswith("..")
        row = people.execute("select ask('Which tables take the most space?')").fetchone()
        assert row is not None
        assert "cannot be understood at the moment" in row[0]


def test_a_model_that_nobody_configured_is_said_in_words(people: Connection) -> None:
    people.execute("select pgask.set_setting('embedding_model', 'openai/none')")
    people.execute("select pgask.set_setting('embedding_base_url', 'http://127.0.0.1:9/v1')")
    found = answer(people, "Which tables take the most space?")
    assert str(found["narrative"]).startswith("The question cannot be understood at the moment: ")
    people.execute("select pgask.set_setting('embedding_model', 'local/nothing-there')")
    found = answer(people, "Which tables take the most space?")
    assert str(found["narrative"]).startswith("The question cannot be understood at the moment: ")


def test_a_content_search_that_fails_leaves_the_nearest_questions(
    people: Connection, stub_model: ModelServer
) -> None:
    people.execute("select pgask._refresh_builtin_questions()")
    people.execute("create table note (id integer primary key, body text)")
    people.execute("insert into note values (1, 'Parental leave lasts a year')")
    people.execute("select pgask.register_source('note', '{{body}}')")
    people.execute("call pgask.work()")
    people.execute("select pgask.save_question('What is said about leave?')")
    people.execute(
        "create or replace function pgask._read_query(query text, out query_vector vector,"
        " out embedding_model text) language plpgsql stable security definer as $$ begin"
        " raise exception 'pgask: the endpoint is down' using errcode = 'PA201'; end $$"
    )
    found = answer(people, "how do whales sing to tables")
    assert found["outcome"] == "no_match"
    assert str(found["narrative"]).endswith(
        "and the content cannot be searched at the moment: the endpoint is down."
    )
    assert found["choices"]
    found = answer(people, "What is said about leave?")
    assert (found["outcome"], found["source"]) == ("no_match", "saved")
    assert found["narrative"] == (
        "The content cannot be searched at the moment: the endpoint is down."
    )


def test_a_text_without_a_word_is_answered_as_a_blank_one(
    people: Connection, stub_model: ModelServer
) -> None:
    people.execute("create table note (id integer primary key, body text)")
    people.execute("insert into note values (1, 'Parental leave lasts a year')")
    people.execute("select pgask.register_source('note', '{{body}}')")
    people.execute("call pgask.work()")
    stub_model.behave(status=400)
    for text in ("", " \n", "\u200b", "\u00a0\u2003", "???"):
        assert str(answer(people, text)["narrative"]).startswith("Type a question"), repr(text)


def test_an_error_that_went_through_sql_keeps_its_code_and_says_pgask_once(
    connection: Connection, stub_model: ModelServer
) -> None:
    stub_model.behave(status=500)
    with pytest.raises(psycopg.Error) as caught:
        connection.execute("select pgask.save_question('How many whales are there?')")
    assert caught.value.sqlstate == "PA201"
    assert str(caught.value.diag.message_primary).count("pgask") == 1


def test_parameters_that_are_nested_too_deeply_are_an_error_of_the_parameters(
    connection: Connection,
) -> None:
    # How deep is too deep differs by the version of Python.
    def outcome(depth: int) -> str | None:
        try:
            answer(connection, "x", '{"a": ' + "[" * depth + "]" * depth + "}")
        except psycopg.Error as error:
            return error.sqlstate
        return None

    assert {outcome(depth) for depth in (1200, 6000)} <= {None, "PA412"}
