"""A question + the parameters of a saved one -> the value of each parameter."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from pgask_server.errors import ParameterInvalid
from pgask_server.question.dates import find_periods
from pgask_server.question.link import ValueLinker, Viewer, viewer_of
from pgask_server.question.numbers import find_numbers
from pgask_server.question.parameter import Parameter, check_value
from pgask_server.question.pattern import Matches, pattern_matcher
from pgask_server.question.place import Place, Prompt, read_prompt
from pgask_server.question.proposal import Proposal, Reading, proposals
from pgask_server.question.value_index import Link, ValueIndex
from pgask_server.question.words import split_words

if TYPE_CHECKING:
    from pgask_server.database import Database

LONGEST_QUESTION = 4000
"""Characters of a question that are read; the rest is cut off."""

_MOST_PROPOSALS = 5
_SEARCH_LIMIT = 3000

Links = Callable[[Parameter, frozenset[str]], Sequence[Link]]
"""Gives the links of a parameter's values or column for the question at hand."""


@dataclass(frozen=True, slots=True)
class Binding:
    """The values of a saved question's parameters.

    values: every parameter by name; None where it has no value. Texts are canonical.
    display: the values as shown to a person; parameters without one are left out.
    missing: required parameters that have no value.
    alternatives: for a parameter, other values that the question may mean, or, where it is
        missing, the values most like the question's words.
    spans: where in the (clipped) question each value was found: characters [start, end).
    defaulted: parameters that took their default.
    notes: sentences for the asker, for example about a number above the maximum.
    """

    values: Mapping[str, str | None]
    display: Mapping[str, str]
    missing: tuple[str, ...]
    alternatives: Mapping[str, tuple[str, ...]]
    spans: Mapping[str, tuple[int, int]]
    defaulted: tuple[str, ...]
    notes: tuple[str, ...]


def clean_question(question: str) -> str:
    """`question` as it is read: at most LONGEST_QUESTION characters, no NUL, valid Unicode."""
    text = question[:LONGEST_QUESTION].replace("\0", " ").strip()
    return text.encode("utf-8", "replace").decode("utf-8")


def read_question(question: str, today: datetime.date, matches: Matches | None = None) -> Reading:
    """Find the words, numbers and periods of a cleaned question.

    matches: finds the words that have the form of a parameter's pattern (see `pattern_matcher`).
    """
    words = split_words(question)
    return Reading(
        question,
        words,
        find_numbers(question, words),
        find_periods(question, today),
        today,
        matches,
    )


def check_given(
    parameters: Sequence[Parameter],
    given: Mapping[str, object],
    matches: Matches | None = None,
) -> dict[str, str | None]:
    """The canonical values of `given`; null gives none. matches: see `check_value`. Raises
    ParameterInvalid (unknown names too)."""
    by_name = {parameter.name: parameter for parameter in parameters}
    checked: dict[str, str | None] = {}
    for name, value in given.items():
        parameter = by_name.get(name)
        if parameter is None:
            known = ", ".join(by_name) or "it has none"
            shown = name.replace("\0", "\\0")[:60]
            raise ParameterInvalid(
                f'the question has no parameter "{shown}"', hint=f"Its parameters: {known}."
            )
        checked[name] = None if value is None else check_value(parameter, value, matches)
    return checked


def bind(
    db: Database,
    parameters: Sequence[Parameter],
    question: str,
    given: Mapping[str, object] | None = None,
    *,
    canonical_prompt: str = "",
    linker: ValueLinker | None = None,
    today: datetime.date | None = None,
    viewer: Viewer | None = None,
) -> Binding:
    """Give each parameter its value: from `given`, else from the words of `question`, else its
    default.

    canonical_prompt: the saved question, whose words around a {name} place tell several
    parameters of one type apart. linker: keeps column values between calls (default: a new one).
    today: what "last month" counts from (default: the server's date). Raises ParameterInvalid for
    a value in `given` that does not fit.
    """
    matches = pattern_matcher(db)
    checked = check_given(parameters, given or {}, matches)
    linker = linker or ValueLinker()
    reading = read_question(clean_question(question), today or current_date(db), matches)
    prompt = read_prompt(parameters, canonical_prompt)
    viewing = viewer

    def links(parameter: Parameter, known: frozenset[str]) -> Sequence[Link]:
        nonlocal viewing
        if parameter.values:
            return ValueIndex(parameter.values).links(reading.words, known)
        if parameter.column is None:
            return ()
        viewing = viewing or viewer_of(db)
        return linker.links(db, parameter.column, reading.words, known, viewing)

    binding = bind_reading(prompt, reading, checked, links)
    return with_nearest(db, parameters, reading, binding, linker, viewing)


def current_date(db: Database) -> datetime.date:
    """Today, in the time zone of the session."""
    # In figures, whatever DateStyle the session has.
    row = db.execute("select pg_catalog.to_char(current_date, 'YYYY-MM-DD') as today")[0]
    return datetime.date.fromisoformat(str(row["today"]))


