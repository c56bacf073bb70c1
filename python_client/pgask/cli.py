"""The command `pgask`."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from pgask import report
from pgask.client import Client
from pgask.errors import ConnectionFailed, PgaskError
from pgask.value import plain
from pgask.version import __version__
from pgask.worker import FIRST_BATCH, Worker, embedded, next_batch, stands_still

if TYPE_CHECKING:
    from collections.abc import Mapping

    import psycopg

app = typer.Typer(
    name="pgask",
    help="Ask a PostgreSQL database in plain English.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
_output = Console(highlight=False)
_errors = Console(stderr=True, highlight=False)

Dsn = Annotated[
    str | None,
    typer.Option(
        "--dsn",
        metavar="URL",
        help="Database: default PGASK_DSN, then DATABASE_URL, then the PG* environment.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def main() -> None:
    """Run the command. Exit code 0: done; 1: an error, shown in a few lines; 2: wrong usage."""
    try:
        app()
    except PgaskError as error:
        _show_error(error)
        sys.exit(1)


@app.callback(invoke_without_command=True)
def _options(  # pyright: ignore[reportUnusedFunction]
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        _output.print(f"pgask {__version__}")
        raise typer.Exit


@app.command()
def ask(
    question: Annotated[str, typer.Argument(help="The question, in plain English.")],
    param: Annotated[
        list[str] | None,
        typer.Option("--param", "-p", metavar="NAME=VALUE", help="A parameter's value."),
    ] = None,
    scope: Annotated[str, typer.Option(help="The kind of screen it is asked on.")] = "global",
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
    as_json: AsJson = False,
    dsn: Dsn = None,
) -> None:
    """Answer a question."""
    params = _params(param or [])
    with _client(dsn) as client:
        answer = client.ask(question, params, scope_key=scope)
    if as_json:
        # As it came: a float of Python has fewer digits than a number of the database.
        sys.stdout.write(answer.json + "\n")
    elif markdown:
        sys.stdout.write(answer.text + "\n")
    else:
        _output.print(answer)


@app.command()
def search(
    query: Annotated[str, typer.Argument(help="What to look for, in plain words.")],
    k: Annotated[int, typer.Option("-k", help="How many hits.")] = 5,
    source: Annotated[str | None, typer.Option(help="Only this table: kb.article.")] = None,
    filter_json: Annotated[
        str | None,
        typer.Option("--filter", metavar="JSON", help="Only where the filter columns have these."),
    ] = None,
    as_json: AsJson = False,
    dsn: Dsn = None,
) -> None:
    """Find the passages nearest in meaning."""
    wanted = None if filter_json is None else _json_object(filter_json)
    with _client(dsn) as client:
        hits = client.search(query, k, source, wanted)
    if as_json:
        sys.stdout.write(report.hits_json(hits) + "\n")
    else:
        for part in report.hits(hits):
            _output.print(part)


@app.command()
def work(dsn: Dsn = None) -> None:
    """Embed what is due, once, with a progress bar."""
    with _client(dsn) as client:
        warnings: list[str] = []

        def note(diagnosis: psycopg.errors.Diagnostic) -> None:
            if diagnosis.severity_nonlocalized == "WARNING":
                warnings.append(diagnosis.message_primary or "")

        client.connection.add_notice_handler(note)
        before = now = client.queue()
        with report.progress(_errors) as bar:
            task = bar.add_task("Embedding", total=before.open)
            batch = FIRST_BATCH
            while True:
                began, seen = time.monotonic(), len(warnings)
                client.work(max_jobs=batch)
                batch = next_batch(batch, time.monotonic() - began)
                warned = len(warnings) > seen
                last, now = now, client.queue()
                total = max(before.open, now.open)
                bar.update(task, total=total, completed=total - now.open)
                if stands_still(last, now) or (warned and not embedded(last, now)):
                    break
    for warning in dict.fromkeys(warnings):
        _say(f"Warning: {warning}", "yellow")
    if now.failed:
        _say(f"{now.failed:,} jobs have failed: see the view pgask.failed_job", "red")
    if now.due:
        _output.print(f"{now.due:,} jobs are still due.")
    else:
        later = f" {now.open:,} jobs are running or will be tried again later." if now.open else ""
        _output.print(f"Nothing is due.{later}")
    if warnings:
        raise typer.Exit(1)


@app.command()
def worker(
    sessions: Annotated[int, typer.Option("-n", min=1, help="Sessions that work.")] = 1,
    poll: Annotated[
        float, typer.Option(min=0.1, help="Seconds to wait at most for a notification.")
    ] = 10.0,
    dsn: Dsn = None,
) -> None:
    """Embed what changes, until it is stopped (SIGTERM, Ctrl-C)."""
    running = Worker(_dsn(dsn), count=sessions, poll=poll, report=_say)
    running.stop_on_signals()
    _say(f"pgask {__version__}: {sessions} {'session' if sessions == 1 else 'sessions'}")
    running.run()
    _say("stopped")


@app.command()
def status(as_json: AsJson = False, dsn: Dsn = None) -> None:
    """Show how far the embedding of each source is."""
    with _client(dsn) as client:
        sources, queue = client.status(), client.queue()
    if as_json:
        sys.stdout.write(report.status_json(sources, queue) + "\n")
    else:
        for part in report.status(sources, queue):
            _output.print(part)


@app.command()
def doctor(dsn: Dsn = None) -> None:
    """Check the server, the package, the model and the rights."""
    with _client(dsn) as client:
        checks = client.doctor()
    for part in report.checks(checks):
        _output.print(part)
    if any(check.status == "error" for check in checks):
        raise typer.Exit(1)


def _dsn(given: str | None) -> str:
    return given or os.environ.get("PGASK_DSN") or os.environ.get("DATABASE_URL") or ""


def _client(dsn: str | None) -> Client:
    return Client(_dsn(dsn))


def _params(given: list[str]) -> Mapping[str, object]:
    params: dict[str, object] = {}
    for pair in given:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise typer.BadParameter(f"{pair!r} does not read NAME=VALUE", param_hint="--param")
        params[name.strip()] = value
    return params


def _json_object(text: str) -> Mapping[str, object]:
    try:
        value: object = json.loads(text)
    except ValueError as error:
        raise typer.BadParameter(f"not JSON: {error}", param_hint="--filter") from None
    if not isinstance(value, dict):
        raise typer.BadParameter("not a JSON object", param_hint="--filter")
    return {str(name): content for name, content in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


def _show_error(error: PgaskError) -> None:
    _say(f"Error: {error.message}", "red")
    hint = error.hint
    if isinstance(error, ConnectionFailed) and hint is None:
        hint = "The database is given by --dsn, PGASK_DSN, DATABASE_URL or the PG* environment."
    for line in (error.detail, hint):
        if line:
            _say(line)


def _say(text: str, style: str = "") -> None:
    """A message beside the output, unbroken so that a log or a pipe gets it whole."""
    _errors.print(plain(text, lines=True), style=style, markup=False, soft_wrap=True)
