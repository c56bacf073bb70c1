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

_VERDICTS: weakref.WeakKeyDictionary[Database, OrderedDict[_Key, tuple[float, bool]]] = (
    weakref.WeakKeyDictionary()
)
"""When each was admitted, and whether it was checked then or taken on trust."""


def remember(db: Database, canonical: str, types: Sequence[str], *, checked: bool = True) -> None:
    """The statement has just been checked, or was taken on trust by who is the user now."""
    verdicts = _VERDICTS.setdefault(db, OrderedDict())
    key = (canonical, tuple(types))
    verdicts[key] = time.monotonic(), checked
    verdicts.move_to_end(key)
    if len(verdicts) > _MOST:
        verdicts.popitem(last=False)


def last_checked(db: Database, canonical: str, types: Sequence[str]) -> float | None:
    """When this session admitted the statement, by time.monotonic(); None: never."""
    verdict = _verdict(db, canonical, types)
    return None if verdict is None else verdict[0]


def _verdict(db: Database, canonical: str, types: Sequence[str]) -> tuple[float, bool] | None:
    verdicts = _VERDICTS.get(db)
    return None if verdicts is None else verdicts.get((canonical, tuple(types)))


def admit(db: Database, canonical: str, types: Sequence[str]) -> None:
    """Check the statement unless that was done just now. Raises StatementRefused and others.

    Where nothing can be written, and so nothing analysed, the text of a saved question is taken
    if nobody but an administrator, or the current user, can have written it; see _is_trusted.
    """
    when, checked = _verdict(db, canonical, types) or (0.0, False)
    # What one user trusts says nothing to the next one, of SET ROLE or a SECURITY DEFINER function.
    if checked and time.monotonic() < when + _SECONDS:
        return
    # Here, since analyse itself remembers its verdicts here.
    from pgask_server.statement import analyse

    writable = _is_writable(db)
    if writable:
        analyse.verify(db, canonical, types)
    elif not _is_trusted(db, canonical, types):
        raise StatementRefused(
            "the statement cannot be checked in a read-only transaction or on a standby",
            detail="There only approved and built-in questions and your own drafts run.",
            hint="Ask outside of it, on the primary, or have the question approved.",
        )
    remember(db, canonical, types, checked=writable)


def _is_writable(db: Database) -> bool:
    rows = db.execute(
        "select pg_catalog.current_setting('transaction_read_only') = 'off' as writable"
    )
    return rows[0]["writable"] is True


_TRUSTED = """
    select exists (
        select
        from pgask.nl_query q, pg_catalog.jsonb_array_elements(q.derived_sqls) s
        where s operator(pg_catalog.->>) 'canonical' = $1
            and s operator(pg_catalog.->) 'types' = pg_catalog.to_jsonb($2)
            and q.retired_at is null
            and (
                q.status in ('approved', 'system')
                or q.owner_id = pgask._my_profile() and pgask._caller() = current_user::text
            )
    ) as trusted
"""


def _is_trusted(db: Database, canonical: str, types: Sequence[str]) -> bool:
    """Whether a question holds the statement that is approved, built in or one's own draft.

    An editor can store a draft with any canonical text, and share it: it says nothing about what
    others may safely run. One's own draft runs with no other rights than its author's, unless a
    SECURITY DEFINER function asks: then its owner is the current user, who did not write it.
    """
    rows = db.execute(_TRUSTED, ["text", "text[]"], [canonical, list(types)])
    return rows[0]["trusted"] is True
