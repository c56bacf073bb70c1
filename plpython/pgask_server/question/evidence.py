"""Weighs what a question and a saved one have in common."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from pgask_server.question.bind import Binding
from pgask_server.question.proposal import Reading
from pgask_server.question.saved import Saved
from pgask_server.question.score import Evidence
from pgask_server.question.shape import contradictions, differences, opposites, turned
from pgask_server.question.words import (
    STOP_WORDS,
    Word,
    content_words,
    same_words,
    split_words,
    stem,
)

_QUOTED = re.compile(r"""(?<!\w)(?:"[^"]+"|'[^']{2,}'|“[^”]+”)(?!\w)""")

@dataclass(slots=True)
class Asked:
    """A question, and what all of its candidates are compared with."""

    reading: Reading
    _content: dict[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])

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
    saved: Saved,
    binding: Binding,
    similarity: float,
    linked: Sequence[tuple[int, int]],
) -> Evidence:
    """The evidence for one candidate.

    masked: the question's masked form under its binding. linked: the characters of the question
    that name a value for any candidate.
    """
    mine = asked.content(masked)
    theirs = saved.content
    # A place that took its default need not be said.
    silent = {
        stem(word)
        for name in binding.values
        if name not in binding.spans
        for word in name.split("_")
    }
    shared = len(mine & theirs)
    expected = (theirs - silent) | (mine & theirs)
    known = theirs | saved.vocabulary
    prompt = saved.canonical_prompt
    return Evidence(
        similarity=similarity,
        covered=shared / (len(mine) or 1),
        recalled=shared / (len(expected) or 1),
        explained=len(mine & known) / (len(mine) or 1),
        filled=bool(binding.spans) and not binding.missing,
        missing=len(binding.missing),
        leftover=leftovers(asked.reading, binding, prompt, linked),
        differences=len(differences(masked, saved.masked)),
        contradictions=len(contradictions(masked, saved.masked, saved.traits)),
        opposites=opposites(masked, saved.masked),
        turned=turned(masked, saved.masked),
    )


def leftovers(
    reading: Reading, binding: Binding, prompt: str, linked: Sequence[tuple[int, int]]
) -> int:
    """How many numbers, dates, names, values and quoted texts of the question nothing explains,
    and how many numbers and names of the prompt the question does not repeat."""
    spans = list(binding.spans.values())
    said = {word.folded for word in split_words(prompt)}

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
    asked_words = {word.folded for word in reading.words}
    missed = _names(prompt) | {word for word in said if word.isdigit()}
    found += len(missed - asked_words)
    for word, start, end in _placed_names(reading.text, reading.words):
        inside = explained(start, end) or any(a < end and start < b for a, b in counted)
        found += not inside and word not in said
    return found


def _names(text: str) -> frozenset[str]:
    """The folded words of `text` that are written as proper names."""
    return frozenset(word for word, _, _ in _placed_names(text, split_words(text)))


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
