"""A warm search() against the same SQL with a ready vector plus one bare call of the model.

Every query is new, so that no cache of query vectors helps. Once as the owner, for whom no policy
applies, and once as an ordinary reader, on both sides.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, LiteralString

from _measure import Connection, Figure, figure, in_turn, scratch_database, show, timed

if TYPE_CHECKING:
    from collections.abc import Sequence

_ROWS = 2000
_ROUNDS = 300
_WARM = 20

_DEEDS = "return change find pay track open close share repair print".split()
_STATES = "late broken wrong missing new blue damaged locked expired cancelled".split()
_THINGS = "invoice parcel password lamp desk account voucher refund address order".split()

_SEARCH: LiteralString = "select * from pgask.search(%s)"

_READY: LiteralString = """
select e.source_schema, e.source_table, e.source_id, e.chunk_index, e.chunk_text,
    e.filter_values, 1 - (e.vector <=> %(vector)s) as similarity
from pgask.embedding e
where e.embedding_model = 'local/all-MiniLM-L6-v2'
order by e.vector <=> %(vector)s
limit 10
"""


def sentence(chance: random.Random) -> str:
    """About fourteen tokens that are all but never made twice."""
    return (
        f"how do I {chance.choice(_DEEDS)} a {chance.choice(_STATES)} {chance.choice(_THINGS)}"
        f" that came with number {chance.randrange(100_000)}"
    )


def prepare(connection: Connection, chance: random.Random) -> None:
    """Register and embed a table of sentences that a reader may see."""
    connection.execute("create table bench.note (id integer primary key, body text not null)")
    with connection.cursor() as cursor, cursor.copy("copy bench.note from stdin") as copy:
        for number in range(_ROWS):
            copy.write_row((number, sentence(chance)))
    connection.execute("grant select on bench.note to pgask_reader")
    connection.execute("select pgask.register_source('bench.note', '{{body}}')")
    connection.execute("call pgask.work()")
    connection.execute("analyze pgask.embedding")


def measure(connection: Connection, name: str, queries: Sequence[str]) -> Figure:
    """The ratio for whoever the session is now."""

    def ours(i: int) -> float:
        return timed(lambda: connection.execute(_SEARCH, [queries[i]]).fetchall())

    def bare(i: int) -> float:
        row = connection.execute(
            "select bench.embed(array[%(query)s]), (pgask._embed_texts(array[%(query)s]))[1]",
            {"query": queries[i]},
        ).fetchone()
        assert row is not None
        ready = {"vector": row[1]}
        return float(str(row[0])) + timed(lambda: connection.execute(_READY, ready).fetchall())

    return figure(name, in_turn(ours, bare, _ROUNDS, _WARM))


def main() -> None:
    chance = random.Random(1)
    with scratch_database() as (_, connection):
        prepare(connection, chance)
        figures: list[Figure] = []
        for name, role in (("as the owner", "none"), ("as a reader", "pgask_reader")):
            connection.execute(f"set role {role}".encode())
            queries = [sentence(chance) for _ in range(_WARM + _ROUNDS)]
            figures.append(measure(connection, name, queries))
        connection.execute("reset role")
        show(
            connection,
            f"search(), warm, over {_ROWS:,} chunks, against a call of the model and the same SQL",
            figures,
            "at most 1.15",
        )


if __name__ == "__main__":
    main()
