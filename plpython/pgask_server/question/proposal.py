"""What in a question could be the value of a parameter: each proposal with its place and score."""

from __future__ import annotations

import datetime
import itertools
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from pgask_server.errors import ParameterInvalid
from pgask_server.question.calendar import DAY
from pgask_server.question.parameter import Parameter, check_value
from pgask_server.question.place import Place, fit
from pgask_server.question.words import STOP_WORDS, Word, stem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pgask_server.question.dates import Period
    from pgask_server.question.numbers import Number
    from pgask_server.question.pattern import Matches
    from pgask_server.question.value_index import Link

_QUOTED = re.compile(
    r"""(?<!\w)(?:"([^"]{1,200})"|'([^']{1,200})'|“([^”]{1,200})”|‘([^’]{1,200})’)(?!\w)"""
)
_LIMITING = frozenset(
    """top first last best worst bottom largest biggest smallest highest lowest most fewest newest
    oldest latest show list give me the limit only just leading""".split()
)
_NEGATIONS = frozenset("not no non without excluding exclude except isn't aren't never un".split())
_INCLUSIONS = frozenset("including include with only".split())
_FLAG_WORDS = frozenset(
    "is are has have include includes including only with show also and".split()
)
_MOST_TRIED = 200
_MEASURES = frozenset("day week month quarter year hour minute second percent".split())


@dataclass(frozen=True, slots=True)
class Proposal:
    """A value for a parameter, found in the characters [start, end).

    facet: which part of the span's meaning is used; two parameters may share one span only with
    different facets, none of them "all" (the two ends of a range, year and month of a date).
    """

    value: str
    start: int
    end: int
    score: float
    facet: str = "all"
    alternatives: tuple[str, ...] = ()
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """A question, read once for all candidates."""

    text: str
    words: tuple[Word, ...]
    numbers: tuple[Number, ...]
    periods: tuple[Period, ...]
    today: datetime.date
    matches: Matches | None = None
    """Compares a word with a parameter's pattern; without it none is tried."""


def proposals(place: Place, reading: Reading, links: Sequence[Link]) -> list[Proposal]:
    """What `reading` offers for the parameter of `place`, in no order."""
    parameter = place.parameter
    found: list[Proposal] = []
    if parameter.values or parameter.column is not None:
        found.extend(_linked(place, reading, links))
        if parameter.type in ("text", "boolean") or parameter.values:
            return found
    match parameter.type:
        case "integer" | "number":
            found.extend(_numbers(place, reading))
            if parameter.type == "integer":
                found.extend(_calendar_parts(place, reading))
        case "date" | "timestamp":
            found.extend(_dates(place, reading))
        case "boolean":
            found.extend(_flags(place, reading))
        case "text":
            found.extend(_texts(place, reading))
    return found


def _checked(
    parameter: Parameter,
    value: object,
    start: int,
    end: int,
    score: float,
    facet: str = "all",
    alternatives: tuple[str, ...] = (),
    matches: Matches | None = None,
) -> Proposal:
    """A proposal; one whose value the parameter refuses carries the reason."""
    try:
        text = check_value(parameter, value, matches)
    except ParameterInvalid as error:
        return Proposal("", start, end, score, facet, (), error.detail)
    return Proposal(text, start, end, score, facet, alternatives)


def _linked(place: Place, reading: Reading, links: Sequence[Link]) -> list[Proposal]:
    found: list[Proposal] = []
    for link in links:
        suits = fit(place, reading.words, link.start, link.end)
        if link.common and suits < 0.6 and not _is_marked(reading, link.start, link.end):
            continue
        score = 3 * link.score + suits - (0.8 if link.common else 0)
        score += 0.1 * min(5, (link.end - link.start) / 10)
        found.append(
            _checked(
                place.parameter, link.value, link.start, link.end, score, "all", link.alternatives
            )
        )
    return found


def _is_marked(reading: Reading, start: int, end: int) -> bool:
    """Whether the question sets the span off: quotes around it, or a capital inside a sentence."""
    text = reading.text
    if start > 0 and text[start - 1] in "\"'“‘" and text[end : end + 1] in ('"', "'", "”", "’"):
        return True
    if not text[start].isupper() or reading.words[0].start == start:
        return False
    # A title in capitals marks nothing.
    capitals = sum(word.text[0].isupper() for word in reading.words)
    return capitals * 2 <= len(reading.words) + 1


def _numbers(place: Place, reading: Reading) -> list[Proposal]:
    parameter = place.parameter
    found: list[Proposal] = []
    for number in reading.numbers:
        suits = fit(place, reading.words, number.start, number.end)
        score = 1.0 + suits
        if number.ordinal != place.takes_rank:
            if number.ordinal:
                continue
            score -= 0.5
        value = number.value
        year = number.digits and value == int(value) and 1900 <= value <= 2100
        if place.takes_year:
            if not year:
                continue
            score += 2
        elif year and number.end - number.start == 4:
            # A number that looks like a year is one unless the place speaks for it.
            score -= 1.2
        before, after = _neighbours(reading.words, number)
        if value == 1 and not number.digits and before not in _LIMITING and suits < 0.6:
            continue
        if place.takes_limit:
            score += 0.8 if before in _LIMITING else 0
            if number.percent or number.currency or stem(after) in _MEASURES:
                continue
        if place.unit is not None:
            score += 1.2 if stem(after) == place.unit else -0.6
        elif stem(after) in _MEASURES and suits < 0.6:
            score -= 0.6
        if number.percent and parameter.maximum is not None and Decimal(parameter.maximum) <= 1:
            value = value / 100
        if score <= 0.2:
            continue
        found.append(_checked(parameter, value, number.start, number.end, score))
    return found


