"""The masked form of a prompt or question: "a given year" where a value stands.

A saved question is found by its masked canonical prompt, so that no value pulls a typed question
towards another one that happens to name it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pgask_server.question.words import normal_phrase

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from pgask_server.question.parameter import Parameter

_PLACE = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_BARE = frozenset({"name", "id", "code", "key", "title"})
_COURTESY = re.compile(r"\b(?:please|kindly|thanks|thank you|the)\b", re.IGNORECASE)
_BLANKS = re.compile(r"\s+")
_SPLIT_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")


def noun(parameter: Parameter) -> str:
    """What a parameter is called in a sentence: the words of its name; a number where that says
    little."""
    words = _SPLIT_CAMEL.sub(" ", parameter.name).replace("_", " ").strip().lower()
    head, _, last = words.rpartition(" ")
    if head and last in _BARE:
        words = head
    if len(words) < 2:
        words = "number" if parameter.type in ("integer", "number") else "value"
    return words


def masked_prompt(
    canonical_prompt: str, parameters: Sequence[Parameter], silent: Collection[str] = ()
) -> str:
    """The text behind a saved question's vector: each {name} place as "a given <noun>".

    silent: parameters whose places are left out, as a person leaves out what has a default.
    """
    by_name = {parameter.name: parameter for parameter in parameters}

    def given(match: re.Match[str]) -> str:
        if match.group(1) in silent:
            return ""
        parameter = by_name.get(match.group(1))
        return match.group() if parameter is None else f"a given {noun(parameter)}"

    return _tidy(_PLACE.sub(given, canonical_prompt))


def masked_question(
    question: str, spans: Mapping[str, tuple[int, int]], parameters: Sequence[Parameter]
) -> str:
    """`question` with the characters of each span as "a given <noun>" of its parameter."""
    by_name = {parameter.name: parameter for parameter in parameters}
    pieces: list[str] = []
    place = 0
    for name, (start, end) in sorted(spans.items(), key=lambda item: (item[1], item[0])):
        # The two ends of one range share their words: say both, once each.
        joint = "" if start >= place else " and "
        pieces.append(joint or question[place:start])
        pieces.append(f"a given {noun(by_name[name])}")
        place = max(place, end)
    pieces.append(question[place:])
    return _tidy("".join(pieces))


def exact_key(masked: str) -> str:
    """What two masked texts have in common when they are the same sentence, courtesies aside."""
    return normal_phrase(_COURTESY.sub(" ", masked))


def _tidy(text: str) -> str:
    return _BLANKS.sub(" ", text).strip()
