"""A question as its author writes it -> a checked row of nl_query."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from pgask_server.answer.value import DISPLAYS
from pgask_server.chunk import is_blank
from pgask_server.errors import (
    ConfigurationError,
    ModelMalformed,
    ModelRefused,
    ModelUnavailable,
    QuestionInvalid,
)
from pgask_server.question.link import check_column
from pgask_server.question.mask import masked_prompt
from pgask_server.question.parameter import Parameter, parse_parameters, places
from pgask_server.question.pattern import pattern_matcher
from pgask_server.question.traits import statement_traits
from pgask_server.statement.analyse import analyse
from pgask_server.vector_literal import vector_literal

if TYPE_CHECKING:
    from pgask_server.database import Database, Row

Embed = Callable[[Sequence[str]], NDArray[np.float32]]

_TYPES: Mapping[str, str] = {
    "integer": "integer",
    "number": "numeric",
    "text": "text",
    "boolean": "boolean",
    "date": "date",
    "timestamp": "timestamp",
}
"""What a parameter's value is to PostgreSQL."""


_LONGEST_PROMPT = 2000
_LONGEST_LABEL = 200
"""Characters."""


Prepared = tuple[object, ...]
"""The arguments of pgask._store_question."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A question whose parts are all checked."""

    canonical_prompt: str
    derived_sqls: str
    """jsonb text for nl_query.derived_sqls."""
    params: str
    """jsonb text for nl_query.params."""
    fingerprint: str | None
    phrasings: str
    """jsonb text for nl_query.phrasings."""
    masked: tuple[str, ...]
    """The texts behind query_vector."""


def check(
    db: Database,
    canonical_prompt: str,
    sqls: str,
    params: str,
    display: str | None,
    search_path: str | None = None,
    phrasings: Sequence[object] = (),
    label: str | None = None,
) -> Draft:
    """Check a question's parts, its statements by PostgreSQL itself.

    search_path: where the statements' names are looked up; None: in pg_catalog alone.
    Raises QuestionInvalid, StatementRefused, StatementInvalid.
    """
    _check_length("the canonical prompt", canonical_prompt, _LONGEST_PROMPT)
    _check_length("the label", label or "", _LONGEST_LABEL)
    prompt = " ".join(canonical_prompt.split())
    if is_blank(prompt):
        raise QuestionInvalid("the canonical prompt is blank")
    texts = _phrasings(phrasings)
    statements = _statements(sqls, display)
    described = _decoded("params", params)
    parameters = parse_parameters(
        # It would take a text for JSON once more.
        None if isinstance(described, str) else described,
        prompt,
        [statement["sql"] for statement in statements],
        pattern_matcher(db),
    )
    for parameter in parameters:
        if parameter.column is not None:
            check_column(db, parameter.name, parameter.column)
    for phrasing in texts:
        if unknown := set(places(phrasing)) - {parameter.name for parameter in parameters}:
            raise QuestionInvalid(
                f"a phrasing names the undeclared parameter {{{min(unknown)}}}", detail=phrasing
            )
    types = {parameter.name: _TYPES[parameter.type] for parameter in parameters}
    fingerprints: list[str] = []
    derived: list[dict[str, object]] = []
    for statement in statements:
        analysed = analyse(db, statement["sql"], types, search_path)
        traits = statement_traits([analysed.canonical])
        fingerprints.append(analysed.fingerprint)
        derived.append(
            {
                **statement,
                "canonical": analysed.canonical,
                "arguments": list(analysed.arguments),
                "types": list(analysed.types),
                "columns": [
                    {"name": column.name, "type": column.type_name} for column in analysed.columns
                ],
                "fingerprint": analysed.fingerprint,
                "traits": None if traits is None else sorted(traits),
            }
        )
    return Draft(
        canonical_prompt=prompt,
        derived_sqls=json.dumps(derived),
        params=params,
        fingerprint=" ".join(fingerprints) or None,
        phrasings=json.dumps(texts),
        masked=_masked(prompt, texts, parameters),
    )