def _neighbours(words: Sequence[Word], number: Number) -> tuple[str, str]:
    before, after = "", ""
    for word in words:
        if word.end <= number.start:
            before = word.folded
        elif word.start >= number.end:
            after = word.folded
            break
    return before, after


def _calendar_parts(place: Place, reading: Reading) -> list[Proposal]:
    """Year, quarter or month of the periods, for an integer parameter that is one."""
    found: list[Proposal] = []
    parameter = place.parameter
    for period in reading.periods:
        suits = fit(place, reading.words, period.start, period.end)
        if place.takes_year:
            upper = place.end == "last" and period.unit == "range"
            day = period.last if upper else period.first
            facet = f"year {place.end}" if period.unit == "range" else "year"
            score = 3.0 if period.unit == "year" else 2.2 if period.dated else 1.5
            found.append(
                _checked(parameter, day.year, period.start, period.end, score + suits, facet)
            )
        elif "quarter" in place.names and period.unit == "quarter":
            quarter = (period.first.month + 2) // 3
            found.append(
                _checked(parameter, quarter, period.start, period.end, 3 + suits, "quarter")
            )
        elif "month" in place.names and place.before[:1] != ("last",) and period.unit == "month":
            month = period.first.month
            found.append(_checked(parameter, month, period.start, period.end, 3 + suits, "month"))
    return found


def _dates(place: Place, reading: Reading) -> list[Proposal]:
    found: list[Proposal] = []
    for period in reading.periods:
        day, facet = _end_of(place, period, reading.today)
        if day is None:
            continue
        score = 2 + fit(place, reading.words, period.start, period.end)
        if place.parameter.type == "timestamp":
            moment = period.moment or datetime.time()
            if period.moment is None and facet == "last":
                moment = datetime.time(23, 59, 59, 999999)
            value: object = datetime.datetime.combine(day, moment)
        else:
            value = day
        found.append(_checked(place.parameter, value, period.start, period.end, score, facet))
    return found


def _end_of(place: Place, period: Period, today: datetime.date) -> tuple[datetime.date | None, str]:
    """The day of `period` that the place takes, and which end that is."""
    if place.end is None:
        return period.first, "all"
    if place.end == "first":
        if period.direction in ("until", "before"):
            return None, "first"
        if period.direction == "after":
            return period.last + DAY, "first"
        return period.first, "first"
    if period.direction in ("since", "after"):
        return today, "last"
    if "before" in place.names:
        return (period.first if period.direction == "before" else period.last + DAY), "last"
    if period.direction == "before":
        return period.first - DAY, "last"
    return period.last, "last"


def _flags(place: Place, reading: Reading) -> list[Proposal]:
    """true where the question says the flag's word, false where it denies it."""
    keys = {stem(name) for name in place.names} - _FLAG_WORDS
    if not keys:
        return []
    words = reading.words
    for at, word in enumerate(words):
        stemmed = stem(word.folded)
        denied = any(
            stemmed == prefix + key for key in keys for prefix in ("un", "in", "non", "not")
        )
        if not denied and stemmed not in keys:
            continue
        before = [other.folded for other in words[max(0, at - 2) : at]]
        start = word.start
        if any(other in _NEGATIONS or other.endswith("n't") for other in before):
            denied = not denied
        if before and before[-1] in _NEGATIONS | _INCLUSIONS:
            start = words[at - 1].start
        value = "false" if denied else "true"
        return [_checked(place.parameter, value, start, word.end, 2.0)]
    return []


def _texts(place: Place, reading: Reading) -> list[Proposal]:
    """Free text: what stands in quotes, what matches the pattern, or what follows the same word."""
    parameter, question = place.parameter, reading.text
    found: list[Proposal] = []
    for match in _QUOTED.finditer(question):
        text = next(group for group in match.groups() if group is not None)
        suits = fit(place, reading.words, match.start(), match.end())
        found.append(
            _checked(
                parameter,
                text.strip(),
                match.start(),
                match.end(),
                2.5 + suits,
                matches=reading.matches,
            )
        )
    if parameter.pattern is not None:
        found.extend(_formed(parameter, reading))
        return found
    if not found and place.before:
        found.extend(_after_same_word(place, reading))
    return found


def _formed(parameter: Parameter, reading: Reading) -> list[Proposal]:
    """The words that match the parameter's pattern, at most _MOST_TRIED of them are compared."""
    if reading.matches is None:
        return []
    found: list[Proposal] = []
    for word in itertools.islice(re.finditer(r"\S+", reading.text), _MOST_TRIED):
        text = word.group().rstrip(".,;:!?")
        start = word.start()
        proposal = _checked(parameter, text, start, start + len(text), 2.0, matches=reading.matches)
        if proposal.problem is None:
            found.append(proposal)
    return found


def _after_same_word(place: Place, reading: Reading) -> list[Proposal]:
    """The words between those that stand around the place in the prompt."""
    words = reading.words
    for at in range(len(words) - 1):
        if words[at].folded != place.before[0] and (
            place.before[0] in STOP_WORDS or stem(words[at].folded) != stem(place.before[0])
        ):
            continue
        last = len(words)
        if place.after:
            stops = [i for i in range(at + 2, len(words)) if words[i].folded == place.after[0]]
            last = stops[0] if stops else last
        start, end = words[at + 1].start, words[last - 1].end
        while start > 0 and not reading.text[start - 1].isspace():
            start -= 1
        text = reading.text[start:end].strip(" \t\"'“”‘’")
        if text and end - start <= 200:
            score = 1.2 + fit(place, words, start, end)
            return [_checked(place.parameter, text, start, end, score)]
    return []
