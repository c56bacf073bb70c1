"""`python -m pgask.demo`: load, register, embed, save, ask."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape

from pgask import Client, PgaskError
from pgask.demo.embed import embed
from pgask.demo.load import load
from pgask.demo.questions import ASKED, SAVED

if TYPE_CHECKING:
    from uuid import UUID

_SOURCE = "help.article"


def main(arguments: list[str] | None = None) -> int:
    """Show pgask on the database that --dsn names. A second run finds everything done."""
    parser = argparse.ArgumentParser(prog="python -m pgask.demo", description=main.__doc__)
    parser.add_argument(
        "--dsn",
        default=os.environ.get("DATABASE_URL", ""),
        help="URL of a database with pgask installed (default: $DATABASE_URL, else PG*)",
    )
    dsn = str(parser.parse_args(arguments).dsn)
    console = Console(highlight=False)
    try:
        with Client(dsn) as client:
            prepare(client, dsn, console)
            show(client, console)
    except PgaskError as error:
        for line in (error.message, error.detail, error.hint):
            if line:
                print(line, file=sys.stderr)
        return 1
    return 0


def prepare(client: Client, dsn: str, console: Console) -> None:
    """Make the data, the source and the questions that are not there yet."""
    for line in load(client.connection):
        console.print(line)
    if not any((s.source_schema, s.source_table) == ("help", "article") for s in client.status()):
        client.register_source(
            _SOURCE, "{{title}}\n\n{{body}}", "fixed(200, 40)", ("category", "language")
        )
    embed(client, dsn, _SOURCE, console)
    saved = save_questions(client)
    if saved:
        console.print(f"Saved {saved} questions over the shop.")
    if saved < len(SAVED):
        console.print(f"{len(SAVED) - saved} questions were saved already.")


def save_questions(client: Client) -> int:
    """Save and approve the questions over the shop that are missing; returns how many."""
    rows = client.connection.execute(
        "select q.canonical_prompt, q.id, q.status from pgask.nl_query q where q.status <> 'system'"
    ).fetchall()
    there: dict[str, tuple[UUID, str]] = {prompt: (key, status) for prompt, key, status in rows}
    saved = 0
    for question in SAVED:
        if question.canonical_prompt in there:
            key, status = there[question.canonical_prompt]
            if status != "draft":
                continue
        else:
            key = client.save_question(
                question.canonical_prompt, question.sqls(), question.params, question.label
            )
        client.approve_question(key, note="part of the demonstration")
        saved += 1
    return saved


def show(client: Client, console: Console) -> None:
    """Ask the five questions, and say what to type next."""
    for number, (shows, question) in enumerate(ASKED, start=1):
        console.print()
        console.rule(f"{number}. {shows}", align="left")
        console.print(f"[bold]select ask('{escape(question)}');[/bold]\n")
        console.print(client.ask(question))
    info = client.connection.info
    console.print()
    console.rule("Your turn", align="left")
    console.print(
        f"Open the database {escape(info.dbname)}, for the private one by [bold]make psql[/bold],"
        " and type"
    )
    for statement in (
        "\\a \\t",
        "select ask('how did revenue develop in 2025?');",
        "select ask('which indexes are never used?');",
        "select chunk_text from pgask.search('a lamp came broken', k => 3);",
    ):
        console.print(f"  [bold]{escape(statement)}[/bold]", soft_wrap=True)
    console.print("Then save a question of your own: pgask.save_question() in docs/sql.md.")


if __name__ == "__main__":
    sys.exit(main())