def _check_length(what: str, text: str, most: int) -> None:
    if len(text) > most:
        raise QuestionInvalid(
            f"{what} is too long",
            detail=f"It has {len(text):,} characters; the limit is {most:,}.",
        )


def _phrasings(given: Sequence[object]) -> list[str]:
    texts: list[str] = []
    for phrasing in given:
        if not isinstance(phrasing, str):
            raise QuestionInvalid("a phrasing is not a text", hint="Write a plain list of texts.")
        if is_blank(phrasing):
            raise QuestionInvalid("a phrasing is blank")
        _check_length("a phrasing", phrasing, _LONGEST_PROMPT)
        texts.append(phrasing)
    return texts


def _decoded(what: str, text: str) -> object:
    try:
        return json.loads(text)
    except ValueError as error:
        raise QuestionInvalid(f"{what} is not JSON", detail=str(error)) from error
    except RecursionError:
        raise QuestionInvalid(f"{what} is nested too deeply") from None


def prepare(
    embed: Embed,
    model: str,
    draft: Draft,
    label: str | None,
    scope_key: str,
    notes: str | None,
    is_shared: bool,
) -> Prepared:
    """All that is stored of a draft. Raises QuestionInvalid, and what the model raises."""
    if not scope_key.strip():
        raise QuestionInvalid("the scope key is blank", hint="Use 'global' for everywhere.")
    return (
        label,
        draft.canonical_prompt,
        draft.phrasings,
        _vector(embed, draft.masked),
        model,
        draft.derived_sqls,
        draft.params,
        draft.fingerprint,
        scope_key.strip(),
        is_shared,
        notes,
    )


def store(db: Database, prepared: Prepared) -> str:
    """Store a draft in the name of the caller; its id. The current user must be the owner."""
    stored = db.execute(
        "select pgask._store_question($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) as id",
        (
            "text",
            "text",
            "jsonb",
            "text",
            "text",
            "jsonb",
            "jsonb",
            "text",
            "text",
            "boolean",
            "text",
        ),
        prepared,
    )
    return str(stored[0]["id"])


def refresh_builtin(db: Database, embed: Embed, model: str) -> None:
    """Store the built-in questions, changed ones anew; the current user must be the owner.

    A vector that still fits is kept: the installer holds locks that no wait for a model may
    prolong. Once the model fails it is not asked again; what lacks a vector then gets it from the
    next pass of work().
    """
    fails = False

    def vector(draft: Draft) -> str | None:
        nonlocal fails
        if fails:
            return None
        try:
            return _vector(embed, draft.masked)
        except (ConfigurationError, ModelUnavailable, ModelRefused, ModelMalformed):
            fails = True
            return None

    major = db.execute(
        "select (pg_catalog.current_setting('server_version_num')::integer / 10000)::text as major"
    )
    # The canonical text is the server's own spelling, which a new major version may change.
    made_for = f"PostgreSQL {major[0]['major']}"
    present = {
        str(row["label"]): row
        for row in db.execute(
            "select q.label, q.canonical_prompt, q.phrasings, q.params, q.notes,"
            " q.embedding_model, q.derived_sqls, q.schema_fingerprint,"
            " q.query_vector::pg_catalog.text as vector"
            " from pgask.nl_query q where q.status = 'system'"
        )
    }
    for question in db.execute("select * from pgask._builtin_questions()"):
        old = present.pop(str(question["label"]), None)
        if (
            old is not None
            and old["embedding_model"] == model
            and old["schema_fingerprint"] == made_for
            and _is_unchanged(question, old)
        ):
            continue
        draft = check(
            db,
            str(question["canonical_prompt"]),
            str(question["sqls"]),
            str(question["params"]),
            None,
            phrasings=json.loads(str(question["phrasings"])),
        )
        kept = None
        if old is not None and old["embedding_model"] == model and _is_same_text(question, old):
            kept = old["vector"]
        stored = kept or vector(draft)
        db.execute(
            "select pgask._store_builtin_question($1, $2, $3, $4, $5, $6, $7, $8, $9)",
            ("text", "text", "jsonb", "text", "text", "jsonb", "jsonb", "text", "text"),
            (
                question["label"],
                draft.canonical_prompt,
                draft.phrasings,
                stored,
                None if stored is None else model,
                draft.derived_sqls,
                draft.params,
                made_for,
                question["notes"],
            ),
        )
    for label in present:
        db.execute(
            "delete from pgask.nl_query q where q.status = 'system' and q.label = $1",
            ("text",),
            (label,),
        )


