"""Which canonical texts this session has found harmless, and for how long that holds.

Whoever may run a question may call the function that runs one with any text, so the text is
checked there again. A verdict is kept for a few seconds, so that a busy session does not pay for
it each time, and a function that was redefined meanwhile is noticed soon.
"""

from __future__ import annotations

import time
import weakref
from collections import OrderedDict
from typing import TYPE_CHECKING

from pgask_server.errors import StatementRefused

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pgask_server.database import Database

_SECONDS = 10.0
_MOST = 512

_Key = tuple[str, tuple[str, ...]]

_VERDICTS: weakref.WeakKeyDictionary[Database, OrderedDict[_Key, float]] = (
    weakref.WeakKeyDictionary()
)


def remember(db: Database, canonical: str, types: Sequence[str]) -> None:
    """The statement has just been checked."""
    verdicts = _VERDICTS.setdefault(db, OrderedDict())
    key = (canonical, tuple(types))
    verdicts[key] = time.monotonic()
    verdicts.move_to_end(key)
    if len(verdicts) > _MOST:
        verdicts.popitem(last=False)


def last_checked(db: Database, canonical: str, types: Sequence[str]) -> float | None:
    """When this session checked the statement, by time.monotonic(); None: never."""
    verdicts = _VERDICTS.get(db)
    return None if verdicts is None else verdicts.get((canonical, tuple(types)))


def admit(db: Database, canonical: str, types: Sequence[str]) -> None:
    """Check the statement unless that was done just now. Raises StatementRefused and others.

    Where nothing can be written, and so nothing analysed, the text of a question that is saved
    and visible to the current user is taken: it was checked when it was saved.
    """
    checked = last_checked(db, canonical, types)
    if checked is not None and time.monotonic() < checked + _SECONDS:
        return
    # Here, since analyse itself remembers its verdicts here.
    from pgask_server.statement import analyse

    if _is_writable(db):
        analyse.verify(db, canonical, types)
    elif not _is_saved(db, canonical):
        raise StatementRefused(
            "a new statement cannot be checked in a read-only transaction or on a standby",
            hint="Save it as a question on the primary first.",
        )
    remember(db, canonical, types)


def _is_writable(db: Database) -> bool:
    rows = db.execute(
        "select pg_catalog.current_setting('transaction_read_only') = 'off' as writable"
    )
    return rows[0]["writable"] is True


def _is_saved(db: Database, canonical: str) -> bool:
    rows = db.execute(
        "select exists (select from pgask.nl_query q where q.derived_sqls operator(pg_catalog.@>)"
        " pg_catalog.jsonb_build_array(pg_catalog.jsonb_build_object('canonical', $1))) as saved",
        ["text"],
        [canonical],
    )
    return rows[0]["saved"] is True
