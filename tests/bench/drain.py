"""2,000 rows of 80 to 100 tokens drained by work(), against the bare model in the same backend.

The passes take turns with the model, so that a machine that gets busier is on both sides. The last
one is large enough to have the vector index built after it and not row by row.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, LiteralString, cast

from _measure import Connection, figure, scratch_database, show, timed

from pgask.demo.help_centre import read_articles

if TYPE_CHECKING:
    from collections.abc import Sequence

_TURNS = (*[128] * 11, 592)
"""Rows of each pass."""
_ROWS = sum(_TURNS)
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
    cut = cast("list[str]", row[0])
    assert len(set(cut)) == _ROWS
    return cut


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


def drain(connection: Connection, content: Sequence[str]) -> tuple[float, float, float]:
    """Seconds of the bare model, of the passes, and of the model within the passes."""
    connection.execute("truncate bench.article")
    with connection.cursor() as cursor, cursor.copy("copy bench.article from stdin") as copy:
        for number, text in enumerate(content):
            copy.write_row((number, text))
    alone = passes = inside = 0.0
    first = 0
    for size in _TURNS:
        alone += bare(connection, content[first : first + size])
        in_model(connection)
        passes += timed(lambda size=size: connection.execute("call pgask.work(null, %s)", [size]))
        inside += in_model(connection)
        first += size
    counts = connection.execute(
        "select (select count(*) from pgask.embedding), (select count(*) from pgask.embedding_job),"
        " to_regclass('pgask.embedding_vector_hnsw') is not null"
    ).fetchone()
    assert counts == (len(content), 0, True)
    return alone, passes, inside


def main() -> None:
    chance = random.Random(1)
    with scratch_database() as (_, connection):
        connection.execute("create table bench.article (id integer primary key, body text)")
        connection.execute("select pgask.register_source('bench.article', '{{body}}')")
        connection.execute(_WATCH)
        bare(connection, texts(connection, chance)[:64])
        rounds = [drain(connection, texts(connection, chance)) for _ in range(_ROUNDS)]
        show(
            connection,
            f"{_ROWS:,} rows of 80 to 100 tokens: the throughput of work() in that of the model",
            [
                figure("the index included", [(alone, passes) for alone, passes, _ in rounds]),
                # A neighbour that takes the processor for a while is on both sides of this one.
                figure("time in the model", [(inside, passes) for _, passes, inside in rounds]),
            ],
            "at least 0.90",
            sides=("bare model", "work()"),
        )


if __name__ == "__main__":
    main()