def _is_unchanged(question: Row, stored: Row) -> bool:
    """Whether a built-in question stands in the table as it is written."""
    written = [
        {"sql": s["sql"], "display": s["display"], "title": s.get("title")}
        for s in _statements(str(question["sqls"]), None)
    ]
    kept = [
        {"sql": s["sql"], "display": s["display"], "title": s.get("title")}
        for s in json.loads(str(stored["derived_sqls"]))
    ]
    return (
        written == kept and question["notes"] == stored["notes"] and _is_same_text(question, stored)
    )


def _is_same_text(question: Row, stored: Row) -> bool:
    """Whether the texts behind a built-in question's vector are as they are written."""
    return question["canonical_prompt"] == stored["canonical_prompt"] and all(
        json.loads(str(question[name])) == json.loads(str(stored[name]))
        for name in ("phrasings", "params")
    )


def refresh_vectors(db: Database, embed: Embed, model: str) -> int:
    """Give the questions whose vector is missing or of another model a new one; how many."""
    superseded = db.execute("select * from pgask._superseded_questions($1)", ("text",), (model,))
    if not superseded:
        return 0
    db.commit()
    vectors = [
        _vector(
            embed,
            _masked(
                str(row["canonical_prompt"]),
                json.loads(str(row["phrasings"])),
                parse_parameters(str(row["params"])),
            ),
        )
        for row in superseded
    ]
    for row, vector in zip(superseded, vectors, strict=True):
        db.execute(
            "select pgask._store_question_vector($1, $2, $3)",
            ("uuid", "text", "text"),
            (row["id"], vector, model),
        )
    db.commit()
    return len(superseded)


def _masked(
    prompt: str, phrasings: Sequence[str], parameters: Sequence[Parameter]
) -> tuple[str, ...]:
    return tuple(masked_prompt(text, parameters) for text in (prompt, *phrasings))


def _vector(embed: Embed, masked: Sequence[str]) -> str:
    """The mean of the texts' vectors: over several phrasings it finds more than the best does."""
    mean = embed(masked).mean(axis=0)
    return vector_literal(mean / np.linalg.norm(mean))


def _statements(sqls: str, display: str | None) -> list[dict[str, str]]:
    """The statements with display and title; plain strings are statements too."""
    given = _decoded("sqls", sqls)
    if not isinstance(given, list):
        raise QuestionInvalid("sqls is not a list", hint='Write [{"sql": "select ..."}].')
    statements: list[dict[str, str]] = []
    for entry in cast("list[object]", given):
        fields = {"sql": entry} if isinstance(entry, str) else entry
        if not isinstance(fields, dict):
            raise QuestionInvalid("an entry of sqls is neither an object nor a string")
        statement = cast("dict[str, object]", fields)
        unknown = set(statement) - {"sql", "display", "title"}
        if unknown:
            raise QuestionInvalid(
                f'an entry of sqls has the unknown key "{min(unknown)}"',
                hint="The keys are sql, display and title.",
            )
        sql = statement.get("sql")
        if not isinstance(sql, str) or not sql.strip():
            raise QuestionInvalid("an entry of sqls has no statement", hint='Write {"sql": "..."}.')
        shown = statement.get("display") or display or "table"
        if shown not in DISPLAYS:
            raise QuestionInvalid(
                f'"{shown}" is not a way to display a result',
                hint="The displays are " + ", ".join(DISPLAYS) + ".",
            )
        title = statement.get("title")
        if title is not None and not isinstance(title, str):
            raise QuestionInvalid("the title of a statement is not a text")
        statements.append(
            {"sql": sql, "display": str(shown), **({"title": title} if title else {})}
        )
    return statements
