"""A statement as its author wrote it -> its canonical text, checked, with what it depends on.

PostgreSQL is the parser. In a block that is always rolled back, pgask._inspect_statement() has it
parse the statement inside parentheses, as a string, where a second statement is a syntax error,
and then store it as the body of a temporary function: the stored tree names every function and
relation that the statement really uses, and its text, with every name qualified, is what is run.
No second parser has a say, so none can disagree.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from pgask_server import settings
from pgask_server.errors import StatementInvalid
from pgask_server.statement import admit, check, run
from pgask_server.statement.inspection import inspect
from pgask_server.statement.placeholder import compile_placeholders

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pgask_server.database import Database


@dataclass(frozen=True, slots=True)
class Analysed:
    """A statement that may be run.

    canonical: the text with $1 ... . arguments: the names of the parameters in that order; types:
    their PostgreSQL types. columns: of the result, in order, names may repeat. fingerprint: of
    `dependencies`, which names the tables, columns with types, functions, operators and types
    that the statement depends on and that are not part of PostgreSQL itself.
    """

    canonical: str
    arguments: tuple[str, ...]
    types: tuple[str, ...]
    columns: tuple[run.Column, ...]
    fingerprint: str
    dependencies: tuple[str, ...]

    def to_json(self) -> str:
        """A JSON object of the fields, columns as [{"name", "type"}]."""
        return json.dumps(
            {
                "canonical": self.canonical,
                "arguments": self.arguments,
                "types": self.types,
                "columns": [{"name": c.name, "type": c.type_name} for c in self.columns],
                "fingerprint": self.fingerprint,
                "dependencies": self.dependencies,
            },
            ensure_ascii=False,
        )


def read_types(params: str) -> dict[str, str]:
    """The jsonb text {name: type} as a dictionary. Raises StatementInvalid."""
    try:
        given: object = json.loads(params)
    except (ValueError, RecursionError) as error:
        raise StatementInvalid("params is not JSON", detail=str(error)) from error
    if isinstance(given, dict):
        entries = cast("dict[str, object]", given)
        types = {name: kind for name, kind in entries.items() if isinstance(kind, str)}
        if len(types) == len(entries):
            return types
    raise StatementInvalid(
        "params does not give types by name", hint="""Write '{"year": "integer"}'."""
    )


def analyse(
    db: Database, sql: str, params: Mapping[str, str], search_path: str | None = None
) -> Analysed:
    """Analyse and check one statement with :name places.

    params: the PostgreSQL type of each parameter by name. search_path: where the author's names
    are looked up, as the setting of that name; None: in pg_catalog alone. An integer that does
    not fit as `integer` is tried as `bigint`. Raises StatementRefused, StatementInvalid, and
    DatabaseError 42501 where the current user may not read what the statement reads.
    """
    text, arguments = compile_placeholders(sql, list(params))
    types = tuple(params[name] for name in arguments)
    path = "" if search_path is None else search_path
    try:
        inspection = inspect(db, text, types, path)
    except StatementInvalid:
        wider = tuple("bigint" if name == "integer" else name for name in types)
        if wider == types:
            raise
        try:
            inspection = inspect(db, text, wider, path)
        except StatementInvalid:
            inspection = None
        if inspection is None:
            raise
        types = wider
    check.check(inspection, check.allowed(settings.read(db).optional("allowed_functions")))
    admit.remember(db, inspection.canonical, types)
    columns = run.columns(db, inspection.canonical, types)
    return Analysed(
        canonical=inspection.canonical,
        arguments=tuple(arguments),
        types=types,
        columns=columns,
        fingerprint=_digest(inspection.dependencies),
        dependencies=inspection.dependencies,
    )


def fingerprint(db: Database, canonical: str, types: Sequence[str]) -> str:
    """The fingerprint that `canonical` would have if it were analysed now.

    Raises StatementInvalid when it no longer analyses: something it needs is gone.
    """
    return _digest(inspect(db, canonical, types).dependencies)


def verify(db: Database, canonical: str, types: Sequence[str]) -> None:
    """Inspect and check a canonical text. Raises as `analyse` does."""
    inspection = inspect(db, canonical, types)
    check.check(inspection, check.allowed(settings.read(db).optional("allowed_functions")))


def _digest(dependencies: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(dependencies).encode()).hexdigest()
