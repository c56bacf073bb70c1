"""Load the demonstration's data, once."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from psycopg.sql import SQL, Identifier, Literal

from pgask.demo import help_centre, shop
from pgask.errors import PgaskError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import psycopg


def load(connection: psycopg.Connection[tuple[object, ...]]) -> Iterator[str]:
    """Make the schemas `shop` and `help` where they are missing; yields a line about each.

    Raises PgaskError where a schema of that name holds something else.
    """
    goods = shop.make_shop()
    articles = help_centre.read_articles()
    yield _once(
        connection,
        "shop",
        (goods, shop.SCHEMA),
        lambda: f"{shop.load_shop(connection, goods):,} rows of a synthetic shop",
    )
    yield _once(
        connection,
        "help",
        (articles, help_centre.SCHEMA),
        lambda: f"{help_centre.load_articles(connection, articles)} articles of its help centre",
    )


def _once(
    connection: psycopg.Connection[tuple[object, ...]],
    schema: str,
    content: object,
    fill: Callable[[], str],
) -> str:
    edition = hashlib.sha256(repr(content).encode()).hexdigest()[:12]
    mark = f"pgask demonstration, edition {edition}"
    with connection.transaction():
        # Two demonstrations started at once: the second waits, and finds the work done.
        connection.execute("select pg_advisory_xact_lock(hashtextextended('pgask.demo', 0))")
        row = connection.execute(
            "select obj_description(n.oid, 'pg_namespace') from pg_catalog.pg_namespace n"
            " where n.nspname = %s",
            (schema,),
        ).fetchone()
        if row is None:
            told = fill()
            connection.execute(
                SQL("comment on schema {} is {}").format(Identifier(schema), Literal(mark))
            )
            return f"Loaded {told} into the schema {schema}."
        if row[0] == mark:
            return f"The schema {schema} is loaded already."
        if str(row[0]).startswith("pgask demonstration"):
            raise PgaskError(
                f"The schema {schema} is of another edition of the demonstration.",
                hint=f"Drop it and start again: drop schema {schema} cascade;",
            )
        raise PgaskError(
            f"There is a schema {schema} already, and it is not the demonstration's.",
            hint="Run the demonstration in a database of its own.",
        )