def bind_reading(
    prompt: Prompt, reading: Reading, given: Mapping[str, str | None], links: Links
) -> Binding:
    """`bind` for a question and a prompt that have been read already; `given` is checked."""
    open_places = [place for place in prompt.places if place.parameter.name not in given]
    offers: list[tuple[Place, list[Proposal]]] = []
    notes: list[str] = []
    for place in open_places:
        linked: Sequence[Link] = ()
        if place.parameter.values or place.parameter.column is not None:
            linked = links(place.parameter, prompt.known)
        offered = proposals(place, reading, linked)
        offered.sort(key=lambda proposal: (-proposal.score, proposal.start))
        offers.append((place, offered[:_MOST_PROPOSALS]))
    chosen = _assign(offers)
    values: dict[str, str | None] = {}
    spans: dict[str, tuple[int, int]] = {}
    alternatives: dict[str, tuple[str, ...]] = {}
    defaulted: list[str] = []
    missing: list[str] = []
    for place in prompt.places:
        parameter = place.parameter
        name = parameter.name
        if name in given:
            values[name] = given[name]
        else:
            proposal = chosen.get(name)
            if proposal is not None:
                spans[name] = (proposal.start, proposal.end)
                said = reading.text[proposal.start : proposal.end]
            else:
                said = ""
            if proposal is None:
                values[name] = None
            elif proposal.problem is not None:
                values[name] = None
                notes.append(f"{name}: {said} is not taken. {proposal.problem}")
            elif proposal.alternatives:
                # Two values fit as well: choosing one would be a guess.
                values[name] = None
                alternatives[name] = (proposal.value, *proposal.alternatives)
                notes.append(f"{name}: {said} can be {_either(alternatives[name])}.")
            else:
                values[name] = proposal.value
            if values[name] is None and parameter.default is not None:
                values[name] = parameter.default
                defaulted.append(name)
        if values[name] is None and parameter.required:
            missing.append(name)
    return Binding(
        values,
        {
            place.parameter.name: display_value(place.parameter, value)
            for place in prompt.places
            if (value := values[place.parameter.name]) is not None
        },
        tuple(missing),
        alternatives,
        spans,
        tuple(defaulted),
        tuple(notes),
    )


def _assign(offers: Sequence[tuple[Place, list[Proposal]]]) -> dict[str, Proposal]:
    """The choice of proposals with the highest sum of scores in which none are at odds."""
    best_score = -1.0
    best: list[Proposal | None] = []
    steps = 0
    # What the places from here on can add at most: a branch that cannot win is left.
    ahead = [0.0] * (len(offers) + 1)
    for at in range(len(offers) - 1, -1, -1):
        offered = offers[at][1]
        ahead[at] = ahead[at + 1] + (max(offered[0].score, 0.0) if offered else 0.0)

    def visit(at: int, score: float, chosen: list[Proposal | None]) -> None:
        nonlocal best_score, best, steps
        steps += 1
        if score + ahead[at] <= best_score or steps > _SEARCH_LIMIT:
            return
        if at == len(offers):
            best_score, best = score, list(chosen)
            return
        for proposal in offers[at][1]:
            if not any(other is not None and _at_odds(proposal, other) for other in chosen):
                # A value that is refused explains its words, but any other value is better.
                worth = proposal.score if proposal.problem is None else 0.05
                visit(at + 1, score + worth, [*chosen, proposal])
        visit(at + 1, score, [*chosen, None])

    visit(0, 0.0, [])
    return {
        place.parameter.name: proposal
        for (place, _), proposal in zip(offers, best, strict=True)
        if proposal is not None
    }


def _at_odds(one: Proposal, other: Proposal) -> bool:
    """Whether two proposals use the same words for the same thing."""
    if one.end <= other.start or other.end <= one.start:
        return False
    same_span = (one.start, one.end) == (other.start, other.end)
    return not same_span or "all" in (one.facet, other.facet) or one.facet == other.facet


def _either(values: Sequence[str]) -> str:
    *others, last = values
    return f"{', '.join(others)} or {last}" if others else last


def with_nearest(
    db: Database,
    parameters: Sequence[Parameter],
    reading: Reading,
    binding: Binding,
    linker: ValueLinker,
    viewer: Viewer | None,
) -> Binding:
    """`binding`, with the values most like the question's words for what is missing of a column."""
    alternatives = dict(binding.alternatives)
    notes = list(binding.notes)
    for parameter in parameters:
        if parameter.name not in binding.missing or parameter.name in alternatives:
            continue
        if parameter.values:
            alternatives[parameter.name] = parameter.values[:5]
        elif parameter.column is not None and viewer is not None:
            note = linker.note(parameter.column, viewer)
            if note is not None:
                notes.append(f"{parameter.name}: {note}.")
                continue
            # Values stand at the end of most questions, or in capitals.
            last = [word.folded for word in reading.words[-3:]]
            for text in (" ".join(last[-1:]), " ".join(last[-2:])):
                near = linker.nearest(db, parameter.column, text, viewer) if text else ()
                if near:
                    alternatives[parameter.name] = near
                    break
    if alternatives == binding.alternatives and len(notes) == len(binding.notes):
        return binding
    return Binding(
        binding.values,
        binding.display,
        binding.missing,
        alternatives,
        binding.spans,
        binding.defaulted,
        tuple(notes),
    )


def display_value(parameter: Parameter, value: str) -> str:
    """A canonical value as a person reads it: yes and no, numbers with separators (not years)."""
    if parameter.type == "boolean":
        return "yes" if value == "true" else "no"
    if parameter.type in ("integer", "number"):
        amount = Decimal(value)
        year_like = parameter.type == "integer" and 1000 <= amount <= 9999
        return value if year_like else f"{amount:,f}"
    return value
