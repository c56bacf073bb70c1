"""What a question asks for, and what a statement does: where they contradict each other.

A plain reading, by words: wrong candidates that a vector likes ("how many X" for "how many X in
each Y", "fewest" for "most") show in these traits.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from pgask_server.question.words import split_words, stem

if TYPE_CHECKING:
    from collections.abc import Sequence

_QUESTION_TRAITS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE))
    for name, pattern in (
        ("count", r"how many|number of|count(?:s|ed)?(?: of)?"),
        (
            "group",
            (
                r"(?:for|in|of|by|to|from|at|with|on) (?:each|every|all the different)|"
                r"per|each|every|"
                r"broken down|grouped?|by (?:country|year|month|category|day|week|region|type)"
            ),
        ),
        (
            "most",
            (
                r"most|highest|largest|biggest|greatest|maximum|max|longest|oldest|top|best|"
                r"latest|newest|heaviest|tallest|leading|more than any"
            ),
        ),
        (
            "least",
            (
                r"least|fewest|lowest|smallest|minimum|min|shortest|youngest|worst|earliest|"
                r"cheapest|lightest|bottom"
            ),
        ),
        (
            "negation",
            (
                r"not|no|without|never|except|excluding|neither|nor|none|\w+n't|unused|"
                r"missing|lack(?:s|ing)?|do(?:es)? ?n[o']t"
            ),
        ),
        ("average", r"average|mean|avg"),
        ("sum", r"total|sum|altogether|overall|combined"),
        ("or", r"either|or"),
        ("both", r"both"),
        (
            "sort",
            (
                r"sort(?:ed|ing)?|order(?:ed)? (?:by|of)|in (?:\w+ )?order|alphabetical(?:ly)?|"
                r"ascending|descending|rank(?:ed)?|from (?:most|least|highest|lowest)\b.*\bto"
            ),
        ),
    )
)
_KEYWORD = re.compile(
    r"\b(?:(?:order|group|partition)\s+by|select|distinct|from|where|having|limit|offset|join|inner|"
    r"left|right|outer|on|and|or|not|in|as|is|null|exists|between|like|ilike|case|when|then|else|"
    r"end|asc|desc|over|union|all|intersect|except|with|using|count|sum|avg|min|max|coalesce|"
    r"nullif|round|cast|extract|date_trunc|filter|true|false|interval|numeric|integer|text)\b",
    re.IGNORECASE,
)
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_LITERAL = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|\$\w*\$.*?\$\w*\$""", re.DOTALL)

_OPPOSITES = tuple(
    (frozenset(one.split()), frozenset(other.split()))
    for one, other in (
        ("arriving arrive arrival arrived", "departing depart departure departed leave leaving"),
        (
            "most highest largest biggest greatest maximum max",
            "least fewest lowest smallest minimum min",
        ),
        ("longest", "shortest"),
        ("oldest", "youngest newest"),
        ("earliest", "latest newest"),
        ("best", "worst"),
        ("before earlier", "after later since"),
        ("above more over greater higher larger exceeding", "below less under fewer lower smaller"),
        ("older", "younger newer"),
        ("ascending", "descending"),
        ("male men", "female women"),
        ("active", "inactive"),
        ("open opened", "closed"),
        ("used", "unused"),
        ("buy bought buyer", "sell sold seller"),
        ("import", "export"),
        ("win won winner", "lose lost loser"),
        ("increase rise", "decrease drop"),
        ("incoming", "outgoing"),
        ("with", "without"),
        ("both", "either or"),
        ("first", "last"),
        ("most expensive", "cheapest"),
        ("table", "index"),
    )
)
_LEAST = frozenset(
    "least fewest lowest smallest minimum min shortest youngest worst earliest cheapest".split()
)
_SUPERLATIVES = _LEAST | frozenset(
    """most highest largest biggest greatest maximum max longest oldest top best latest
    newest""".split()
)
_ASKING = frozenset(
    """a all also an and any are as at be been by can do doe did does different distinct each every
    find for from give given had ha has have how i in is it list many me much name of on please
    return show tell that the their there they this to was were what which who whose with
    you""".split()
)
_ATTRIBUTES = frozenset("name id title detail number code count description value given".split())
"""What is asked for of a thing, so often said before or after it that the order tells nothing."""

_OPPOSITE_WORDS = frozenset(word for pair in _OPPOSITES for side in pair for word in side)


