"""The command: what it prints, and its exit codes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from pgask import cli

if TYPE_CHECKING:
    from collections.abc import Callable

    import psycopg
    from psycopg.rows import TupleRow

    from pgask import Client
    from pgask.testing.model_server import ModelServer

    Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(
    pgask_database: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    """Runs `pgask` with arguments; gives its exit code, output and errors."""

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setenv("PGASK_DSN", pgask_database)
        monkeypatch.setenv("COLUMNS", "120")
        monkeypatch.setattr("sys.argv", ["pgask", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        captured = capsys.readouterr()
        code = ended.value.code
        return code if isinstance(code, int) else 0, captured.out, captured.err

    return run


@pytest.fixture
def orders(client: Client) -> None:
    """A saved question with a parameter."""
    client.save_question(
        "How many orders came in {year}",
        ["select count(*) as orders from generate_series(1, :year) as n"],
        [{"name": "year", "type": "integer", "example": 2012}],
    )


@pytest.mark.usefixtures("orders")
def test_ask_prints_the_answer(run: Run) -> None:
    code, output, _ = run("ask", "How many orders came in 2012")
    assert code == 0
    assert "2,012" in output


@pytest.mark.usefixtures("orders")
def test_ask_takes_parameters_and_prints_json(run: Run) -> None:
    code, output, _ = run("ask", "How many orders came in", "--param", "year=2013", "--json")
    assert code == 0
    assert json.loads(output)["tables"][0]["rows"] == [[2013]]


@pytest.mark.usefixtures("orders")
def test_ask_prints_markdown(run: Run, client: Client) -> None:
    question = "How many orders came in 2012"
    assert run("ask", question, "--markdown")[1] == client.ask(question).text + "\n"


def test_work_search_and_status(
    run: Run, connection: psycopg.Connection[TupleRow], client: Client, stub_model: ModelServer
) -> None:
    connection.execute("create table public.note (id integer primary key, words text)")
    connection.execute("insert into public.note values (1, 'red [bold]apple'), (2, 'blue sky')")
    client.register_source("public.note", "{{words}}")
    code, output, _ = run("work")
    assert (code, output) == (0, "Nothing is due.\n")
    code, output, _ = run("search", "apple", "-k", "1")
    assert code == 0
    assert "public.note 1" in output
    assert "red [bold]apple" in output
    assert json.loads(run("search", "apple", "--json")[1])[0]["source_id"] == "1"
    assert "public.note" in run("status")[1]
    assert json.loads(run("status", "--json")[1])["sources"][0]["embedded"] == 2
    stub_model.behave(status=500)
    connection.execute("insert into public.note values (3, 'green')")
    code, _, errors = run("work")
    assert code == 1
    assert "Warning" in errors


def test_doctor_lists_the_checks(run: Run) -> None:
    _, output, _ = run("doctor")
    assert "PostgreSQL" in output


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["ask"], 2),
        (["ask", "q", "--param", "year"], 2),
        (["search", "q", "--filter", "[1]"], 2),
        (["nonsense"], 2),
        (["ask", "q", "--dsn", "postgresql://me:secret@127.0.0.1:1/db"], 1),
        (["ask", "q", "--dsn", "not a connection string"], 1),
        (["search", "q", "--source", "no.such"], 1),
        (["--version"], 0),
    ],
)
def test_the_exit_code_tells_usage_from_failure(run: Run, arguments: list[str], code: int) -> None:
    ended, _, errors = run(*arguments)
    assert ended == code
    assert "Traceback" not in errors
    assert "secret" not in errors


def test_an_error_is_shown_with_detail_and_hint(run: Run) -> None:
    code, output, errors = run("status", "--dsn", "postgresql://127.0.0.1:1/db")
    assert (code, output) == (1, "")
    assert errors.startswith("Error: connection")
    assert "PGASK_DSN" in errors
