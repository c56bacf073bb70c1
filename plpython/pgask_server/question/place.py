"""The place of a parameter in the canonical prompt, and how well a spot in a question suits it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pgask_server.question.words import STOP_WORDS, Word, split_words, stem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pgask_server.question.parameter import Parameter

_PLACE = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")

_LOWER_END = frozenset("from start since begin beginning after first low lower min minimum".split())
_UPPER_END = frozenset(
    "to end until till through before by upto high upper max maximum finish".split()
)
_YEAR = frozenset({"year", "yr", "yyyy", "years"})
_RANK = frozenset({"rank", "nth", "position", "place", "ordinal"})
_LIMIT = frozenset({"n", "k", "limit", "top", "count", "number", "num", "rows", "size", "many"})
_UNITS = frozenset("day week month quarter year hour minute second".split())


@dataclass(frozen=True, slots=True)
class Place:
    """Where a parameter stands: the words around it, and what its name says about its role.

    before, after: up to two folded words, nearest first. end: which end of a range it takes.
    """

    parameter: Parameter
    before: tuple[str, ...]
    after: tuple[str, ...]
    names: frozenset[str]
    end: str | None
    takes_year: bool
    takes_rank: bool
    takes_limit: bool
    unit: str | None


@dataclass(frozen=True, slots=True)
class Prompt:
    """A canonical prompt, read once: its places in the order of the parameters, its own words."""

    text: str
    places: tuple[Place, ...]
    known: frozenset[str]
    """Stems of the words that stand outside of the places."""


def read_prompt(parameters: Sequence[Parameter], canonical_prompt: str) -> Prompt:
    """The places of `parameters` in `canonical_prompt`."""
    # A place ends a sentence's flow: no word beyond it is next to another place.
    pieces = _PLACE.split(canonical_prompt)
    around: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {}
    for at in range(1, len(pieces), 2):
        before = [word.folded for word in split_words(pieces[at - 1])][-2:]
        after = [word.folded for word in split_words(pieces[at + 1])][:2]
        around.setdefault(pieces[at], (tuple(reversed(before)), tuple(after)))
    known = frozenset(stem(word.folded) for piece in pieces[::2] for word in split_words(piece))
    return Prompt(
        canonical_prompt,
        tuple(_place(parameter, *around.get(parameter.name, ((), ()))) for parameter in parameters),
        known,
    )


def _place(parameter: Parameter, before: tuple[str, ...], after: tuple[str, ...]) -> Place:
    parts = [part for part in parameter.name.split("_") if part]
    names = frozenset(stem(part) for part in parts)
    end = None
    if names & _LOWER_END:
        end = "first"
    elif names & _UPPER_END:
        end = "last"
    elif before and before[0] in ("from", "since", "between", "after"):
        end = "first"
    elif before and before[0] in ("to", "until", "till", "through", "before", "and", "by"):
        end = "last"
    near = frozenset((*names, *(stem(word) for word in before[:1])))
    bounds = [
        int(float(bound))
        for bound in (parameter.minimum, parameter.default, parameter.example)
        if bound is not None and parameter.type == "integer"
    ]
    takes_year = parameter.type == "integer" and (
        bool(near & _YEAR) or any(1900 <= bound <= 2100 for bound in bounds)
    )
    units = [stem(word) for word in (*after[:1], *parts) if stem(word) in _UNITS]
    limit = bool(names & _LIMIT) or (bool(before) and before[0] in ("top", "first", "last"))
    return Place(
        parameter,
        before,
        after,
        names,
        end,
        takes_year,
        bool(names & _RANK),
        limit and not units and not takes_year,
        units[0] if units and not takes_year else None,
    )


def fit(place: Place, words: Sequence[Word], start: int, end: int) -> float:
    """How well the words around [start, end) of the question are those of `place`: 0 to about 2."""
    at_before = at_after = -1
    for at, word in enumerate(words):
        if word.end <= start:
            at_before = at
        elif word.start >= end:
            at_after = at
            break
    score = 0.0
    if at_before >= 0:
        score += _side(place.before, [words[at_before], *words[max(0, at_before - 1) : at_before]])
    if at_after >= 0:
        score += _side(place.after, list(words[at_after : at_after + 2]))
    neighbours = words[max(0, at_before - 1) : at_before + 1] if at_before >= 0 else ()
    following = words[at_after : at_after + 1] if at_after >= 0 else ()
    if any(stem(word.folded) in place.names for word in (*neighbours, *following)):
        score += 0.5
    return score


def _side(expected: Sequence[str], found: Sequence[Word]) -> float:
    score = 0.0
    for distance, word in enumerate(found[:2]):
        weight = 0.6 if distance == 0 else 0.2
        if distance < len(expected) and expected[distance] == word.folded:
            score += weight
        elif word.folded not in STOP_WORDS and stem(word.folded) in {stem(e) for e in expected}:
            score += weight * 0.6
    return score
