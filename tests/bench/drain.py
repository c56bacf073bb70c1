"""2,000 rows of 80 to 100 tokens drained by one work(), against the bare model in that backend."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, LiteralString

from _measure import Connection, figure, scratch_database, show, timed

from pgask.demo.help_centre import read_articles

if TYPE_CHECKING:
    from collections.abc import Sequence

_ROWS = 2000
_ROUNDS = 3

_EMBED: LiteralString = "select bench.embed(%s, pgask._get_setting('embedding_batch')::integer)"


def texts(connection: Connection, chance: random.Random) -> list[str]:
    """Distinct texts of 80 to 100 tokens in the words of the help centre."""
    words = " ".join(article.body for article in read_articles()).split()
    starts = chance.sample(range(len(words) - 100), _ROWS)
    tokens = [chance.randint(80, 100) for _ in starts]
    row = connection.execute(
        "select bench.cut(%s, %s)",
        [[" ".join(words[start : start + 100]) for start in starts], tokens],
    ).fetchone()
    assert row is not None
    assert isinstance(row[0], list)
    assert len(set(row[0])) == _ROWS
    return row[0]


def bare(connection: Connection, part: Sequence[str]) -> float:
    """Seconds that the model alone takes for the texts, in the same batches."""
    row = connection.execute(_EMBED, [list(part)]).fetchone()
    assert row is not None
    return float(str(row[0]))


_WATCH: LiteralString = """
create function bench.seconds_in_model() returns double precision language plpython3u as $python$
    from time import perf_counter
    from pgask_server import configured, settings
    if "seconds" not in SD:
        database = GD["pgask"].db
        kind = type(configured.embedding_model(database, settings.read(database)))
        embed = kind.embed
        def watched(model, texts):
            before = perf_counter()
            try:
                return embed(model, texts)
            finally:
                SD["seconds"] += perf_counter() - before
        kind.embed = watched
        SD["seconds"] = 0.0
    seconds, SD["seconds"] = SD["seconds"], 0.0
    return seconds
$python$
"""
"""Since it was last called, in this session."""


def in_model(connection: Connection) -> float:
    """Seconds that the session has been in the model since this was last asked."""
    row = connection.execute("select bench.seconds_in_model()").fetchone()
    assert row is not None
    return float(str(row[0]))


def drain(connection: Connection, content: Sequence[str]) -> float:
    """Seconds that one pass takes, from rows that wait to rows that are found."""
    connection.execute("truncate bench.article")
    with connection.cursor() as cursor, cursor.copy("copy bench.article from stdin") as copy:
        for number, text in enumerate(content):
            copy.write_row((number, text))
    seconds = timed(lambda: connection.execute("call pgask.work()"))
    [embedded] = connection.execute("select count(*) from pgask.embedding").fetchone() or (0,)
    assert embedded == len(content)
    return seconds


def main() -> None:
    chance = random.Random(1)
    half = _ROWS // 2
    with scratch_database() as (_, connection):
        connection.execute("create table bench.article (id integer primary key, body text)")
        connection.execute("select pgask.register_source('bench.article', '{{body}}')")
        connection.execute(_WATCH)
        bare(connection, texts(connection, chance)[:64])
        pairs: list[tuple[float, float]] = []
        shares: list[tuple[float, float]] = []
        for _ in range(_ROUNDS):
            content = texts(connection, chance)
            # Half of the bare side before, half after: a machine that gets busier is on both.
            before = bare(connection, content[:half])
            in_model(connection)
            drained = drain(connection, content)
            shares.append((in_model(connection), drained))
            pairs.append((before + bare(connection, content[half:]), drained))
        show(
            connection,
            f"{_ROWS:,} rows of 80 to 100 tokens: the throughput of work() in that of the model",
            [
                figure("one pass, the index included", pairs),
                # A neighbour that takes the processor for a while is on both sides of this one.
                figure("the share of that pass in the model", shares),
            ],
            "at least 0.90",
            sides=("bare model", "work()"),
        )


if __name__ == "__main__":
    main()
