"""What PostgreSQL understands of a statement: the functions, relations and types in its tree.

The tree of the stored function body names by oid every function that runs: called outright, as an
operator, a cast, a column of a row (`select c.peek from customer c`), a sort, a window. What runs
behind views, aggregates, defaults and the checks of domains is looked up in `reach`.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict, cast

from pgask_server.database import Database, DatabaseError
from pgask_server.errors import StatementInvalid, StatementRefused
from pgask_server.statement.reach import Function, Relation, numbers, reach

if TYPE_CHECKING:
    from collections.abc import Sequence

_COMMAND = re.compile(r":commandType (\d+)")
_LOCKS = re.compile(r":hasForUpdate true|:rowMarks \(")


@dataclass(frozen=True, slots=True)
class Inspection:
    """What PostgreSQL understood. commands: numbers of CmdType, 1 is SELECT.

    dependencies: a line for each thing that the statement depends on and that is not part of
    PostgreSQL itself, sorted; names and types, no oids, so that they survive dump and restore.
    """

    canonical: str
    commands: frozenset[int]
    locks: bool
    functions: tuple[Function, ...]
    relations: tuple[Relation, ...]
    dependencies: tuple[str, ...]


class _Statement(TypedDict):
    canonical: str
    tree: str
    depends: list[tuple[str, int, int]]


def inspect(
    db: Database, sql: str, types: Sequence[str], search_path: str | None = None
) -> Inspection:
    """What PostgreSQL understands of one statement with $1 ... of these types.

    search_path: where names are looked up; None: `sql` is canonical already, and is understood
    as it will be when it is run. Raises
    StatementInvalid, StatementRefused where it is no SELECT, and DatabaseError 42501 where the
    current user may not create temporary functions.
    """
    try:
        rows = db.execute(
            "select pgask._inspect_statement($1, $2, $3) as inspection",
            ["text", "text[]", "text"],
            [sql, list(types), search_path],
        )
    except DatabaseError as error:
        raise _explained(error) from None
    found = cast("str | None", rows[0]["inspection"])
    if found is None:
        raise StatementInvalid("the statement could not be analysed")
    statement = cast("_Statement", json.loads(found))
    tree, depends = statement["tree"], statement["depends"]
    type_oids = {oid for kind, oid, _ in depends if kind == "pg_type"}
    reached = reach(db, tree, type_oids)
    column_lines = _columns(
        db,
        [(oid, number) for kind, oid, number in depends if kind == "pg_class"],
        whole_rows=":varattno 0 " in tree,
    )
    return Inspection(
        canonical=statement["canonical"],
        commands=frozenset(numbers(_COMMAND, [tree])),
        locks=_LOCKS.search(tree) is not None,
        functions=tuple(sorted(reached.functions.values(), key=lambda f: f.signature)),
        relations=tuple(sorted(reached.relations.values(), key=lambda r: (r.schema, r.name))),
        dependencies=tuple(sorted({*reached.lines, *column_lines})),
    )


_COLUMN_ROWS = """
    select
        pg_catalog.format('%I.%I.%I %s', n.nspname, c.relname, a.attname,
            pg_catalog.format_type(a.atttypid, a.atttypmod)) as line
    from rows from (pg_catalog.unnest($1::oid[]), pg_catalog.unnest($2::smallint[]))
        as u (relation, number)
    join pg_catalog.pg_attribute a
        on a.attrelid = u.relation and not a.attisdropped
        and (a.attnum = u.number or ($3 and a.attnum > 0))
    join pg_catalog.pg_class c on c.oid = u.relation
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where c.oid >= 16384
"""


def _columns(db: Database, read: Sequence[tuple[int, int]], *, whole_rows: bool) -> list[str]:
    """A line for each column read, with its type; a whole row reads all of them."""
    if not read:
        return []
    rows = db.execute(
        _COLUMN_ROWS,
        ["bigint[]", "integer[]", "boolean"],
        [[oid for oid, _ in read], [number for _, number in read], whole_rows],
    )
    return [f"column {row['line']}" for row in rows]


def _explained(error: DatabaseError) -> Exception:
    if error.sqlstate == "25006":
        return StatementInvalid(
            "a new statement cannot be analysed in a read-only transaction or on a standby",
            hint="Save the question on the primary first: what was saved there runs here too.",
        )
    if error.sqlstate == "42501":
        return DatabaseError(
            error.sqlstate,
            error.message,
            error.detail,
            error.hint
            or "Whoever has statements analysed needs the privilege TEMPORARY on the database.",
        )
    if error.sqlstate == "0A000" and "SQL function body" in error.message:
        return StatementRefused("only a SELECT is allowed", detail=error.message)
    if error.sqlstate[:2] in ("57", "53", "58", "XX", "40", "55"):
        return error  # of the server, not of the statement
    return StatementInvalid(
        f"the statement does not analyse: {error.message}", detail=error.detail, hint=error.hint
    )
