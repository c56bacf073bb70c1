"""The values of one column, ready to be found in a question: exact, in part, or misspelt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pgask_server.question.words import (
    COMMON_WORDS,
    STOP_WORDS,
    Word,
    is_misspelling,
    normal_phrase,
    similarity,
    stem,
    trigrams,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

LONGEST_PHRASE = 5
"""Words of the longest group that is looked up."""

_ALTERNATIVES = 6
_PARTIAL_LIMIT = 40
_FUZZY_FLOOR = 0.4
_FUZZY_ENOUGH = 0.62
_NEARLY = 0.08


@dataclass(frozen=True, slots=True)
class Link:
    """A value that the characters [start, end) of the question name.

    score: 1 for an exact name, less for a part of it or a misspelt one. alternatives: other values
    that are named as well as this one; where there are some, the link is a guess.
    common: the words are everyday English or the saved question's own, so that the place in the
    sentence must speak for the link.
    """

    value: str
    start: int
    end: int
    score: float
    alternatives: tuple[str, ...] = ()
    common: bool = False


@dataclass(frozen=True, slots=True)
class Phrase:
    """A group of words: its folded text, and the places [first, last] of its words."""

    text: str
    first: int
    last: int


def _is_content(word: Word, known: frozenset[str]) -> bool:
    """Whether a word can be part of a value that is not named exactly."""
    folded = word.folded
    if folded in STOP_WORDS or folded in COMMON_WORDS or folded.isdigit():
        return False
    return len(folded) > 1 and stem(folded) not in known


def phrases(words: Sequence[Word], known: frozenset[str]) -> list[Phrase]:
    """The word groups that begin and end with a word that can be part of a value, longest first."""
    found: list[Phrase] = []
    content = [_is_content(word, known) for word in words]
    for size in range(min(LONGEST_PHRASE, len(words)), 0, -1):
        for first in range(len(words) - size + 1):
            last = first + size - 1
            # "Bank of America" may hold a stop word inside; a leading "The" may be left out.
            if content[last] and (content[first] or words[first].folded == "the"):
                inner = sum(content[first : last + 1])
                if inner * 2 >= size:
                    text = " ".join(word.folded for word in words[first : last + 1])
                    found.append(Phrase(text, first, last))
    return found


class ValueIndex:
    """Finds which of `values` a question names. Building is linear; the rarer maps are lazy."""

    def __init__(self, values: Sequence[str], partial: bool = True) -> None:
        self._partial = partial
        self._exact: dict[str, list[str]] = {}
        self._stemmed: dict[str, str] = {}
        self._longest = 1
        for value in values:
            key = normal_phrase(value)
            if not key:
                continue
            self._exact.setdefault(key, []).append(value)
        for key in self._exact:
            length = key.count(" ") + 1
            if length > self._longest:
                self._longest = length
            self._stemmed.setdefault(_stem_last(key), key)
        self._words: dict[str, list[str]] | None = None
        self._grams: dict[str, list[str]] | None = None

    def links(self, words: Sequence[Word], known: frozenset[str]) -> tuple[Link, ...]:
        """What `words` name, best first; no two links share a word unless one is inside both."""
        links = self._exactly(words, known)
        taken = {
            at
            for at, word in enumerate(words)
            for link in links
            if not link.common and link.start < word.end and word.start < link.end
        }
        rest = [
            phrase
            for phrase in phrases(words, known)
            if not any(at in taken for at in range(phrase.first, phrase.last + 1))
        ]
        for phrase in rest:
            if any(at in taken for at in range(phrase.first, phrase.last + 1)):
                continue
            link = self._in_part(phrase, words) if self._partial else None
            if link is None:
                link = self._misspelt(phrase, words, known)
            if link is not None:
                links.append(link)
                taken.update(range(phrase.first, phrase.last + 1))
        links.sort(key=lambda link: (-link.score, link.start - link.end, link.start))
        return tuple(links)

    def nearest(self, text: str, count: int) -> tuple[str, ...]:
        """The values spelt most like folded `text`, best first, none below a fair likeness."""
        scored = [(similarity(text, key), key) for key in self._candidates(text)]
        scored.sort(key=lambda pair: (-pair[0], pair[1]))
        return tuple(self._exact[key][0] for score, key in scored[:count] if score >= 0.2)

    def _exactly(self, words: Sequence[Word], known: frozenset[str]) -> list[Link]:
        links: list[Link] = []
        taken: set[int] = set()
        for size in range(min(self._longest, 12, len(words)), 0, -1):
            for first in range(len(words) - size + 1):
                if taken and not taken.isdisjoint(range(first, first + size)):
                    continue
                if size == 1:
                    key = words[first].folded
                else:
                    key = " ".join([word.folded for word in words[first : first + size]])
                named = self._exact.get(key)
                score = 1.0
                if named is None:
                    other = self._stemmed.get(_stem_last(key))
                    if other is None:
                        continue
                    named, score = self._exact[other], 0.97
                common = size == 1 and not _is_content(words[first], known)
                # Not exact, and not a content word: "orders" for a value "order" means nothing.
                if common and (score < 1 or words[first].folded in known):
                    score -= 0.1
                if not common:
                    taken.update(range(first, first + size))
                links.append(
                    Link(
                        self._spelling(named, words[first], words[first + size - 1]),
                        words[first].start,
                        words[first + size - 1].end,
                        score,
                        (),
                        common,
                    )
                )
        return links

    @staticmethod
    def _spelling(named: list[str], first: Word, last: Word) -> str:
        """Of values that differ in case only, the one that is spelt as the question has it."""
        if len(named) > 1 and first is last and first.text in named:
            return first.text
        return named[0]

    def _in_part(self, phrase: Phrase, words: Sequence[Word]) -> Link | None:
        if len(phrase.text) < 3:
            return None
        if self._words is None:
            self._words = {}
            for key in self._exact:
                if " " in key:
                    for word in set(key.split()):
                        self._words.setdefault(word, []).append(key)
        keys = self._words.get(phrase.text.split(" ", 1)[0], [])
        if not keys or len(keys) > 2000:
            return None
        sought = f" {phrase.text} "
        holding = [key for key in keys if sought in f" {key} "]
        if not holding or len(holding) > _PARTIAL_LIMIT:
            return None
        return self._link(phrase, words, holding, 0.8 if len(holding) == 1 else 0.6)

    def _misspelt(
        self, phrase: Phrase, words: Sequence[Word], known: frozenset[str]
    ) -> Link | None:
        text = phrase.text
        if len(text) < 4 or phrase.last - phrase.first >= self._longest + 1:
            return None
        if phrase.first == phrase.last and any(
            is_misspelling(text, word) or is_misspelling(stem(text), word) for word in known
        ):
            return None
        scored: list[tuple[float, str]] = []
        for key in self._candidates(text):
            alike = similarity(text, key)
            if alike >= _FUZZY_FLOOR and (alike >= _FUZZY_ENOUGH or _slips(text, key)):
                scored.append((alike + 0.2 if _slips(text, key) else alike, key))
        if not scored:
            return None
        scored.sort(key=lambda pair: (-pair[0], pair[1]))
        best = scored[0][0]
        near = [key for score, key in scored[:_ALTERNATIVES] if best - score < _NEARLY]
        return self._link(phrase, words, near, 0.5 + 0.45 * min(best, 1.0))

    def _candidates(self, text: str) -> set[str]:
        """Keys that share at least a quarter of the trigrams of `text`."""
        if self._grams is None:
            self._grams = {}
            for key in self._exact:
                for gram in trigrams(key[:120]):
                    self._grams.setdefault(gram, []).append(key)
        sought = trigrams(text)
        counts: dict[str, int] = {}
        for gram in sought:
            for key in self._grams.get(gram, ()):
                counts[key] = counts.get(key, 0) + 1
        least = max(2, len(sought) // 4)
        return {key for key, count in counts.items() if count >= least}

    def _link(
        self, phrase: Phrase, words: Sequence[Word], keys: Sequence[str], score: float
    ) -> Link:
        alternatives = tuple(self._exact[key][0] for key in keys[:_ALTERNATIVES])
        return Link(
            alternatives[0],
            words[phrase.first].start,
            words[phrase.last].end,
            score,
            alternatives[1:],
        )


def _stem_last(key: str) -> str:
    """`key` with its last word without a plural ending."""
    head, _, last = key.rpartition(" ")
    return f"{head} {stem(last)}" if head else stem(last)


def _slips(typed: str, meant: str) -> bool:
    """Whether every word of `typed` is a word of `meant` or a slip for it; blanks may be lost."""
    mine, theirs = typed.split(), meant.split()
    if len(mine) == len(theirs):
        return all(
            a == b or is_misspelling(a, b) or is_misspelling(stem(a), stem(b))
            for a, b in zip(mine, theirs, strict=True)
        )
    return is_misspelling("".join(mine), "".join(theirs))
