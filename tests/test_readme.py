"""The README is run: each statement in order, on a database that holds the demonstration."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest
from rich.console import Console

from pgask import Client
from pgask.demo.__main__ import prepare

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCKS = [(match[1], match[2]) for match in BLOCK.finditer(README)]


@pytest.fixture(scope="module")
def demo(request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of a database with the demonstration in it, for the whole file."""
    server = request.getfixturevalue("pgask_server")
    with server.database(request.getfixturevalue("pgask_template")) as name:
        url = server.url(name)
        with Client(url) as client:
            prepare(client, url, Console(file=io.StringIO()))
        yield url


def _statements(language: str) -> list[str]:
    return [
        statement.strip()
        for kind, text in BLOCKS
        if kind == language
        for statement in text.split(";\n")
        if statement.strip()
    ]


def test_the_first_answer_is_the_real_one(demo: str) -> None:
    (first_kind, first), (second_kind, expected) = BLOCKS[1:3]
    assert (first_kind, second_kind) == ("sql", "text")
    with psycopg.connect(demo, autocommit=True) as connection:
        (answer,) = connection.execute(first.encode()).fetchone() or ("",)
    assert answer.strip() == expected.strip()


def test_every_statement_runs_and_answers(demo: str) -> None:
    with psycopg.connect(demo, autocommit=True) as connection:
        for statement in _statements("sql"):
            if "set_setting" in statement:
                continue  # a model that is not there
            result = connection.execute(statement.encode())
            if "ask(" in statement:
                (answer,) = result.fetchone() or ("",)
                assert "No saved question" not in answer, statement
                assert "More than one" not in answer, statement
            elif "how much memory" in statement:
                assert result.fetchall() == [("work_mem",)]
            elif "somewhere to sit" in statement:
                assert len(result.fetchall()) == 3
            elif "my money back" in statement:
                rows = result.fetchall()
                assert len(rows) == 3
                assert "money back" in rows[0][1]


def test_the_settings_of_another_model_are_accepted(pgask_database: str) -> None:
    settings = [statement for statement in _statements("sql") if "set_setting" in statement]
    assert len(settings) == 2
    with psycopg.connect(pgask_database, autocommit=True) as connection:
        for statement in settings:
            connection.execute(statement.encode())


def test_the_client_and_the_command_line_work_as_shown(demo: str) -> None:
    (python,) = [text for kind, text in BLOCKS if kind == "python"]
    namespace: dict[str, object] = {}
    exec(python.replace("postgresql://...", demo), namespace)
    rows = namespace["rows"]
    assert isinstance(rows, (list, tuple))
    assert rows[0][0] == "Furniture"
    command = re.search(r'^\$ pgask (ask) "(.*)"$', README, re.MULTILINE)
    assert command is not None
    shown = subprocess.run(
        [Path(sys.executable).parent / "pgask", "ask", command[2], "--dsn", demo],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Unused indexes" in shown.stdout


def test_every_file_that_it_names_exists() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert (ROOT / target).exists(), target
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"make ([a-z]+)", README):
        assert f"\n{target}:" in makefile, target
