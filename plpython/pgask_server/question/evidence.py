"""Weighs what a question and a saved one have in common."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from pgask_server.question.score import Evidence
from pgask_server.question.shape import (
    contradictions,
    differences,
    opposites,
    restrictions,
    turned,
)
from pgask_server.question.words import (
    STOP_WORDS,
    Word,
    content_words,
    same_words,
    split_words,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pgask_server.question.bind import Binding
    from pgask_server.question.proposal import Reading
    from pgask_server.question.saved import Saved

_QUOTED = re.compile(r"""(?<!\w)(?:"[^"]+"|'[^']{2,}'|“[^”]+”)(?!\w)""")


@dataclass(slots=True)
class Asked:
    """A question, and what all of its candidates are compared with."""

    reading: Reading
    words: frozenset[str] = field(init=False)
    names: Sequence[tuple[str, int, int]] = field(init=False)
    _content: dict[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])

    def __post_init__(self) -> None:
        self.words = frozenset(word.folded for word in self.reading.words)
        self.names = _placed_names(self.reading.text, self.reading.words)

    def content(self, text: str) -> frozenset[str]:
        """The content words of a form of the question, synonyms as one."""
        found = self._content.get(text)
        if found is None:
            found = same_words(content_words(text)) - {"given"}
            self._content[text] = found
        return found


def weigh(
    asked: Asked,
    masked: str,
    said: str,
    saved: Saved,
    binding: Binding,
    similarity: float,
    linked: Sequence[tuple[int, int]],
) -> Evidence:
    """The evidence for one candidate.

    masked: the question's masked form under its binding; said: the masked prompt without the
    places that the question leaves out. linked: the characters of the question that name a value
    for any candidate.
    """
    mine, theirs = asked.content(masked), _prompt_content(said)
    shared = len(mine & theirs)
    return Evidence(
        similarity=similarity,
        covered=shared / (len(mine) or 1),
        recalled=shared / (len(theirs) or 1),
        explained=len(mine & (theirs | saved.vocabulary)) / (len(mine) or 1),
        filled=bool(binding.spans) and not binding.missing,
        missing=len(binding.missing),
        leftover=leftovers(asked, binding, saved.canonical_prompt, linked),
        differences=len(differences(masked, said)),
        contradictions=len(contradictions(masked, said, saved.traits)),
        opposites=opposites(masked, said),
        turned=turned(masked, said),
        restrictions=restrictions(masked, said),
    )


def leftovers(
    asked: Asked, binding: Binding, prompt: str, linked: Sequence[tuple[int, int]]
) -> int:
    """How many numbers, dates, names, values and quoted texts of the question nothing explains,
    and how many numbers and names of the prompt the question does not repeat."""
    reading = asked.reading
    spans = list(binding.spans.values())
    said, named = _prompt_words(prompt)

    def explained(start: int, end: int) -> bool:
        return any(a < end and start < b for a, b in spans)

    literals = [
        (number.start, number.end)
        for number in reading.numbers
        if not (number.value in (0, 1) and not number.digits) and not number.ordinal
    ]
    literals += [(period.start, period.end) for period in reading.periods]
    literals += linked
    literals += [match.span() for match in _QUOTED.finditer(reading.text)]
    found = 0
    counted: list[tuple[int, int]] = []
    for start, end in sorted(literals):
        if any(a < end and start < b for a, b in counted) or explained(start, end):
            continue
        counted.append((start, end))
        words = [word.folded for word in split_words(reading.text[start:end])]
        if not all(word in said for word in words):
            found += 1
    found += len(named - asked.words)
    for word, start, end in asked.names:
        inside = explained(start, end) or any(a < end and start < b for a, b in counted)
        found += not inside and word not in said
    return found


@lru_cache(maxsize=2048)
def _prompt_words(prompt: str) -> tuple[frozenset[str], frozenset[str]]:
    """The folded words of a prompt, and those of them that are names or numbers."""
    words = split_words(prompt)
    said = frozenset(word.folded for word in words)
    named = {word for word, _, _ in _placed_names(prompt, words)}
    return said, frozenset(named | {word for word in said if word.isdigit()})


@lru_cache(maxsize=2048)
def _prompt_content(said: str) -> frozenset[str]:
    return same_words(content_words(said)) - {"given"}


def _placed_names(text: str, words: Sequence[Word]) -> list[tuple[str, int, int]]:
    """Words with a capital inside a sentence, each with its characters."""
    capitals = sum(word.text[0].isupper() for word in words)
    if capitals * 2 > len(words) + 1:
        return []
    found: list[tuple[str, int, int]] = []
    for at, word in enumerate(words):
        if not word.text[0].isupper() or word.folded in STOP_WORDS:
            continue
        # The first word of a sentence has its capital from there.
        between = text[words[at - 1].end : word.start] if at else "."
        if not any(mark in between for mark in ".?!:{"):
            found.append((word.folded, word.start, word.end))
    return found
