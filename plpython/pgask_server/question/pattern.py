"""Whether a text has the form that a parameter's pattern describes.

PostgreSQL's own regular expressions decide: without references back they take time in proportion
to the text, where Python's can take for ever, and a cancel request ends them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from pgask_server.database import DatabaseError
from pgask_server.errors import ParameterInvalid

if TYPE_CHECKING:
    from pgask_server.database import Database

Matches = Callable[[str, str], bool]
"""Whether a regular expression matches somewhere in a text: (expression, text)."""

_LONGEST = 1000
_REFERS_BACK = re.compile(r"(?<!\\)(?:\\\\)*\\[1-9]")


def pattern_matcher(db: Database) -> Matches:
    """Matches by the database. Raises ParameterInvalid for what is no regular expression."""

    def matches(expression: str, text: str) -> bool:
        try:
            rows = db.execute(
                "select $1 operator(pg_catalog.~) $2 as matches",
                ("text", "text"),
                (text, expression),
            )
        except DatabaseError as error:
            if error.sqlstate != "2201B":
                raise
            raise ParameterInvalid(
                "the pattern is not a regular expression",
                detail=error.message.removeprefix("pgask: ").removeprefix(
                    "invalid regular expression: "
                ),
            ) from None
        return rows[0]["matches"] is True

    return matches


def fits(pattern: str, text: str, matches: Matches) -> bool:
    """Whether the whole text has the form."""
    return matches(f"^(?:{pattern})$", text)


def objection(pattern: str, matches: Matches | None) -> tuple[str, str | None] | None:
    """Why the pattern cannot be taken, as message and detail; None: it can.

    Without `matches` it is not tried.
    """
    if len(pattern) > _LONGEST:
        return f"the pattern is longer than {_LONGEST} characters", None
    if _REFERS_BACK.search(pattern):
        return "the pattern refers back to a part of itself", None
    if matches is not None:
        try:
            # Alone too: "a)|(?:b" is an expression only between what anchors it.
            matches(pattern, "")
            fits(pattern, "", matches)
        except ParameterInvalid as error:
            return error.message, error.detail
    return None
