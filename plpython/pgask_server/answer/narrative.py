"""The sentence or two that say what a result shows; no model, and nothing that is not in the rows.

Several rows are compared in `comparison`, one row is spelt out here.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pgask_server.answer import comparison, text
from pgask_server.answer import field as fields_of
from pgask_server.answer import shape as shapes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pgask_server.answer.field import Field
    from pgask_server.answer.shape import Shape
    from pgask_server.answer.value import Answer, ResultTable
    from pgask_server.answer.wire import Scalar

_SEVERAL = 3
"""Results that get a sentence of their own; the others are only counted."""
_LISTED = 5
"""Columns of a single row that one sentence can list."""

_LIMITS = frozenset({"n", "k", "limit", "top", "count", "max_rows", "row_limit"})
"""Parameters that only say how many rows are wanted; no result is empty because of them."""

_DENIALS = {"is": "is not", "can": "cannot", "was": "was not"}


def compose(answer: Answer) -> str:
    """What an answer says in words, as plain text: one or two sentences, never empty."""
    if answer.outcome == "missing_parameter":
        names = text.enumerate_words([_name(name) for name in answer.missing])
        values = "a value" if len(answer.missing) == 1 else "values"
        return f"The question needs {values} for {names}."
    if answer.outcome == "several_match":
        if len(answer.choices) == 1:
            return "No saved question fits for certain; one comes near."
        return "More than one saved question may be meant."
    if answer.tables:
        return _compose_results(answer)
    if answer.evidence and answer.outcome == "answered":
        source = text.clean(answer.evidence[0].source)
        if answer.source == "saved":
            return f"The passage that fits best is in {source}."
        return f"No saved question answers this; the closest passage is in {source}."
    if answer.outcome == "answered":
        return "This question has no result to show."
    return "No saved question is close enough to this one."


def _compose_results(answer: Answer) -> str:
    several = len(answer.tables) > 1
    sentences: list[str] = []
    for position, table in enumerate(answer.tables[:_SEVERAL]):
        sql = answer.sql[position] if position < len(answer.sql) else None
        bound = {} if several and sql is None else bound_values(answer)
        if several and sql is not None:
            bound = {
                name: value for name, value in bound.items() if re.search(rf"(?<!:):{name}\b", sql)
            }
        sentence = describe(table, bound=bound, params=answer.params, sql=sql)
        title = text.clean(table.title or f"Result {position + 1}") if several else ""
        sentences.append(f"{title}: {sentence}" if title else sentence)
    more = len(answer.tables) - _SEVERAL
    if more > 0:
        follow = "follows" if more == 1 else "follow"
        sentences.append(f"{text.plural(more, 'result', 'more ')} {follow} below.")
    return " ".join(sentences)


def bound_values(answer: Answer) -> dict[str, str]:
    """The bound values as a person reads them, by parameter name, without those that are NULL."""
    # In the order of the question: jsonb does not keep that of its keys.
    prompt = answer.canonical_prompt or ""
    places = {name: prompt.find(f"{{{name}}}") for name in answer.params}
    return {
        name: text.cut(text.clean(answer.bound.get(name, _plain(answer.params[name]))), 60)
        for name in sorted(places, key=lambda name: (places[name] < 0, places[name], name))
        if answer.params[name] is not None
    }


def _plain(value: Scalar) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def describe(
    table: ResultTable,
    *,
    bound: Mapping[str, str] | None = None,
    params: Mapping[str, Scalar] | None = None,
    sql: str | None = None,
) -> str:
    """One result in words: one sentence, or two where it was cut.

    bound: the values as shown, by parameter name; params: the same as values; sql: the statement
    that the result came from, without which nothing is said about shares of a total.
    """
    bound = bound or {}
    if not table.rows:
        given = [f"{_name(n)} = {value}" for n, value in bound.items() if n not in _LIMITS]
        return f"There are no rows{' for ' if given else ''}{text.enumerate_words(given)}."
    shape = shapes.read(table, sql)
    if not shape.fields:
        return f"{text.plural(shape.row_count, 'row')} without a column."
    if shape.row_count == 1:
        return _one_row(shape, table.title, _circumstances(bound, params or {}))
    sentence = comparison.describe(shape)
    if table.truncated:
        sentence += f" Only the first {shape.row_count:,} rows were read."
    return sentence


def _name(name: str) -> str:
    return text.clean(name.replace("_", " "))


def _circumstances(bound: Mapping[str, str], params: Mapping[str, Scalar]) -> str:
    """' for Furniture in 2025': the bound values that a sentence can name."""
    named = [
        bound[name]
        for name, value in params.items()
        if isinstance(value, str) and name in bound and not value[:4].isdigit()
    ]
    years = [
        bound[name]
        for name, value in params.items()
        if name in bound
        and fields_of.words_of(name)[-1:] == ("year",)
        and value is not None
        and len(str(value)) == 4
    ]
    said = f" for {text.enumerate_words(named)}" if named else ""
    return f"{said} in {years[0]}" if len(years) == 1 else said


# One row ------------------------------------------------------------------------------------


def _one_row(shape: Shape, title: str | None, circumstances: str) -> str:
    if len(shape.fields) == 1:
        return _one_value(shape.fields[0], title, circumstances)
    labels = shape.labels if shape.labels and shape.labels[0].kind == "text" else ()
    if not labels and shape.time and shape.time[0] is shape.fields[0]:
        labels = shape.time
    others = [f for f in shape.spoken if f not in labels and f.values[0] is not None]
    said = ", ".join(_said_with_its_name(f) for f in others[:_LISTED]) or "no values"
    if not labels:
        return f"{text.capital(said)}."
    label = shape.when(0, preposition=False) if labels is shape.time else shape.label(0)
    return f"{label}: {said}."


def _said_with_its_name(column: Field) -> str:
    value = column.values[0]
    words = column.words or _name(column.name)
    if isinstance(value, bool):
        verb, _, rest = words.partition(" ")
        if verb in _DENIALS and rest:
            return words if value else f"{_DENIALS[verb]} {rest}"
        return f"{words}: {column.say(value)}"
    return f"{words} {column.say(value)}"


def _one_value(column: Field, title: str | None, circumstances: str) -> str:
    value = column.values[0]
    said = column.say(value)
    subject = column.words
    if not subject and title and "{" not in title:
        subject, circumstances = text.clean(title), ""
    if isinstance(value, bool) and not subject:
        return f"{said.capitalize()}."
    if not subject:
        return f"The {'count' if column.name == 'count' else 'result'}{circumstances} is {said}."
    return f"{text.capital(subject)}{circumstances}: {said}{'' if said.endswith('.') else '.'}"
