"""How well saved questions are found over a real database: Chinook, ten saved, thirty asked.

    python tests/eval/chinook.py

The questions stand in chinook/saved.sql; chinook/asked.tsv holds thirty phrasings (question, label
of the saved question that is meant, its values), chinook/unsaved.txt questions that no saved one
answers. Both were written after saved.sql, before any of them was asked, and are not changed. Runs
in a database of its own on the server of DATABASE_URL. Needs ../shared/data.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rich.console import Console
from rich.table import Table

from pgask import Client
from pgask.testing.database import TestServer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pgask import Answer

_CLONE = Path(__file__).resolve().parents[2]
_FILES = Path(__file__).with_suffix("")
DATABASE = _CLONE.parent / "shared" / "data" / "chinook" / "chinook.sql"
"""The script that makes the Chinook database, in the schema public."""

SOURCES = {
    "public.artist": "{{name}}",
    "public.album": "{{title}}",
    "public.track": "{{name}}\n{{composer}}",
}
"""What is registered: the templates read one table each."""

Outcome = Literal["right", "asked back", "not found", "wrong"]


@dataclass(frozen=True, slots=True)
class Saved:
    """One question of saved.sql."""

    label: str
    prompt: str
    display: str
    params: Sequence[Mapping[str, object]]
    sql: str


@dataclass(frozen=True, slots=True)
class Asked:
    """One phrasing: the saved question that it means and the values that it names.

    label: None for a question that no saved one answers.
    """

    question: str
    label: str | None
    values: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of one phrasing.

    right: the question that is meant ran with the values that were named, and its rows are those
    of plain SQL. asked back: nothing ran, and the question that is meant is offered, or is found
    and asks for a value. not found: nothing ran, and it is not offered. wrong: another question
    ran, or with other values. For what no saved question answers: right is that none ran.
    """

    asked: Asked
    outcome: Outcome
    told: str
    """What pgask made of it, in a few words."""
    first: bool = False
    """Asked back: whether the question that is meant stands first."""


def read_saved() -> list[Saved]:
    """The questions of saved.sql, in order."""
    head = re.compile(
        r"^-- label: (.+)\n-- prompt: (.+)\n-- display: (.+)\n-- params: (.+)\n", re.MULTILINE
    )
    _, *parts = head.split((_FILES / "saved.sql").read_text(encoding="utf-8"))
    return [
        Saved(label, prompt, display, json.loads(params), sql.strip())
        for label, prompt, display, params, sql in zip(*[iter(parts)] * 5, strict=True)
    ]


def read_asked() -> list[Asked]:
    """The phrasings of asked.tsv, then those of unsaved.txt."""
    lines = (_FILES / "asked.tsv").read_text(encoding="utf-8").splitlines()
    meant = [
        Asked(question, label, json.loads(values))
        for question, label, values in (line.split("\t") for line in lines)
    ]
    unsaved = (_FILES / "unsaved.txt").read_text(encoding="utf-8").splitlines()
    return meant + [Asked(question, None, {}) for question in unsaved]


def prepare(client: Client) -> None:
    """Load Chinook into the client's database, register and embed the sources, save the ten."""
    # A role called pgask would otherwise make the tables in the schema of that name.
    client.connection.execute("set search_path = public")
    client.connection.execute(DATABASE.read_text(encoding="utf-8").encode())
    client.connection.execute("analyze")
    for source, template in SOURCES.items():
        client.register_source(source, template)
    client.work()
    for saved in read_saved():
        statement = {"sql": saved.sql, "display": saved.display, "title": saved.label}
        identity = client.save_question(saved.prompt, [statement], saved.params, saved.label)
        client.approve_question(identity)


def judge(client: Client) -> list[Verdict]:
    """Ask everything."""
    saved = {question.label: question for question in read_saved()}
    return [
        _judge(client, asked, saved[asked.label] if asked.label else None) for asked in read_asked()
    ]


def _judge(client: Client, asked: Asked, meant: Saved | None) -> Verdict:
    answer = client.ask(asked.question)
    told = _told(answer)
    ran = answer.source == "saved" and answer.outcome == "answered"
    if meant is None:
        return Verdict(asked, "wrong" if ran else "right", told)
    if not ran:
        offered = [choice.label for choice in answer.choices]
        if answer.outcome == "missing_parameter":
            offered = [answer.label]
        outcome = "asked back" if meant.label in offered else "not found"
        return Verdict(asked, outcome, told, offered[:1] == [meant.label])
    if answer.label != meant.label or dict(answer.params) != dict(asked.values):
        return Verdict(asked, "wrong", told)
    same = list(answer.tables[0].rows) == _plain_sql(client, meant.sql, asked.values)
    return Verdict(asked, "right" if same else "wrong", told if same else f"other rows: {told}")


def _plain_sql(client: Client, sql: str, values: Mapping[str, object]) -> list[object]:
    """The rows without pgask: the driver binds the values that a person read in the question."""
    statement = re.sub(r"(?<!:):(\w+)", r"%(\1)s", sql)
    return list(client.connection.execute(statement.encode(), values).fetchall())


def _told(answer: Answer) -> str:
    if answer.source == "saved":
        values = ", ".join(f"{name} = {value}" for name, value in answer.bound.items())
        missing = ", ".join(f"{name}?" for name in answer.missing)
        similarity = f"{answer.similarity or 0:.2f}"
        return " ".join(part for part in (answer.label, similarity, values, missing) if part)
    choices = "; ".join(choice.prompt for choice in answer.choices)
    passages = f"{len(answer.evidence)} passages; " if answer.evidence else ""
    return f"{answer.outcome}: {passages}{choices}"


def show(verdicts: Sequence[Verdict], console: Console) -> None:
    """Print what is not right, and the counts."""
    table = Table("asked", "meant", "outcome", "what pgask made of it", title="Not right")
    for verdict in verdicts:
        if verdict.outcome != "right":
            meant = verdict.asked.label or "none is saved"
            table.add_row(verdict.asked.question, meant, verdict.outcome, verdict.told)
    if table.row_count:
        console.print(table)
    for title, part in (
        ("phrasings of saved questions", [v for v in verdicts if v.asked.label]),
        ("questions that are not saved", [v for v in verdicts if not v.asked.label]),
    ):
        counts = ", ".join(f"{n} {outcome}" for outcome, n in count(part).items())
        first = sum(verdict.first for verdict in part)
        counts += f" ({first} with the right one first)" if first else ""
        console.print(f"{len(part)} {title}: {counts}")


def count(verdicts: Sequence[Verdict]) -> Counter[Outcome]:
    """How many of each outcome."""
    return Counter(verdict.outcome for verdict in verdicts)


def main() -> int:
    if not DATABASE.exists():
        print("skipped: ../shared/data/chinook is not here")
        return 0
    sys.path.insert(0, str(_CLONE))
    from migrations.install import install

    server = TestServer(os.environ["DATABASE_URL"])
    with server.database() as name:
        install(server.url(name))
        with Client(server.url(name)) as client:
            prepare(client)
            show(judge(client), Console())
    return 0


if __name__ == "__main__":
    sys.exit(main())
