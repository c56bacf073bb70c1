"""Weighs what a question and a saved one have in common."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from pgask_server.question.bind import Binding
from pgask_server.question.place import Prompt
from pgask_server.question.proposal import Reading
from pgask_server.question.score import Evidence
from pgask_server.question.shape import contradictions, opposites
from pgask_server.question.words import content_words, split_words, stem

_QUOTED = re.compile(r"""(?<!\w)(?:"[^"]+"|'[^']{2,}'|“[^”]+”)(?!\w)""")

_SAME = {
    stem(word): stem(group.split()[0])
    for group in (
        "largest biggest greatest huge",
        "smallest littlest tiniest",
        "show display list",
        "customer client buyer",
        "product item article",
        "revenue turnover sales",
        "employee staff worker",
        "number count amount quantity",
        "average mean avg",
        "maximum max highest",
        "minimum min lowest",
        "cost price",
        "country nation",
        "name title",
        "use using used",
        "total overall sum",
    )
    for word in group.split()
}


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


def same_words(words: frozenset[str]) -> frozenset[str]:
    """`words` (stems) with one word for each group of synonyms."""
    return frozenset(_SAME.get(word, word) for word in words)


def weigh(
    asked: Asked,
    masked: str,
    prompt: Prompt,
    prompt_content: frozenset[str],
    statements: frozenset[str],
    binding: Binding,
    similarity: float,
) -> Evidence:
    """The evidence for one candidate.

    masked: the masked form of the question under the candidate's binding; prompt_content: the
    content words of its masked prompt; statements: the traits of its statements.
    """
    mine = asked.content(masked)
    theirs = same_words(prompt_content)
    # A place that took its default need not be said.
    silent = {
        stem(word)
        for name in binding.values
        if name not in binding.spans
        for word in name.split("_")
    }
    shared = len(mine & theirs)
    expected = len((theirs - silent) | (mine & theirs)) or 1
    text = prompt.text
    return Evidence(
        similarity=similarity,
        covered=shared / (len(mine) or 1),
        recalled=shared / expected,
        filled=bool(binding.spans) and not binding.missing,
        missing=len(binding.missing),
        leftover=leftovers(asked.reading, binding, text),
        contradictions=len(contradictions(masked, text, statements)),
        opposites=opposites(masked, text),
    )


def leftovers(reading: Reading, binding: Binding, prompt: str) -> int:
    """How many numbers, dates and quoted texts of the question nothing explains, and how many
    numbers of the prompt the question does not repeat."""
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
    found += sum(1 for word in said if word.isdigit() and len(word) > 1 and word not in asked_words)
    return found
