"""The answer as a person reads it in any SQL client: what `ask` returns."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import TYPE_CHECKING

from pgask_server.answer import chart, narrative, shape, table, text
from pgask_server.answer import field as fields_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pgask_server.answer.value import Answer, Choice, Evidence, MissingParameter, ResultTable
    from pgask_server.answer.wire import Scalar

_PASSAGE = 600
"""Characters of the best passage that are quoted; the others are cut to a line."""
_PASSAGE_LINE = 160
_MOST_PASSAGES = 3
_MOST_CHOICES = 5
_MOST_VALUES = 20
_MOST_QUESTION = 500

_PLACE = re.compile(r"\{\w+\}")
_LEVELS = {"approved": "approved", "system": "built-in", "draft": "draft, not reviewed"}


def render(answer: Answer) -> str:
    """The narrative, the results, what to do next, one line of provenance, the warnings.

    An answer without a narrative gets the one that `narrative.compose` makes.
    """
    return "\n\n".join(part for part in _parts(answer) if part)


def _parts(answer: Answer) -> Iterator[str]:
    said = answer.narrative or narrative.compose(answer)
    yield "\n\n".join(text.escape_line(text.clean(line)) for line in _paragraphs(said))
    yield from _results(answer, said)
    if answer.outcome == "missing_parameter":
        yield _how_to_give(answer)
    elif answer.outcome == "several_match":
        yield _pick(answer)
    elif answer.outcome == "no_match":
        yield from _nearest(answer)
    elif answer.evidence and not answer.tables:
        yield from _quoted(answer.evidence)
    if answer.outcome in {"answered", "missing_parameter"}:
        yield _provenance(answer)
    for warning in answer.warnings:
        yield f"Warning: {text.escape(text.clean(warning))}"


def _paragraphs(said: str) -> list[str]:
    return [line.strip() for line in said.splitlines() if line.strip()]


# Results ------------------------------------------------------------------------------------


def _results(answer: Answer, said: str) -> Iterator[str]:
    several = len(answer.tables) > 1
    for position, result in enumerate(answer.tables):
        title = text.cut(" ".join(text.clean(result.title or "").split()), 100)
        # The line of provenance names a question's only result again.
        if several or (title and title != answer.label):
            yield f"**{text.escape(title) or f'Result {position + 1}'}**"
        elif not result.rows and result.columns:
            continue
        yield from _result(result, said)


def _result(result: ResultTable, said: str) -> Iterator[str]:
    read = shape.read(result)
    if result.display == "number" and (line := chart.number_line(read)) is not None:
        # A lone figure that the narrative has said already is not said twice.
        figure, *others = read.fields
        if others or figure.say(figure.values[0]) not in said:
            yield line
        return
    yield table.render(result, read)
    drawn = chart.render(result, read)
    if drawn is not None:
        yield drawn


# What to do next ----------------------------------------------------------------------------


def _how_to_give(answer: Answer) -> str:
    examples = {parameter.name: _example(parameter) for parameter in answer.missing_parameters}
    call = ask_call(answer.question, answer.scope_key, {**answer.given, **examples})
    allowed = "\n".join(
        f"- {text.escape(text.clean(parameter.name))}: one of {_listed(parameter.values)}"
        for parameter in answer.missing_parameters
        if parameter.values
    )
    it = "them" if len(answer.missing_parameters) > 1 else "it"
    lead = f"Say {it} in the question, or pass {it}:"
    return "\n\n".join(part for part in (allowed, lead, text.code_block(call, "sql")) if part)


def _listed(values: Sequence[str]) -> str:
    shown = [text.escape(text.cut(text.clean(value), 40)) for value in values[:_MOST_VALUES]]
    return ", ".join(shown) + (", …" if len(values) > _MOST_VALUES else "")


def _example(parameter: MissingParameter) -> Scalar:
    if parameter.example is not None:
        return parameter.example
    if parameter.values:
        return parameter.values[0]
    if fields_of.words_of(parameter.name)[-1:] == ("year",):
        return 2025
    by_type: dict[str, Scalar] = {
        "integer": 10,
        "number": 1.5,
        "boolean": True,
        "date": "2025-01-31",
        "timestamp": "2025-01-31 12:00",
    }
    return by_type.get(parameter.type, "…")


def ask_call(question: str, scope_key: str, params: dict[str, Scalar] | None = None) -> str:
    """The statement that asks this question, quoted for SQL."""
    asked = "".join(c for c in " ".join(question.split()) if c.isprintable())
    arguments = [_literal(asked if len(asked) <= _MOST_QUESTION else "your question")]
    if params or scope_key != "global":
        # Decimal has no JSON form of its own; an example needs no more digits than a float's.
        given = json.dumps(
            params or {},
            ensure_ascii=False,
            default=lambda v: float(v) if isinstance(v, Decimal) else str(v),
        )
        arguments.append(_literal(given))
    if scope_key != "global":
        arguments.append(_literal(scope_key))
    return f"select ask({', '.join(arguments)});"


def _literal(value: str) -> str:
    quoted = value.replace("'", "''")
    return f"'{quoted}'"


def _pick(answer: Answer) -> str:
    listed = [
        f"{number}. {_prompt(choice)} ({choice.similarity:.2f} similar)"
        for number, choice in enumerate(answer.choices[:_MOST_CHOICES], start=1)
    ]
    calls = "\n".join(
        f"{ask_call(_typed(choice), answer.scope_key)}  -- {number}"
        for number, choice in enumerate(answer.choices[:_MOST_CHOICES], start=1)
    )
    if not listed:
        return ""
    return "Pick one:\n\n" + "\n".join(listed) + "\n\n" + text.code_block(calls, "sql")


def _nearest(answer: Answer) -> Iterator[str]:
    if answer.choices:
        yield "The nearest saved questions:\n\n" + "\n".join(
            f"- {_prompt(choice)} ({choice.similarity:.2f} similar)"
            for choice in answer.choices[:_MOST_CHOICES]
        )
    if answer.evidence:
        yield "Passages that may help:\n\n" + "\n".join(
            f"- {_one_line(passage)} {_citation(passage)}"
            for passage in answer.evidence[:_MOST_PASSAGES]
        )


def _typed(choice: Choice) -> str:
    return choice.example or _PLACE.sub(text.ELLIPSIS, choice.canonical_prompt)


def _prompt(choice: Choice) -> str:
    return text.escape(text.clean(choice.example or choice.canonical_prompt))


# Passages -----------------------------------------------------------------------------------


def _quoted(passages: Sequence[Evidence]) -> Iterator[str]:
    best, *others = passages[:_MOST_PASSAGES]
    shown = best.chunk_text.strip()
    if len(shown) > _PASSAGE:
        shown = shown[:_PASSAGE].rsplit(None, 1)[0] + " " + text.ELLIPSIS
    lines = [text.escape_line(text.clean(line.rstrip())) for line in shown.splitlines()]
    yield "\n".join(f"> {line}".rstrip() for line in [*lines, "", _citation(best)])
    if others:
        yield "See also:\n\n" + "\n".join(f"- {_one_line(p)} {_citation(p)}" for p in others)


def _one_line(passage: Evidence) -> str:
    lines = (" ".join(line.split()) for line in passage.chunk_text.splitlines())
    return text.escape(text.cut(text.clean(" · ".join(filter(None, lines))), _PASSAGE_LINE))


def _citation(passage: Evidence) -> str:
    where = text.clean(f"{passage.source} {passage.source_id}")
    return f"*({_emphasised(where)}, {passage.similarity:.2f} similar)*"


# Where the answer comes from ----------------------------------------------------------------


def _provenance(answer: Answer) -> str:
    if answer.source == "generated":
        return "*From a statement that was generated for this question; nobody has reviewed it.*"
    if answer.source != "saved" and answer.outcome == "answered":
        return ""
    name = text.cut(text.clean(answer.label or answer.canonical_prompt or "Saved question"), 120)
    level = _LEVELS.get(answer.status or "", text.clean(answer.status or ""))
    if level in {"approved", "built-in"} and answer.tables and not answer.trusted:
        level += ", but not run as it was approved"
    similar = "" if answer.similarity is None else f", {answer.similarity:.2f} similar"
    values = ", ".join(f"{k} = {v}" for k, v in narrative.bound_values(answer).items())
    line = f"{name}{f' ({level})' if level else ''}{similar}{f': {values}' if values else ''}"
    return f"*{_emphasised(line)}*"


def _emphasised(line: str) -> str:
    """Inside *...* a single asterisk is one too many."""
    escaped = text.escape(line)
    return escaped if line.count("*") != 1 else escaped.replace("*", "\\*")
