"""A canonical statement and its values -> its result, read-only, cut to size, in time."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, TypedDict, cast

from pgask_server import errors
from pgask_server.database import Database, DatabaseError
from pgask_server.errors import (
    ParameterInvalid,
    PgaskError,
    StatementInvalid,
    StatementRefused,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

Scalar = int | float | Decimal | str | bool | None
"""One cell: a number, a truth value, nothing, or text (dates in ISO 8601)."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a result."""

    name: str
    type_name: str


@dataclass(frozen=True, slots=True)
class Limits:
    """What a run may use: rows kept, characters kept of a cell, milliseconds, planned cost."""

    rows: int = 1000
    cell: int = 10_000
    milliseconds: int = 15_000
    plan_cost: float | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """What a statement gave. truncated: there were more rows, or they were too large together.

    A cell that was cut ends in an ellipsis. milliseconds: planning and execution.
    """

    columns: tuple[Column, ...]
    rows: list[list[Scalar]]
    truncated: bool
    milliseconds: float


class _ColumnRow(TypedDict):
    name: str
    type: str


class _ResultRow(TypedDict):
    columns: list[_ColumnRow]
    rows: list[list[Scalar]]
    truncated: bool
    milliseconds: float


_RUN = (
    "select pgask._run_read_only(statement => $1, types => $2, arguments => $3, row_limit => $4,"
    " cell_limit => $5, milliseconds => $6, plan_cost => $7) as result"
)
_RUN_TYPES = ("text", "text[]", "text[]", "integer", "integer", "integer", "float8")
_ADMIT = "select pgask._admit_statement($1, $2)"
_BY_SQLSTATE = {
    error.sqlstate: error
    for error in vars(errors).values()
    if isinstance(error, type) and issubclass(error, PgaskError)
}
_LARGEST_INTEGER = 2**31 - 1
_LARGEST_BIGINT = 2**63 - 1
_NOT_A_VALUE = frozenset({"22P02", "22003", "22007", "22008", "22021", "22P05"})


class ValueOutOfRange(ParameterInvalid):
    """A whole number is too large for the statement. position: of the value, from 1."""

    def __init__(self, position: int, value: str) -> None:
        self.position = position
        super().__init__(
            f"value {position} is not a valid integer", detail=f"{value} is out of its range."
        )


def run(
    db: Database,
    canonical: str,
    types: Sequence[str],
    values: Sequence[str | None],
    limits: Limits | None = None,
) -> Result:
    """Run a statement with the rights of the current user; whatever it does is rolled back.

    values: the text of each parameter, in the order of `types`; None is NULL. Where one is too
    large for `integer`, the statement is checked and run with `bigint` for it. Raises
    StatementRefused (not allowed, or it tried to write), StatementTooCostly, StatementTimeout,
    ParameterInvalid (a value is not of its type; ValueOutOfRange: the statement takes none as
    large), and DatabaseError for what the statement itself raises, 42501 and the user's own 57014
    among them.
    """
    limit = limits or Limits()
    if any(value is not None and "\0" in value for value in values):
        raise ParameterInvalid("a value holds a NUL character")
    large = _too_large(types, values)
    if not large:
        return _run(db, canonical, types, values, limit)
    out_of_range = ValueOutOfRange(large[0] + 1, str(values[large[0]]))
    wider = ["bigint" if i in large else name for i, name in enumerate(types)]
    try:
        _admit(db, canonical, wider)
    except (StatementInvalid, StatementRefused):
        _admit(db, canonical, types)
        raise out_of_range from None
    try:
        return _run(db, canonical, wider, values, limit)
    except DatabaseError as error:
        if error.sqlstate == "22003":
            raise out_of_range from None
        raise


def _admit(db: Database, canonical: str, types: Sequence[str]) -> None:
    try:
        db.execute(_ADMIT, ("text", "text[]"), [canonical, list(types)])
    except DatabaseError as error:
        raise _explained(error) from None


def _too_large(types: Sequence[str], values: Sequence[str | None]) -> list[int]:
    """The places of whole numbers that fit into bigint, but not into their type, integer."""
    large = list[int]()
    for i, (name, value) in enumerate(zip(types, values, strict=False)):
        text = (value or "").strip()
        # The length guards int(), whose time grows with the square of the digits.
        if name != "integer" or len(text) > 30 or not re.fullmatch(r"[+-]?[0-9]+", text):
            continue
        if not -_LARGEST_INTEGER - 1 <= int(text) <= _LARGEST_INTEGER:
            if not -_LARGEST_BIGINT - 1 <= int(text) <= _LARGEST_BIGINT:
                raise ValueOutOfRange(i + 1, text)
            large.append(i)
    return large


def _run(
    db: Database,
    canonical: str,
    types: Sequence[str],
    values: Sequence[str | None],
    limit: Limits,
) -> Result:
    try:
        rows = db.execute(
            _RUN,
            _RUN_TYPES,
            [
                canonical,
                list(types),
                list(values),
                limit.rows,
                limit.cell,
                limit.milliseconds,
                limit.plan_cost,
            ],
        )
    except DatabaseError as error:
        if error.sqlstate in _NOT_A_VALUE:
            _check_values(db, types, values)
        raise _explained(error) from None
    return _read(cast("str | None", rows[0]["result"]))


def columns(db: Database, canonical: str, types: Sequence[str]) -> tuple[Column, ...]:
    """The columns of a statement's result. It is planned with NULLs, and not run."""
    return run(db, canonical, types, [None] * len(types), Limits(rows=0)).columns


def _read(text: str | None) -> Result:
    if text is None:
        # Something inside raised the code by which the block carries its result out.
        raise StatementRefused("the statement interfered with its own run")
    row = cast("_ResultRow", json.loads(text, parse_float=Decimal))
    return Result(
        columns=tuple(Column(column["name"], column["type"]) for column in row["columns"]),
        rows=row["rows"],
        truncated=row["truncated"],
        milliseconds=float(row["milliseconds"]),
    )


def _explained(error: DatabaseError) -> Exception:
    if kind := _BY_SQLSTATE.get(error.sqlstate):
        message = error.message.removeprefix("pgask: ")
        return kind(message, detail=error.detail, hint=error.hint)
    message = error.message.removeprefix("pgask: ")
    if error.sqlstate == "25006":
        return StatementRefused("the statement tries to write", detail=message)
    hint = error.hint
    if error.sqlstate in ("42P01", "42883") and not hint:
        hint = (
            "A function that the statement calls may look for names in the search_path; questions "
            "run without one. Give it its own: alter function ... set search_path = ..."
        )
    return DatabaseError(error.sqlstate, message, error.detail, hint)


def _check_values(db: Database, types: Sequence[str], values: Sequence[str | None]) -> None:
    """Raise ParameterInvalid for the first value that is not of its type."""
    for number, (name, value) in enumerate(zip(types, values, strict=True), start=1):
        try:
            db.execute("select pgask._check_value($1, $2)", ["text", "text"], [value, name])
        except DatabaseError as error:
            raise ParameterInvalid(
                f"value {number} is not a valid {name}",
                detail=error.message.removeprefix("pgask: ")[:500],
            ) from None
