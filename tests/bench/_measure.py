"""Two sides measured in turn in one run, so that a busy machine slows both, and the table of it."""

from __future__ import annotations

import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import LiteralString

import psycopg
from rich.console import Console
from rich.table import Table

from pgask.testing.database import TestServer

Connection = psycopg.Connection[tuple[object, ...]]
Side = Callable[[int], float]
"""Does round i of its work; returns the seconds that it took."""

# Bare use of the model, in the backend that the other side uses and timed there.
_BARE: LiteralString = """
create schema bench;
grant usage on schema bench to public;
create function bench.embed(texts text[], batch integer default 1)
returns double precision language plpython3u as $python$
    import time
    from pgask_server import configured, settings
    if "pgask" not in GD:
        plpy.execute("select pgask._boot()")
    database = GD["pgask"].db
    model = configured.embedding_model(database, settings.read(database))
    before = time.perf_counter()
    for first in range(0, len(texts), batch):
        model.embed(texts[first : first + batch])
    return time.perf_counter() - before
$python$;
create function bench.cut(texts text[], tokens integer[])
returns text[] language plpython3u as $python$
    from pgask_server import configured, settings
    if "pgask" not in GD:
        plpy.execute("select pgask._boot()")
    database = GD["pgask"].db
    model = configured.embedding_model(database, settings.read(database))
    return [text[: model.token_spans(text)[count - 1][1]] for text, count in zip(texts, tokens)]
$python$;
"""


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of a benchmark."""

    name: str
    ours: float
    """Seconds, the median."""
    bare: float
    """Seconds, the median."""
    ratio: float
    """The median of the ratios of the pairs."""
    low: float
    """The lower quartile of those ratios."""
    high: float
    """The upper quartile of those ratios."""


@contextmanager
def scratch_database() -> Generator[tuple[str, Connection]]:
    """The URL of a new database with pgask on the server of DATABASE_URL, and a connection.

    It has bench.embed(texts, batch), which embeds in batches and returns the seconds that took,
    and bench.cut(texts, tokens), which keeps the first tokens of each text.
    """
    clone = Path(__file__).resolve().parents[2]
    sys.path.insert(0, str(clone))
    from migrations.install import install

    server = TestServer(os.environ["DATABASE_URL"])
    with server.database() as name:
        url = server.url(name)
        install(url)
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(_BARE)
            yield url, connection


def timed(work: Callable[[], object]) -> float:
    """The seconds that it takes."""
    before = time.perf_counter()
    work()
    return time.perf_counter() - before


def in_turn(ours: Side, bare: Side, rounds: int, warm: int) -> list[tuple[float, float]]:
    """Do both sides of each round, every second round the other way round; pairs of seconds.

    The first `warm` rounds do not count.
    """
    pairs: list[tuple[float, float]] = []
    for i in range(warm + rounds):
        if i % 2:
            second = bare(i)
            pairs.append((ours(i), second))
        else:
            first = ours(i)
            pairs.append((first, bare(i)))
    return pairs[warm:]


def figure(name: str, pairs: Sequence[tuple[float, float]]) -> Figure:
    """The medians of pairs (ours, bare), in seconds."""
    ratios = [ours / bare for ours, bare in pairs]
    low, middle, high = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else ratios * 3
    return Figure(
        name,
        statistics.median(ours for ours, _ in pairs),
        statistics.median(bare for _, bare in pairs),
        middle,
        low,
        high,
    )


def show(
    connection: Connection,
    title: str,
    figures: Sequence[Figure],
    bound: str,
    *,
    sides: tuple[str, str] = ("pgask", "bare"),
) -> None:
    """Print the table of one benchmark, and what it ran on."""
    table = Table("", *(f"{side}, ms" for side in sides), "ratio", "quartiles", "bound")
    for column in table.columns[1:]:
        column.justify = "right"
    for line in figures:
        table.add_row(
            line.name,
            f"{line.ours * 1000:,.2f}",
            f"{line.bare * 1000:,.2f}",
            f"{line.ratio:.2f}",
            f"{line.low:.2f} - {line.high:.2f}",
            bound,
        )
    console = Console(highlight=False, width=100)
    console.print(f"[bold]{title}[/bold]")
    console.print(table)
    [version] = connection.execute("show server_version").fetchone() or ("?",)
    load = os.getloadavg()[0]
    console.print(
        f"PostgreSQL {version}, {platform.machine()}, {os.cpu_count()} cores,"
        f" load {load:.1f} (this program's own included)\n"
    )
