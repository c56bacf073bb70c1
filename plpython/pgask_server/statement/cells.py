"""The cells of a result: cut in SQL, before a large one reaches Python, and written as JSON."""

from __future__ import annotations

import functools
import json
import weakref
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pgask_server.database import Database

_MOST_CHARACTERS = 20_000_000
"""Of a whole result. Rows beyond it are left out."""

_MOST_STATEMENTS = 256
_NUMBERS = frozenset({"smallint", "integer", "bigint", "numeric", "real", "double precision"})
_SHORT = _NUMBERS | {
    "boolean",
    "date",
    "interval",
    "oid",
    "time without time zone",
    "time with time zone",
    "timestamp without time zone",
    "timestamp with time zone",
    "uuid",
}
"""Types whose text is short; a numeric that is not is an exception that is borne."""


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """A column of a result, as far as it decides how its cells are cut and written."""

    name: str
    type_name: str
    base: str
    """Below domains: the type without its modifier."""
    system: bool
    """A scalar type of PostgreSQL itself."""


_COLUMNS: weakref.WeakKeyDictionary[
    Database, OrderedDict[tuple[str, tuple[str, ...], float], tuple[ResultColumn, ...]]
] = weakref.WeakKeyDictionary()


def columns(
    db: Database, canonical: str, types: Sequence[str], values: Sequence[object], checked: float
) -> tuple[ResultColumn, ...]:
    """The columns of the statement's result, as they were when it was last checked."""
    known = _COLUMNS.setdefault(db, OrderedDict())
    key = (canonical, tuple(types), checked)
    if key in known:
        known.move_to_end(key)
        return known[key]
    # A limit of 0 plans the statement and checks the privileges, but computes no row.
    found = db.columns(f"select * from (\n{canonical}\n) as q limit 0", types, values)
    oids = sorted({oid for _, oid in found})
    rows = db.execute(
        "with recursive t (oid, base, depth) as ("
        " select b.oid, b.oid, 0 from pg_catalog.pg_type b where b.oid = any($1)"
        " union all select t.oid, b.typbasetype, t.depth + 1 from t"
        " join pg_catalog.pg_type b on b.oid = t.base where b.typtype = 'd')"
        " select distinct on (t.oid) t.oid::bigint as oid,"
        " pg_catalog.format_type(t.oid, null) as name,"
        " pg_catalog.format_type(t.base, null) as base,"
        " t.base < 16384 and b.typtype = 'b' and b.typcategory <> 'A' as system"
        " from t join pg_catalog.pg_type b on b.oid = t.base order by t.oid, t.depth desc",
        ["oid[]"],
        [oids],
    )
    kinds = {cast("int", row["oid"]): row for row in rows}
    columns = tuple(
        ResultColumn(
            name,
            cast("str", kinds[oid]["name"]),
            cast("str", kinds[oid]["base"]),
            kinds[oid]["system"] is True,
        )
        for name, oid in found
    )
    known[key] = columns
    if len(known) > _MOST_STATEMENTS:
        known.popitem(last=False)
    return columns


@functools.lru_cache(maxsize=_MOST_STATEMENTS)
def wrapper(
    canonical: str, columns: tuple[ResultColumn, ...], most_rows: int, most_characters: int
) -> str:
    """The statement inside one that cuts rows and cells before they reach this process's Python.

    One row and one character more than the limits tell that something was cut.
    """
    names = ", ".join(f"c{i}" for i in range(len(columns)))
    cells = ", ".join(
        f"{_cell(f'q.c{i}', column, most_characters + 1)} as c{i}"
        for i, column in enumerate(columns)
    )
    if not columns:
        return f"select from (\n{canonical}\n) as q limit {most_rows + 1}"
    cut = f"select {cells} from (\n{canonical}\n) as q ({names}) limit {most_rows + 1}"
    long = [f"c{i}" for i, column in enumerate(columns) if column.base not in _SHORT]
    if not long or len(long) * (most_rows + 1) * (most_characters + 1) <= _MOST_CHARACTERS:
        return cut
    size = " + ".join(f"coalesce(pg_catalog.length({name}), 0)" for name in long)
    # A running sum keeps the first row beyond the limit and none after it.
    return (
        f"select {names} from (select {names}, {size} as size, pg_catalog.sum({size}) over"
        f" (rows unbounded preceding) as total from ({cut}) as r) as s"
        f" where s.total - s.size <= {_MOST_CHARACTERS}"
    )


def _cell(name: str, column: ResultColumn, length: int) -> str:
    if column.base in _SHORT:
        return f"{name}::pg_catalog.text"
    if column.base == "bytea":
        part = f"pg_catalog.substring({name}::pg_catalog.bytea, 1, {length})"
        return f"pg_catalog.left('\\x' || pg_catalog.encode({part}, 'hex'), {length})"
    if column.system:
        return f"pg_catalog.left({name}::pg_catalog.text, {length})"
    # format() uses the type's output function: a cast to text may be somebody's own function.
    return (
        f"case when pg_catalog.num_nulls({name}) = 0"
        f" then pg_catalog.left(pg_catalog.format('%s', {name}), {length}) end"
    )


def cut(
    rows: list[list[str | None]], columns: Sequence[ResultColumn], row_limit: int
) -> tuple[list[list[str | None]], bool]:
    """The rows within the limits, and whether there were more."""
    truncated = len(rows) > row_limit
    del rows[row_limit:]
    long = [i for i, column in enumerate(columns) if column.base not in _SHORT]
    total = 0
    for number, row in enumerate(rows):
        total += sum(len(row[i] or "") for i in long)
        if total > _MOST_CHARACTERS and number:
            return rows[:number], True
    return rows, truncated


def dump(
    columns: Sequence[ResultColumn],
    rows: Sequence[Sequence[str | None]],
    cell_limit: int,
    truncated: bool,
    milliseconds: float,
) -> str:
    """The result as the JSON text that `run` reads; a numeric keeps every digit."""
    head = json.dumps([{"name": c.name, "type": c.type_name} for c in columns], ensure_ascii=False)
    writers = [_writer(column, cell_limit) for column in columns]
    body = ",".join(
        "["
        + ",".join(
            "null" if cell is None else write(cell)
            for write, cell in zip(writers, row, strict=True)
        )
        + "]"
        for row in rows
    )
    return (
        f'{{"columns": {head}, "rows": [{body}], '
        f'"truncated": {"true" if truncated else "false"}, "milliseconds": {milliseconds:.3f}}}'
    )


def _writer(column: ResultColumn, cell_limit: int) -> Callable[[str], str]:
    if column.base == "boolean":
        return str  # true, false
    if column.base in _NUMBERS:
        return _number

    def quoted(text: str) -> str:
        if len(text) > cell_limit and column.base not in _SHORT:
            text = text[:cell_limit] + "…"
        return json.dumps(text, ensure_ascii=False)

    return quoted


def _number(text: str) -> str:
    # NaN and the infinities are no JSON numbers.
    return f'"{text}"' if text[-1] in "Ny" else text
