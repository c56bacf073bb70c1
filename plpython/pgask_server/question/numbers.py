"""Finds the numbers that a question names, in digits or in words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

from pgask_server.question.words import Word, split_words

_DIGITS = re.compile(
    r"""(?<![\w.,])
        (?P<sign>-|−)?
        (?P<currency>[$€£])?
        (?P<digits>\d{1,3}(?:[,_'\u00a0\u202f]\d{3})+(?:\.\d+)?   # 1,200  1,200.50
           |\d{1,3}(?:\.\d{3}){2,}(?:,\d+)?                       # 1.200.000
           |\d+(?:\.\d+)?|\.\d+)
        (?:(?P<ordinal>st|nd|rd|th)
           |\s?(?P<factor>k|thousand|m|mn|mio|million|bn|billion|hundred|dozen)(?![\w]))?
        (?P<percent>\s?(?:%|percent\b|per\s+cent\b))?
        (?![\w])(?![.,]\d)""",
    re.VERBOSE | re.IGNORECASE,
)
_DIGIT = re.compile(r"\d")
_FACTORS = {
    "k": 1_000,
    "thousand": 1_000,
    "m": 1_000_000,
    "mn": 1_000_000,
    "mio": 1_000_000,
    "million": 1_000_000,
    "bn": 1_000_000_000,
    "billion": 1_000_000_000,
    "hundred": 100,
    "dozen": 12,
}
_UNITS = {
    word: amount
    for amount, word in enumerate(
        """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen
        fifteen sixteen seventeen eighteen nineteen""".split()
    )
}
_TENS = {
    word: amount * 10
    for amount, word in enumerate(
        "twenty thirty forty fifty sixty seventy eighty ninety".split(), 2
    )
}
_SCALES = {"hundred": 100, "thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000}
_GROUPS = {"dozen": 12, "couple": 2, "score": 20}
_ORDINALS = {
    word: amount
    for amount, word in enumerate(
        "first second third fourth fifth sixth seventh eighth ninth tenth".split(), 1
    )
}
_NOT_DECIMAL = re.compile(r"[,_'\u00a0\u202f]")


@dataclass(frozen=True, slots=True)
class Number:
    """A number of a question and the characters [start, end) that say it.

    ordinal: it is a rank (third, 3rd); digits: it is plain digits; percent: it is followed by %.
    """

    value: Decimal
    start: int
    end: int
    ordinal: bool = False
    digits: bool = False
    percent: bool = False
    currency: bool = False


def find_numbers(question: str, words: tuple[Word, ...] | None = None) -> tuple[Number, ...]:
    """The numbers of `question` in order of appearance."""
    found = [*_in_digits(question)]
    found.extend(_in_words(split_words(question) if words is None else words))
    found.sort(key=lambda number: number.start)
    return tuple(found)


def _in_digits(question: str) -> list[Number]:
    found: list[Number] = []
    if _DIGIT.search(question) is None:
        return found
    for match in _DIGITS.finditer(question):
        digits = match["digits"]
        # Longer than any amount or identifier that a person types.
        if len(digits) > 40:
            continue
        if digits.count(".") > 1:
            digits = digits.replace(".", "").replace(",", ".")
        value = Decimal(_NOT_DECIMAL.sub("", digits))
        factor = match["factor"]
        if factor is not None:
            value *= _FACTORS[factor.lower()]
        if match["sign"]:
            value = -value
        found.append(
            Number(
                value,
                match.start(),
                match.end(),
                ordinal=match["ordinal"] is not None,
                digits=factor is None and digits.isdigit(),
                percent=match["percent"] is not None,
                currency=match["currency"] is not None,
            )
        )
    return found


def _in_words(words: tuple[Word, ...]) -> list[Number]:
    found: list[Number] = []
    at = 0
    while at < len(words):
        word = words[at].folded
        if word in _UNITS or word in _TENS:
            value, after = _cardinal(words, at)
            found.append(Number(Decimal(value), words[at].start, words[after - 1].end))
            at = after
        elif word in ("a", "an", "half") and at + 1 < len(words):
            value, after = _group(words, at)
            if value is not None:
                found.append(Number(value, words[at].start, words[after - 1].end))
            at = max(after, at + 1)
        elif word == "dozen":
            found.append(Number(Decimal(12), words[at].start, words[at].end))
            at += 1
        elif word in _ORDINALS:
            ordinal = Decimal(_ORDINALS[word])
            found.append(Number(ordinal, words[at].start, words[at].end, ordinal=True))
            at += 1
        else:
            at += 1
    return found


def _cardinal(words: tuple[Word, ...], at: int) -> tuple[int, int]:
    """The number whose first word is words[at], and the place behind its last word."""
    total, current, start = 0, 0, at
    while at < len(words):
        word = words[at].folded
        if word in _UNITS:
            # "two three" are two numbers, "twenty three" is one.
            if at > start and words[at - 1].folded in _UNITS:
                break
            current += _UNITS[word]
        elif word in _TENS:
            if at > start and words[at - 1].folded in (_UNITS.keys() | _TENS.keys()):
                break
            current += _TENS[word]
        elif word in _SCALES:
            scale = _SCALES[word]
            if scale == 100:
                current = max(current, 1) * 100
            else:
                total, current = total + max(current, 1) * scale, 0
        elif word == "dozen":
            current = max(current, 1) * 12
        elif word == "and" and at + 1 < len(words):
            following = words[at + 1].folded
            after_scale = words[at - 1].folded in _SCALES
            if not after_scale or not (following in _UNITS or following in _TENS):
                break
        else:
            break
        at += 1
    return total + current, at


def _group(words: tuple[Word, ...], at: int) -> tuple[Decimal | None, int]:
    """What "a dozen", "a hundred", "half a million" say, and the place behind."""
    half = words[at].folded == "half"
    place = at + 1
    if half and place < len(words) and words[place].folded in ("a", "an"):
        place += 1
    if place >= len(words):
        return None, at
    word = words[place].folded
    amount = _SCALES.get(word, _GROUPS.get(word))
    if amount is None or word == "score":
        return None, at
    after = place + 1
    if word == "couple" and after < len(words) and words[after].folded == "of":
        after += 1
    return (Decimal(amount) / 2 if half else Decimal(amount)), after
