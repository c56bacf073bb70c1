"""Links words of a question to the values of a column, as the asker may see them."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from pgask_server.database import Database, DatabaseError
from pgask_server.errors import QuestionInvalid
from pgask_server.question.value_index import Link, ValueIndex, phrases
from pgask_server.question.words import Word, normal_phrase

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_DISTINCT = 10_000
"""Columns of up to so many distinct values are kept in the session."""

LIFETIME = 30.0
"""Seconds for which the values of a column are kept."""

_MOST_COLUMNS = 64
_MOST_PHRASES = 24
_MOST_WORDS = 200

_DESCRIBE = """
select c.relation::pg_catalog.text as relation, c.attribute, c.type, c.readable, c.stable
from pgask._value_column($1) c"""
_VALUES = "select v.value from pgask._column_values($1, $2) v"
_SIMILAR = """
select s.phrase, s.value, s.similarity
from pgask._similar_values($1, $2) s
order by s.phrase, s.similarity desc, s.value"""
_SESSION = "select current_user::pg_catalog.text as role, pg_catalog.now()::pg_catalog.text as now"


@dataclass(frozen=True, slots=True)
class Viewer:
    """Whose eyes look: the current role and the transaction, which may hold other identities."""

    role: str
    transaction: str


@dataclass(slots=True)
class _Cached:
    index: ValueIndex | None
    values: tuple[str, ...]
    loaded: float
    note: str | None = None


@dataclass(slots=True)
class ValueLinker:
    """Finds values of columns in questions; keeps small columns for LIFETIME seconds.

    Values are kept per role. What a view or a table with row security shows may depend on more
    than the role, so that is kept for the current transaction only.
    """

    clock: float | None = None
    _columns: dict[tuple[str, str, str], _Cached] = field(
        default_factory=dict[tuple[str, str, str], _Cached]
    )

    def links(
        self,
        db: Database,
        column: str,
        words: Sequence[Word],
        known: frozenset[str],
        viewer: Viewer,
    ) -> tuple[Link, ...]:
        """The values of `column` that `words` name, best first; none if it cannot be read.

        known: stems of the words that the saved question itself uses; they are no values unless
        a value is spelt exactly so.
        """
        cached = self._load(db, column, viewer)
        words = words[:_MOST_WORDS]
        if cached.index is not None:
            return cached.index.links(words, known)
        if cached.note is not None:
            return ()
        return self._query(db, column, words, known)

    def nearest(
        self, db: Database, column: str, text: str, viewer: Viewer, count: int = 5
    ) -> tuple[str, ...]:
        """The values of `column` that are spelt most like `text`, best first."""
        cached = self._load(db, column, viewer)
        if cached.index is not None:
            return cached.index.nearest(normal_phrase(text), count)
        if cached.note is not None:
            return ()
        rows = db.execute(_SIMILAR, ("text", "text[]"), (column, [text.replace("\0", " ")[:200]]))
        return tuple(cast("str", row["value"]) for row in rows)[:count]

    def note(self, column: str, viewer: Viewer) -> str | None:
        """Why `column` cannot be read by the viewer, if that was found in this transaction."""
        for key in ((column, viewer.role, ""), (column, viewer.role, viewer.transaction)):
            cached = self._columns.get(key)
            if cached is not None and cached.note is not None:
                return cached.note
        return None

    def _load(self, db: Database, column: str, viewer: Viewer) -> _Cached:
        now = time.monotonic() if self.clock is None else self.clock
        lasting, passing = (column, viewer.role, ""), (column, viewer.role, viewer.transaction)
        for key in (lasting, passing):
            cached = self._columns.get(key)
            if cached is not None and now - cached.loaded < LIFETIME:
                return cached
        described = _describe(db, column)
        if described is None or not described.readable:
            reason = f"the column {column} does not exist"
            if described is not None:
                reason = f"you may not read the column {column}"
            cached = _Cached(None, (), now, reason)
            key = passing
        else:
            key = lasting if described.stable else passing
            rows = db.execute(_VALUES, ("text", "integer"), (column, MOST_DISTINCT + 1))
            values = tuple(cast("str", row["value"]) for row in rows)
            former = self._columns.get(lasting)
            if len(values) > MOST_DISTINCT:
                cached = _Cached(None, (), now)
            elif former is not None and former.values == values and former.index is not None:
                cached = _Cached(former.index, values, now)
            else:
                cached = _Cached(ValueIndex(values), values, now)
        self._columns.pop(key, None)
        self._columns[key] = cached
        while len(self._columns) > _MOST_COLUMNS:
            del self._columns[next(iter(self._columns))]
        return cached

    def _query(
        self, db: Database, column: str, words: Sequence[Word], known: frozenset[str]
    ) -> tuple[Link, ...]:
        """Links to a column that is too large to keep: one query for all word groups."""
        asked = phrases(words, known)[:_MOST_PHRASES]
        if not asked:
            return ()
        rows = db.execute(
            _SIMILAR,
            ("text", "text[]"),
            (column, sorted({phrase.text for phrase in asked})),
        )
        found: dict[str, list[str]] = {}
        for row in rows:
            found.setdefault(cast("str", row["phrase"]), []).append(cast("str", row["value"]))
        # The values that came back are few: the same rules as for a small column decide.
        values = sorted({value for several in found.values() for value in several})
        return ValueIndex(tuple(values), partial=False).links(words, known)


@dataclass(frozen=True, slots=True)
class _Described:
    type: str
    readable: bool
    stable: bool


def _describe(db: Database, column: str) -> _Described | None:
    rows = db.execute(_DESCRIBE, ("text",), (column,))
    if not rows:
        return None
    row = rows[0]
    return _Described(cast("str", row["type"]), bool(row["readable"]), bool(row["stable"]))


def check_column(db: Database, parameter: str, column: str) -> None:
    """Make sure, when a question is saved, that `column` exists and its author may read it.

    Raises QuestionInvalid.
    """
    try:
        described = _describe(db, column)
    except DatabaseError as error:
        raise QuestionInvalid(
            f'parameter "{parameter}": "{column}" does not name a column', detail=error.message
        ) from error
    if described is None:
        raise QuestionInvalid(
            f'parameter "{parameter}": the column {column} does not exist',
            hint="Write schema.table.column, with double quotes where SQL needs them.",
        )
    if not described.readable:
        raise QuestionInvalid(
            f'parameter "{parameter}": you may not read the column {column}',
            hint="Ask for the SELECT privilege on it, or leave the column out.",
        )


def viewer_of(db: Database) -> Viewer:
    """The current role and transaction."""
    row = db.execute(_SESSION)[0]
    return Viewer(cast("str", row["role"]), cast("str", row["now"]))
