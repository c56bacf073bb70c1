"""A typed question -> an answer: match, bind, run, narrate; else the nearest that there is."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from pgask_server.answer import narrative
from pgask_server.answer.value import (
    DISPLAYS,
    Answer,
    Choice,
    Column,
    Display,
    Evidence,
    MissingParameter,
    ResultTable,
)
from pgask_server.chunk import is_blank
from pgask_server.database import Database, DatabaseError
from pgask_server.errors import (
    ConfigurationError,
    ModelMalformed,
    ModelRefused,
    ModelUnavailable,
    ParameterInvalid,
    PgaskError,
)
from pgask_server.question.bind import Binding, clean_question
from pgask_server.question.parameter import Parameter, json_value
from pgask_server.statement.placeholder import scan
from pgask_server.statement.run import Limits, ValueOutOfRange, run

if TYPE_CHECKING:
    from pgask_server.question.match import Candidate, Match, Matcher, Saved

_NO_VECTOR = (ConfigurationError, ModelUnavailable, ModelRefused, ModelMalformed)
"""What keeps the model from reading a text. The asker can do nothing about it: it is told."""

Embed = Callable[[Sequence[str]], NDArray[np.float32]]


@dataclass(frozen=True, slots=True)
class AskLimits:
    """How an answer is made; all from settings."""

    embedding_model: str
    statement: Limits
    threshold: float
    margin: float
    evidence_similarity: float = 0.40
    """From this similarity a passage answers a question that no saved one matches."""
    passages: int = 3
    choices: int = 5


def answer(
    db: Database,
    matcher: Matcher,
    embed: Embed,
    question: str,
    params: str,
    scope_key: str,
    limits: AskLimits,
) -> Answer:
    """Answer a question in the name of the current user.

    It never raises for what was typed, nor for a model that fails: the narrative says so.

    params: jsonb text {name: value}. Raises ParameterInvalid for params that do not fit, and
    what running the saved statement raises.
    """
    given = _given(params)
    asked = clean_question(question)
    start = Answer(question=asked, scope_key=scope_key, given=_scalars(given))
    if is_blank(asked):
        return _blank(start)
    try:
        match = matcher.match(
            db,
            embed,
            question,
            scope_key,
            model=limits.embedding_model,
            given=given,
            threshold=limits.threshold,
            margin=limits.margin,
        )
    except _NO_VECTOR as error:
        reason = _reason(error)
        return replace(
            start, narrative=f"The question cannot be understood at the moment: {reason}."
        )
    start = replace(start, warnings=match.warnings)
    if match.accepted is None:
        return _unmatched(db, start, match, limits)
    saved = match.accepted.saved
    binding = match.accepted.binding
    matched = _bound(
        replace(
            start,
            source="saved",
            outcome="answered",
            question_id=saved.id,
            canonical_prompt=saved.canonical_prompt,
            label=saved.label,
            status=saved.status,
            similarity=match.accepted.similarity,
        ),
        saved.parameters,
        binding,
    )
    if binding.missing:
        return _told(replace(matched, outcome="missing_parameter"))
    if not saved.statements:
        return _told(_in_words(db, matched, limits))
    return _told(_run(db, matched, saved, binding, limits))


def _given(params: str) -> dict[str, object]:
    try:
        given: object = json.loads(params)
    except (ValueError, RecursionError) as error:
        raise ParameterInvalid("the parameters are not JSON", detail=str(error)) from error
    if not isinstance(given, dict):
        raise ParameterInvalid(
            "the parameters are not a jsonb object", hint="""Write '{"year": 2025}'."""
        )
    return cast("dict[str, object]", given)


def _scalars(given: Mapping[str, object]) -> dict[str, int | float | str | bool | None]:
    return {
        name: value if isinstance(value, (int, float, str, bool)) or value is None else str(value)
        for name, value in given.items()
    }


def _bound(start: Answer, parameters: Sequence[Parameter], binding: Binding) -> Answer:
    values = {
        parameter.name: None if value is None else json_value(parameter, value)
        for parameter in parameters
        for value in [binding.values.get(parameter.name)]
    }
    missing = tuple(
        MissingParameter(
            name=parameter.name,
            type=parameter.type,
            example=None if parameter.example is None else json_value(parameter, parameter.example),
            values=parameter.values or binding.alternatives.get(parameter.name, ()),
        )
        for parameter in parameters
        if parameter.name in binding.missing
    )
    return replace(
        start,
        params=values,
        bound=dict(binding.display),
        missing_parameters=missing,
        warnings=(*start.warnings, *binding.notes),
    )


def _run(db: Database, start: Answer, saved: Saved, binding: Binding, limits: AskLimits) -> Answer:
    """Run every statement of a saved question, in order."""
    tables: list[ResultTable] = []
    for statement in saved.statements:
        arguments = cast("list[str]", statement["arguments"])
        try:
            result = run(
                db,
                str(statement["canonical"]),
                cast("list[str]", statement["types"]),
                [binding.values[name] for name in arguments],
                limits.statement,
            )
        except ValueOutOfRange as error:
            name = arguments[error.position - 1]
            if name in start.given:
                raise
            return _too_large(start, saved.parameters, name)
        title = statement.get("title")
        display = cast("Display", statement["display"])
        tables.append(
            ResultTable(
                title=None if title is None else str(title),
                display=display if display in DISPLAYS else "table",
                columns=tuple(Column(c.name, c.type_name) for c in result.columns),
                rows=result.rows,
                truncated=result.truncated,
            )
        )
    return replace(
        start,
        tables=tuple(tables),
        sql=tuple(
            as_shown(str(statement["canonical"]), cast("list[str]", statement["arguments"]))
            for statement in saved.statements
        ),
        trusted=saved.status in ("approved", "system"),
    )


def _too_large(start: Answer, parameters: Sequence[Parameter], name: str) -> Answer:
    """A number in the question that a statement cannot take counts as not said."""
    return replace(
        start,
        outcome="missing_parameter",
        params={**start.params, name: None},
        bound={key: value for key, value in start.bound.items() if key != name},
        missing_parameters=tuple(
            MissingParameter(
                name=parameter.name,
                type=parameter.type,
                example=None
                if parameter.example is None
                else json_value(parameter, parameter.example),
                values=parameter.values,
            )
            for parameter in parameters
            if parameter.name == name
        ),
        warnings=(*start.warnings, f"{name}: {start.bound[name]} is not taken. It is too large."),
    )


def as_shown(canonical: str, arguments: Sequence[str]) -> str:
    """The statement that is run, with :name for $1 ..., the parameters in the order of arguments.

    Not the author's own text: that need not be what is run.
    """
    pieces: list[str] = []
    for token in scan(canonical):
        number = int(token.text[1:]) if token.kind == "dollar" else 0
        if not 1 <= number <= len(arguments):
            pieces.append(token.text)
            continue
        # The blank keeps a slice [1:$1] from looking like a cast.
        blank = " " if pieces and pieces[-1].endswith(":") else ""
        pieces.append(f"{blank}:{arguments[number - 1]}")
    return "".join(pieces)


def _in_words(db: Database, start: Answer, limits: AskLimits) -> Answer:
    """A saved question without statements: the content answers, with the values filled in."""
    filled = start.canonical_prompt or start.question
    for name, value in start.bound.items():
        filled = filled.replace("{" + name + "}", value)
    try:
        return replace(start, evidence=_evidence(db, filled, limits))
    except _NO_VECTOR as error:
        return replace(
            start,
            outcome="no_match",
            narrative=f"The content cannot be searched at the moment: {_reason(error)}.",
        )


def _unmatched(db: Database, start: Answer, match: Match, limits: AskLimits) -> Answer:
    """No saved question is sure enough: what may be meant, and what the content says."""
    if match.choices:
        return _told(replace(start, outcome="several_match", choices=_choices(match.choices)))
    nearest = _choices(match.nearest)[: limits.choices]
    try:
        evidence = _evidence(db, start.question, limits)
    except ModelRefused:
        evidence = ()
    except _NO_VECTOR as error:
        return replace(
            start,
            choices=nearest,
            narrative="No saved question is close enough to this one, and the content cannot be"
            f" searched at the moment: {_reason(error)}.",
        )
    if not evidence and not any(letter.isalnum() for letter in start.question):
        return _blank(start)
    if not evidence or evidence[0].similarity < limits.evidence_similarity:
        return _told(replace(start, choices=nearest, evidence=evidence))
    # Beside a passage that answers, only questions that may be meant are worth a line.
    close = tuple(c for c in nearest if c.similarity >= limits.evidence_similarity)
    return _told(
        replace(start, source="evidence", outcome="answered", choices=close, evidence=evidence)
    )


def _evidence(db: Database, query: str, limits: AskLimits) -> tuple[Evidence, ...]:
    """The best passages of the content that the current user may see. Raises _NO_VECTOR."""
    rows = db.execute(
        "select s.source_schema, s.source_table, s.source_id, s.chunk_text, s.similarity"
        " from pgask.search($1, $2) s",
        ("text", "integer"),
        (query, limits.passages),
    )
    return tuple(
        Evidence(
            source=f"{row['source_schema']}.{row['source_table']}",
            source_id=str(row["source_id"]),
            chunk_text=str(row["chunk_text"]),
            similarity=float(cast("float", row["similarity"])),
        )
        for row in rows
    )


def _choices(candidates: Sequence[Candidate]) -> tuple[Choice, ...]:
    """Best first by the similarity that is shown."""
    ordered = sorted(candidates, key=lambda candidate: candidate.similarity, reverse=True)
    return tuple(_choice(candidate) for candidate in ordered)


def _choice(candidate: Candidate) -> Choice:
    return Choice(
        question_id=candidate.saved.id,
        canonical_prompt=candidate.saved.canonical_prompt,
        similarity=candidate.similarity,
        label=candidate.saved.label,
        example=_example(candidate),
    )


def _example(candidate: Candidate) -> str:
    """The candidate's prompt with values in its places, ready to be typed."""
    text = candidate.saved.canonical_prompt
    for parameter in candidate.saved.parameters:
        value = candidate.binding.display.get(parameter.name) or parameter.example
        if value is not None:
            text = text.replace("{" + parameter.name + "}", value)
    return text


def _blank(start: Answer) -> Answer:
    return replace(
        start, narrative="Type a question, for example: which tables take the most space?"
    )


def _reason(error: PgaskError) -> str:
    return error.message.rstrip(".")


def _told(answer: Answer) -> Answer:
    """The answer with its narrative."""
    if answer.narrative:
        return answer
    return replace(answer, narrative=narrative.compose(answer))


def record_use(db: Database, question_id: str) -> None:
    """Count a use, where the server is writable and nobody else is counting just now."""
    try:
        db.execute("select pgask._record_use($1)", ("uuid",), (question_id,))
    except (DatabaseError, PgaskError) as error:
        if getattr(error, "sqlstate", "") not in ("25006", "55P03"):
            raise
