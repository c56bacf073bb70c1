"""What happens inside the read-only block: the typed plan, its time limit, the result as JSON.

Only admitted texts get here, from a STABLE function: what it executes runs with SPI's read-only
flag, under which PostgreSQL refuses every command that is not a plain SELECT, SHOW, SET, EXPLAIN
and all other utility commands included, and so also a second statement. A cursor would refuse a
second statement too, but not those.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, TypeVar, cast

from pgask_server.database import Database, DatabaseError
from pgask_server.errors import (
    ParameterInvalid,
    StatementRefused,
    StatementTimeout,
    StatementTooCostly,
)
from pgask_server.statement import admit, cells, deadline

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

T = TypeVar("T")

_TRUTH = {
    **dict.fromkeys(("true", "t", "yes", "y", "on", "1"), True),
    **dict.fromkeys(("false", "f", "no", "n", "off", "0"), False),
}


def execute(
    db: Database,
    canonical: str,
    types: Sequence[str],
    arguments: Sequence[str | None],
    row_limit: int,
    cell_limit: int,
    milliseconds: int,
) -> str:
    """Run an admitted statement; its result as the JSON text that `run` reads.

    Raises StatementRefused outside the read-only block and for a text that was not admitted.
    """
    _need(canonical, types, arguments, row_limit, cell_limit, milliseconds)
    _need_as_many(types, arguments)
    if row_limit < 0 or cell_limit < 1:
        raise StatementRefused(
            "the limits of a statement are not valid",
            detail=f"row_limit is {row_limit}, cell_limit is {cell_limit}.",
            hint="At least 0 rows and 1 character of a cell are kept.",
        )
    checked = _need_admission(db, canonical, types)
    values = [_value(name, value) for name, value in zip(types, arguments, strict=True)]
    started = time.perf_counter()

    def work() -> tuple[tuple[cells.ResultColumn, ...], Sequence[Sequence[str | None]], bool]:
        columns = cells.columns(db, canonical, types, values, checked)
        if row_limit == 0:
            return columns, [], False
        sql = cells.wrapper(canonical, columns, row_limit, cell_limit)
        found = db.execute(sql, types, values)
        rows = [cast("list[str | None]", list(row.values())) for row in found]
        return columns, *cells.cut(rows, columns, row_limit)

    columns, rows, truncated = within(db, milliseconds, work)
    took = (time.perf_counter() - started) * 1000
    return cells.dump(columns, rows, cell_limit, truncated, took)


def check_plan_cost(
    db: Database,
    canonical: str,
    types: Sequence[str],
    arguments: Sequence[str | None],
    milliseconds: int,
    most: float,
) -> None:
    """Raise StatementTooCostly if the planner expects the statement to cost more than `most`."""
    _need(canonical, types, arguments, milliseconds, most)
    _need_as_many(types, arguments)
    _need_admission(db, canonical, types)
    values = [_value(name, value) for name, value in zip(types, arguments, strict=True)]
    rows = within(
        db, milliseconds, lambda: db.execute(f"explain (format json) {canonical}", types, values)
    )
    plan = json.loads(cast("str", rows[0]["QUERY PLAN"]))
    cost = float(plan[0]["Plan"]["Total Cost"])
    if cost > most:
        raise StatementTooCostly(
            detail=f"The planner expects a cost of {cost:,.0f}; the limit is {most:,.0f}.",
            hint="Narrow it, add an index, or raise the setting plan_cost_limit.",
        )


def within(db: Database, milliseconds: int, work: Callable[[], T]) -> T:
    """What `work` gives, or StatementTimeout. Another's cancel request stays 57014."""
    if milliseconds <= 0:
        raise StatementTimeout("the time limit must be more than 0 milliseconds")
    limit = deadline.arm(milliseconds)
    try:
        result = work()
    except BaseException:
        if not limit.disarm():
            raise
    else:
        if not limit.disarm():
            return result
    _take_the_pending_cancel(db)
    raise StatementTimeout(
        f"the statement took longer than {milliseconds / 1000:g} seconds and was stopped",
        hint="Narrow it, add an index, or raise the setting statement_timeout_ms.",
    )


def _take_the_pending_cancel(db: Database) -> None:
    """A signal that came too late for the statement must not end a later one."""
    try:
        db.execute("select 1")
    except DatabaseError as error:
        if error.sqlstate != "57014":
            raise


def _need(*given: object) -> None:
    """Refuse the NULLs that SQL may hand in, whatever the types say."""
    if any(value is None for value in given):
        raise StatementRefused("a statement, its types, its values and its limits may not be null")


def _need_as_many(types: Sequence[str], arguments: Sequence[str | None]) -> None:
    if len(arguments) != len(types):
        raise StatementRefused(f"{len(types)} values are needed, {len(arguments)} were given")


def _need_admission(db: Database, canonical: str, types: Sequence[str]) -> float:
    """When the statement was checked: a moment ago, by the function that opened the block."""
    checked = admit.last_checked(db, canonical, types)
    rows = db.execute(
        "select pg_catalog.current_setting('transaction_read_only') = 'on' as read_only"
    )
    if checked is None or rows[0]["read_only"] is not True:
        raise StatementRefused("statements are run by pgask._run_read_only() only")
    return checked


def _value(type_name: str, value: str | None) -> object:
    # PL/Python takes the truth of an object for a boolean, and every text is true.
    if value is None or type_name not in ("boolean", "bool"):
        return value
    truth = _TRUTH.get(value.strip().lower())
    if truth is None:
        raise ParameterInvalid("a value is not a valid boolean", detail=f"It is {value[:80]!r}.")
    return truth