@lru_cache(maxsize=1024)
def question_traits(text: str) -> frozenset[str]:
    """The traits that the words of a question ask for."""
    return frozenset(name for name, pattern in _QUESTION_TRAITS if pattern.search(text))


def statement_words(sqls: Sequence[str]) -> frozenset[str]:
    """The stems of the words that name tables, columns and literals in statements."""
    words: set[str] = set()
    for sql in sqls:
        bare = _CAMEL.sub(" ", _KEYWORD.sub(" ", sql))
        words.update(stem(word.folded) for word in split_words(bare.replace("_", " ")))
    return frozenset(words)


_RESTRICTIONS = tuple(
    re.compile(rf"\b(?:{words})\b", re.IGNORECASE)
    for words in (
        (
            r"not|never|no|without|except|excluding|excl|neither|nor|none|outside|other than|"
            r"apart from|unless|\w+n['’]t|cannot"
        ),
        r"before|earlier than|until|till|up to|by the end of",
        r"after|later than|since|from \S+ on(?:wards)?",
        r"between",
        r"more than|greater than|at least|above|over|exceeding",
        r"less than|fewer than|at most|below|under",
        r"versus|vs|compared?(?: (?:to|with))?|comparison",
    )
)
_DENIED = re.compile(r"\b(?:un\w+|lack\w*|miss(?:ing|es)?)\b", re.IGNORECASE)


def restrictions(question: str, prompt: str) -> int:
    """How many kinds of restriction the question makes of which the prompt says nothing: then the
    saved statement does not make them either, however alike the rest is."""
    found = 0
    for at, pattern in enumerate(_RESTRICTIONS):
        if pattern.search(question) and not pattern.search(prompt):
            found += not (at == 0 and _DENIED.search(prompt))
    return found


@lru_cache(maxsize=1024)
def _direction_words(text: str) -> frozenset[str]:
    words = {word.folded for word in split_words(text)}
    return frozenset((words | {stem(word) for word in words}) & _OPPOSITE_WORDS)


def opposites(question: str, prompt: str) -> int:
    """In how many ways the two say the opposite: one says "most" only, the other "least" only."""
    mine, theirs = _direction_words(question), _direction_words(prompt)
    if mine == theirs:
        return 0
    # "never used" and "unused" are the same: a denial turns a word into its opposite.
    if question_traits(question) & {"negation"} and question_traits(prompt) & {"negation"}:
        return 0
    found = 0
    for one, other in _OPPOSITES:
        if (mine & one and not mine & other and theirs & other and not theirs & one) or (
            mine & other and not mine & one and theirs & one and not theirs & other
        ):
            found += 1
    return found


@lru_cache(maxsize=1024)
def _order(text: str) -> tuple[str, frozenset[str], frozenset[tuple[str, str]]]:
    """What a sentence asks for first, its words, and the word behind each superlative."""
    words = [stem(word.folded) for word in split_words(text)]
    content = [w for w in words if w not in _ASKING and w not in _SUPERLATIVES]
    heads = [word for word in content if word not in _ATTRIBUTES]
    followed = frozenset(
        ("least" if word in _LEAST else "most", following)
        for at, word in enumerate(words)
        if word in _SUPERLATIVES
        for following in words[at + 1 : at + 3]
        if following not in _ASKING and following not in _SUPERLATIVES
    )
    return (heads[0] if heads else ""), frozenset(content), followed


def turned(question: str, prompt: str) -> int:
    """In how many ways the same words stand in another order: 0 to 2.

    "The state with the largest population" is not "the population of the largest state": another
    thing is asked for, and the superlative belongs to another word.
    """
    head, mine, most = _order(question)
    other_head, theirs, other_most = _order(prompt)
    found = int(head != other_head and head in theirs and other_head in mine)
    if most and other_most and most.isdisjoint(other_most):
        found += int(all(word in theirs for _, word in most))
    return found


def differences(question: str, prompt: str) -> frozenset[str]:
    """The traits in which a question and a saved prompt differ."""
    return question_traits(question) ^ question_traits(prompt)


def contradictions(question: str, prompt: str, statements: frozenset[str] | None) -> frozenset[str]:
    """The traits in which `question` differs from both the saved prompt and its statements.

    statements: see `traits.statement_traits`; None, an answer in words, contradicts little.
    """
    differing = differences(question, prompt)
    if statements is None:
        return differing & {"negation"}
    asked = question_traits(question)
    return frozenset(name for name in differing if (name in asked) != (name in statements))
