"""Finds the dates and stretches of time that a question names, as days."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, cast

from pgask_server.question.calendar import (
    DAY,
    Unit,
    back_from,
    month_of,
    quarter_of,
    unit_around,
    year_of,
)

Direction = Literal["in", "since", "after", "until", "before"]


@dataclass(frozen=True, slots=True)
class Period:
    """A stretch of days [first, last] (both included) that the characters [start, end) name.

    direction: the word before it ("since March"). dated: the year was said, not supposed.
    moment: the time of day where the question names one.
    """

    first: datetime.date
    last: datetime.date
    start: int
    end: int
    unit: Unit
    direction: Direction = "in"
    dated: bool = True
    moment: datetime.time | None = None


_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan",
            "february feb",
            "march mar",
            "april apr",
            "may",
            "june jun",
            "july jul",
            "august aug",
            "september sept sep",
            "october oct",
            "november nov",
            "december dec",
        ),
        1,
    )
    for name in names.split()
}
_WEEKDAYS = {
    name: number
    for number, name in enumerate(
        "monday tuesday wednesday thursday friday saturday sunday".split()
    )
}
_COUNTS = {
    word: count
    for count, word in enumerate(
        "one two three four five six seven eight nine ten eleven twelve".split(), 1
    )
}
_MONTH = rf"(?P<month>{'|'.join(sorted(_MONTHS, key=len, reverse=True))})\.?"
_YEAR = r"(?P<year>(?:19|20)\d\d|2100)"
_DAY = r"(?P<day>0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th)?"
_UNIT = r"(?P<unit>day|week|month|quarter|year)"
_COUNT = rf"(?P<count>\d{{1,4}}|{'|'.join(_COUNTS)})"
_TIME = r"(?:[T ](?P<hour>[01]\d|2[0-3]):(?P<minute>[0-5]\d)(?::(?P<second>[0-5]\d))?)?"
_ORDINAL = r"(?P<ordinal>first|second|third|fourth|1st|2nd|3rd|4th)"
_ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4}
# A year that is none of _YEAR's makes the words before it another year's, which is not supposed.
_NO_YEAR = r"(?!,?\s+(?:of\s+|in\s+)?\d{4}(?![.,]?\w))"
_SHIFTS = {"last": -1, "past": -1, "previous": -1, "this": 0, "current": 0, "next": 1}
_SHIFT = rf"(?P<shift>{'|'.join(_SHIFTS)})"

_Reader = Callable[[re.Match[str], datetime.date], "tuple[datetime.date, datetime.date] | None"]


def _year(match: re.Match[str]) -> int:
    return int(match["year"])


def _full_day(match: re.Match[str], _today: datetime.date) -> tuple[datetime.date, datetime.date]:
    month = match["month"].lower()
    day = datetime.date(_year(match), _MONTHS.get(month) or int(month), int(match["day"]))
    return day, day


def _slashed(
    match: re.Match[str], _today: datetime.date
) -> tuple[datetime.date, datetime.date] | None:
    one, two = int(match["one"]), int(match["two"])
    # 3/4/2025 is March or April, depending on who writes: not to be guessed.
    if one <= 12 and two <= 12 and one != two:
        return None
    month, day = (one, two) if one <= 12 else (two, one)
    found = datetime.date(_year(match), month, day)
    return found, found


def _month_of_year(
    match: re.Match[str], _today: datetime.date
) -> tuple[datetime.date, datetime.date]:
    month = match["month"].lower()
    return month_of(_year(match), _MONTHS.get(month) or int(month))


def _quarter_of_year(
    match: re.Match[str], _today: datetime.date
) -> tuple[datetime.date, datetime.date]:
    return quarter_of(_year(match), int(match["quarter"]))


def _whole_year(match: re.Match[str], _today: datetime.date) -> tuple[datetime.date, datetime.date]:
    return year_of(_year(match))


def _day_of_month(
    match: re.Match[str], today: datetime.date
) -> tuple[datetime.date, datetime.date]:
    month, number = _MONTHS[match["month"].lower()], int(match["day"])
    day = datetime.date(today.year, month, number)
    if day > today:
        day = datetime.date(today.year - 1, month, number)
    return day, day


def _month_alone(match: re.Match[str], today: datetime.date) -> tuple[datetime.date, datetime.date]:
    month = _MONTHS[match["month"].lower()]
    return month_of(today.year - (month > today.month), month)


def _quarter_alone(
    match: re.Match[str], today: datetime.date
) -> tuple[datetime.date, datetime.date]:
    quarter = int(match["quarter"])
    return quarter_of(today.year - (quarter * 3 - 2 > today.month), quarter)


def _ordinal_quarter(
    match: re.Match[str], today: datetime.date
) -> tuple[datetime.date, datetime.date]:
    word = match["ordinal"].lower()
    year = int(match["year"]) if match["year"] else today.year
    return quarter_of(year, _ORDINALS.get(word) or int(word[0]))


def _rolling(match: re.Match[str], today: datetime.date) -> tuple[datetime.date, datetime.date]:
    return back_from(today, _count(match), cast("Unit", match["unit"].lower())), today


def _ago(match: re.Match[str], today: datetime.date) -> tuple[datetime.date, datetime.date]:
    unit = cast("Unit", match["unit"].lower())
    return unit_around(back_from(today, _count(match), unit), unit)


def _shifted(match: re.Match[str], today: datetime.date) -> tuple[datetime.date, datetime.date]:
    unit = cast("Unit", match["unit"].lower())
    return unit_around(today, unit, _SHIFTS[match["shift"].lower()])


def _weekday(match: re.Match[str], today: datetime.date) -> tuple[datetime.date, datetime.date]:
    back = (today.weekday() - _WEEKDAYS[match["weekday"].lower()]) % 7 or 7
    day = today - DAY * back
    return day, day


def _named_day(match: re.Match[str], today: datetime.date) -> tuple[datetime.date, datetime.date]:
    day = today + DAY * {"yesterday": -1, "tomorrow": 1}.get(match.group().lower(), 0)
    return day, day


def _to_date(match: re.Match[str], today: datetime.date) -> tuple[datetime.date, datetime.date]:
    unit = {"y": "year", "m": "month", "q": "quarter", "w": "week"}[match.group()[0].lower()]
    return unit_around(today, cast("Unit", unit))[0], today


def _decade(match: re.Match[str], _today: datetime.date) -> tuple[datetime.date, datetime.date]:
    first = int(match["decade"])
    first += 0 if first >= 1900 else 1900
    return datetime.date(first, 1, 1), datetime.date(first + 9, 12, 31)


def _count(match: re.Match[str]) -> int:
    word = match["count"].lower()
    return _COUNTS.get(word) or int(word)


# In order: what stands earlier takes its characters from what stands later.
_WRITTEN: tuple[tuple[str, _Reader, Unit, bool], ...] = (
    (rf"{_YEAR}-(?P<month>\d\d)-(?P<day>\d\d){_TIME}", _full_day, "day", True),
    (rf"{_YEAR}/(?P<month>\d\d)/(?P<day>\d\d)", _full_day, "day", True),
    (rf"(?P<day>\d\d?)\.(?P<month>\d\d?)\.{_YEAR}", _full_day, "day", True),
    (rf"(?P<one>\d\d?)/(?P<two>\d\d?)/{_YEAR}", _slashed, "day", True),
    (rf"{_DAY}(?:\s+of)?\s+{_MONTH},?\s+{_YEAR}", _full_day, "day", True),
    (rf"{_MONTH}\s+(?:the\s+)?{_DAY},?\s+{_YEAR}", _full_day, "day", True),
    (
        rf"{_MONTH}(?:\s+of)?,?\s+{_YEAR}",
        _month_of_year,
        "month",
        True,
    ),
    (
        rf"{_YEAR}-(?P<month>0[1-9]|1[0-2])",
        _month_of_year,
        "month",
        True,
    ),
    (
        rf"q(?P<quarter>[1-4])(?:\s+of)?[\s/-]*{_YEAR}",
        _quarter_of_year,
        "quarter",
        True,
    ),
    (
        rf"{_YEAR}[\s/-]*q(?P<quarter>[1-4])",
        _quarter_of_year,
        "quarter",
        True,
    ),
    (
        rf"{_ORDINAL}\s+quarter(?:\s+(?:of\s+|in\s+)?{_YEAR})?{_NO_YEAR}",
        _ordinal_quarter,
        "quarter",
        True,
    ),
    (rf"{_DAY}(?:\s+of)?\s+{_MONTH}{_NO_YEAR}", _day_of_month, "day", False),
    (rf"{_MONTH}\s+(?:the\s+)?{_DAY}{_NO_YEAR}", _day_of_month, "day", False),
    (rf"q(?P<quarter>[1-4]){_NO_YEAR}", _quarter_alone, "quarter", False),
    (rf"(?:the\s+)?(?:last|past|previous)\s+{_COUNT}\s+{_UNIT}s", _rolling, "range", True),
    (rf"{_COUNT}\s+{_UNIT}s?\s+ago", _ago, "day", True),
    (rf"(?:the\s+)?{_SHIFT}\s+{_UNIT}", _shifted, "range", True),
    (
        rf"(?:(?:last|on|since|until|past)\s+)(?P<weekday>{'|'.join(_WEEKDAYS)})",
        _weekday,
        "day",
        True,
    ),
    (r"today|yesterday|tomorrow|now", _named_day, "day", True),
    (r"(?:year|month|quarter|week)[\s-]to[\s-]date|ytd|mtd|qtd", _to_date, "range", True),
    (r"(?:the\s+)?(?P<decade>(?:19|20)\d0)['’]?s", _decade, "decade", True),
    (r"(?:the\s+)?['’]?(?P<decade>[2-9]0)['’]?s", _decade, "decade", True),
    (_YEAR, _whole_year, "year", True),
    (rf"{_MONTH}{_NO_YEAR}", _month_alone, "month", False),
)
_FORMS: tuple[tuple[re.Pattern[str], _Reader, Unit, bool], ...] = tuple(
    (re.compile(rf"(?<![\w.,/-])(?:{pattern})(?![\w/])(?!-\d)", re.IGNORECASE), reader, unit, dated)
    for pattern, reader, unit, dated in _WRITTEN
)
_WEAK_MONTHS = frozenset({"may", "march", "mar", "jan", "jun", "sep", "dec", "oct", "apr", "aug"})
_BEFORE_MONTH = re.compile(
    r"(?:\b(?:in|since|until|till|of|from|to|and|for|during|through|before|after|by|between|"
    r"last|this|next|early|late|mid)\s+|[-–—]\s*)\Z",
    re.IGNORECASE,
)
_DIRECTION_WORDS: tuple[tuple[str, Direction], ...] = (
    (r"since|starting(?:\s+in|\s+on)?|from", "since"),
    (r"after|later\s+than|newer\s+than", "after"),
    (r"until|till|up\s+to|by|to|through|thru", "until"),
    (r"before|earlier\s+than|older\s+than|prior\s+to", "before"),
)
_DIRECTIONS: tuple[tuple[re.Pattern[str], Direction], ...] = tuple(
    (re.compile(rf"\b(?:{words})\s+(?:the\s+)?\Z", re.IGNORECASE), direction)
    for words, direction in _DIRECTION_WORDS
)
_JOINED = re.compile(r"\s*(?:[-–—]|to|until|till|through|thru|and)\s*(?:the\s+)?\Z", re.IGNORECASE)
_BETWEEN = re.compile(r"\b(?:between|from|since)\s+(?:the\s+)?\Z", re.IGNORECASE)
_HINT = re.compile(
    r"\d|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|today|yesterday|tomorrow|now|last|"
    r"past|previous|this|current|next|ago|quarter|ytd|mtd|qtd|to.date|mon|tue|wed|thu|fri|sat|sun)",
    re.IGNORECASE,
)


def find_periods(question: str, today: datetime.date) -> tuple[Period, ...]:
    """The periods of `question` in order of appearance; two joined ones are one range."""
    if _HINT.search(question) is None:
        return ()
    found: list[Period] = []
    for pattern, reader, unit, dated in _FORMS:
        for match in pattern.finditer(question):
            if any(match.start() < p.end and p.start < match.end() for p in found):
                continue
            if reader is _month_alone and not _is_month(question, match):
                continue
            try:
                days = reader(match, today)
            except (ValueError, OverflowError):
                continue
            if days is not None:
                found.append(
                    Period(
                        *days,
                        match.start(),
                        match.end(),
                        _unit(match, unit),
                        "in",
                        dated,
                        _moment(match),
                    )
                )
    found.sort(key=lambda period: period.start)
    return tuple(_join(question, [_directed(question, period) for period in found]))


def _is_month(question: str, match: re.Match[str]) -> bool:
    """Whether a lone name of a month is meant as one: "may" seldom is."""
    if match["month"].lower() not in _WEAK_MONTHS:
        return True
    return _BEFORE_MONTH.search(question[: match.start()]) is not None


def _unit(match: re.Match[str], unit: Unit) -> Unit:
    """The calendar unit of "last month", which its form calls a range."""
    groups = match.groupdict()
    if unit == "range" and groups.get("shift") is not None:
        return cast("Unit", groups["unit"].lower())
    if groups.get("count") is not None and unit == "day":
        return cast("Unit", groups["unit"].lower())
    return unit


def _moment(match: re.Match[str]) -> datetime.time | None:
    groups = match.groupdict()
    if groups.get("hour") is None:
        return None
    return datetime.time(int(groups["hour"]), int(groups["minute"]), int(groups["second"] or 0))


def _directed(question: str, period: Period) -> Period:
    before = question[max(0, period.start - 24) : period.start]
    for pattern, direction in _DIRECTIONS:
        if pattern.search(before):
            return replace(period, direction=direction)
    return period


def _join(question: str, periods: list[Period]) -> list[Period]:
    """`periods` with each "from A to B", "between A and B", "A - B" as one."""
    joined: list[Period] = []
    for period in periods:
        if joined:
            former = joined[-1]
            between = question[former.end : period.start]
            opened = _BETWEEN.search(question[max(0, former.start - 16) : former.start])
            # "in 2023 and 2024" names two years; only "between" makes "and" a range.
            plain_and = between.strip().lower() == "and" and opened is None
            if former.unit != "range" and _JOINED.fullmatch(between) and not plain_and:
                first = former.first
                if not former.dated and period.dated:
                    first = _in_year(former, period)
                if first <= period.last:
                    joined[-1] = Period(first, period.last, former.start, period.end, "range")
                    continue
        joined.append(period)
    return joined


def _in_year(former: Period, period: Period) -> datetime.date:
    """The start of `former`, whose year was left out, in the year of `period` or the one before."""
    year = period.last.year
    first = _moved(former.first, year)
    return first if first <= period.last else _moved(former.first, year - 1)


def _moved(day: datetime.date, year: int) -> datetime.date:
    """The same day of another year; 29 February is the 28th where there is none."""
    try:
        return day.replace(year=year)
    except ValueError:
        return day.replace(year=year, day=28)
