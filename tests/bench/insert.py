"""20,000 rows inserted by one statement: into a registered table, and into an identical other."""

from __future__ import annotations

from typing import TYPE_CHECKING, LiteralString

from _measure import Connection, Figure, figure, in_turn, scratch_database, show, timed
from psycopg.sql import SQL, Identifier

if TYPE_CHECKING:
    from collections.abc import Mapping

_ROWS = 20_000
_ROUNDS = 15
_WARM = 2

_TABLE: LiteralString = """
create table bench.{} (
    id integer primary key,
    title text not null,
    body text not null,
    category text not null,
    updated_at timestamptz not null default now()
)
"""
_INSERT: LiteralString = """
insert into bench.{} (id, title, body, category)
select s.id, s.title, s.body, s.category from bench.{} s
"""
_SOURCES: Mapping[str, LiteralString] = {
    "title and category": "''",
    "and a body of 600 characters": "left(repeat(md5(g::text) || ' ', 20), 600)",
}


def measure(connection: Connection, name: str, body: LiteralString) -> Figure:
    """The ratio for rows of one width."""
    connection.execute("drop table if exists bench.source")
    connection.execute(SQL(_TABLE).format(Identifier("source")))
    connection.execute(
        SQL(_INSERT.partition("select")[0]).format(Identifier("source"))
        + SQL("select g, 'How to return order ' || g, ")
        + SQL(body)
        + SQL(", 'category ' || g %% 8 from generate_series(1, %s) g"),
        [_ROWS],
    )
    connection.execute("analyze bench.source")

    def insert(table: LiteralString) -> float:
        connection.execute(SQL("truncate bench.{}").format(Identifier(table)))
        connection.execute("truncate pgask.embedding_job")
        connection.execute("checkpoint")
        statement = SQL(_INSERT).format(Identifier(table), Identifier("source"))
        return timed(lambda: connection.execute(statement))

    return figure(
        name,
        in_turn(lambda _: insert("registered"), lambda _: insert("plain"), _ROUNDS, _WARM),
    )


def main() -> None:
    with scratch_database() as (_, connection):
        for table in ("registered", "plain"):
            connection.execute(SQL(_TABLE).format(Identifier(table)))
        connection.execute(
            "select pgask.register_source('bench.registered', '{{title}}\\n\\n{{body}}',"
            " filter_columns => '{category}')"
        )
        figures = [measure(connection, name, body) for name, body in _SOURCES.items()]
        show(
            connection,
            f"{_ROWS:,} rows inserted by one statement, committed",
            figures,
            "at most 3.50",
            sides=("registered", "plain"),
        )


if __name__ == "__main__":
    main()
