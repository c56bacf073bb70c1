"""Words of a text with their places, and how alike two words are."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*", re.UNICODE)

STOP_WORDS = frozenset(
    """a about above after again all am an and any are as at be been before being below between
    both but by can could did do does doing down during each either every few find for from
    further get give had has have having he her here hers him his how i if in into is it its
    itself just let list may me might more most much must my no nor not now of off on once only
    or other our ours out over own per please same shall she should show so some such tell than
    that the their them then there these they this those through to too under until up upon us
    very want was we were what when where which while who whom whose why will with without would
    you your yours versus vs via within across among along since top first last best many new old
    good bad total number count average sum year month week day today yesterday tomorrow""".split()
)
"""Words that never stand for a value on their own."""

_FUNCTION_WORDS = STOP_WORDS - frozenset(
    """top first last best many new old good bad total number count average sum year month week
    day today yesterday tomorrow not no without more most few each every per before after both
    either or above below over under between since until from to into""".split()
)
"""Words without a meaning of their own, left out where the content of two texts is compared."""

COMMON_WORDS = frozenset(
    """active address age amount answer area back base big book box business call car case change
    city class client close code company cost country current customer data date deal department
    detail end entry event fact family file first form free full game general great group half
    hand head help high home hour house idea important item job key kind know large late law lead
    left less level life light like line link little live local long look lot low main major make
    man mean meeting member men middle minor mode money name near need news next night normal note
    office one open order page paid part party pay people person place plan play point power price
    private problem product public question rate read real record red region report result right
    room run sale school second see sell service set short side sign single site size small sort
    sold sales staff standard start state status stock store story street strong student study
    system table take team term test text thing think time title town trade true turn two type
    unit use user value view wait walk war water way well white wide win woman word work world
    write wrong young zero earned earn spend spent made bought buy buys customers products orders
    items people biggest smallest largest highest lowest oldest newest youngest longest shortest
    fastest cheapest revenue income profit""".split()
)
"""Everyday English words: a value that is one of them is linked only where the place asks."""


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a text: its folded form and the characters [start, end) that it covers."""

    text: str
    folded: str
    start: int
    end: int


def fold(text: str) -> str:
    """Lower case, without accents, with straight apostrophes."""
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", text.replace("’", "'").casefold())
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter))


def split_words(text: str) -> tuple[Word, ...]:
    """The words of `text` in order; a possessive 's is left off its word."""
    words: list[Word] = []
    for found in _WORD.finditer(text):
        word, end = found.group(), found.end()
        if len(word) > 2 and word[-2] in "'’" and word[-1] in "sS":
            word, end = word[:-2], end - 2
        words.append(Word(word, fold(word), found.start(), end))
    return tuple(words)


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """`word` (folded) without its plural ending."""
    if len(word) < 4 or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    if word.endswith("s"):
        return word[:-1]
    return word


def normal_phrase(text: str) -> str:
    """The folded words of `text`, one blank between them: the key of a value."""
    if text.isascii():
        return " ".join(word.group().lower() for word in _WORD.finditer(text))
    return " ".join(fold(word.group()) for word in _WORD.finditer(text))


def content_words(text: str) -> frozenset[str]:
    """The stems of the words of `text` that carry its meaning."""
    return frozenset(
        stem(word.folded) for word in split_words(text) if word.folded not in _FUNCTION_WORDS
    )


@lru_cache(maxsize=16384)
def trigrams(text: str) -> frozenset[str]:
    """The trigrams of folded `text` as pg_trgm makes them: each word padded by two and one."""
    found: set[str] = set()
    for word in text.split():
        padded = f"  {word} "
        found.update(padded[i : i + 3] for i in range(len(padded) - 2))
    return frozenset(found)


def similarity(a: str, b: str) -> float:
    """How alike two folded texts are, 0 to 1, as pg_trgm's similarity()."""
    mine, theirs = trigrams(a), trigrams(b)
    if not mine or not theirs:
        return 0.0
    shared = len(mine & theirs)
    return shared / (len(mine) + len(theirs) - shared)


def edits(a: str, b: str, limit: int) -> int:
    """Insertions, deletions, changes and swaps of neighbours from `a` to `b`; above: limit + 1."""
    if abs(len(a) - len(b)) > limit:
        return limit + 1
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, letter in enumerate(a, 1):
        current = [i]
        for j, other in enumerate(b, 1):
            cost = min(row[j] + 1, current[j - 1] + 1, row[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == b[j - 2] and a[i - 2] == other:
                cost = min(cost, before[j - 2] + 1)
            current.append(cost)
        if min(current) > limit:
            return limit + 1
        before, row = row, current
    return row[-1]


@lru_cache(maxsize=8192)
def is_misspelling(typed: str, meant: str) -> bool:
    """Whether `typed` can be a slip for `meant` (both folded): one edit from four letters on,
    two from eight."""
    shorter = min(len(typed), len(meant))
    if shorter < 4:
        return False
    limit = 1 if shorter < 8 else 2
    # Each edit changes at most two kinds of letters: most pairs are told apart at once.
    if len(set(typed) ^ set(meant)) > 2 * limit:
        return False
    return edits(typed, meant, limit) <= limit


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


def same_words(words: frozenset[str]) -> frozenset[str]:
    """`words` (stems) with one word for each group of synonyms."""
    return frozenset(_SAME.get(word, word) for word in words)
