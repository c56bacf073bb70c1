"""Spans of days: weeks, months, quarters and years around a day."""

from __future__ import annotations

import datetime
from typing import Literal

Unit = Literal["day", "week", "month", "quarter", "year", "decade", "range"]

DAY = datetime.timedelta(days=1)
FIRST_YEAR = 1900
LAST_YEAR = 2100


def month_of(year: int, month: int) -> tuple[datetime.date, datetime.date]:
    """The first and the last day of a month."""
    first = datetime.date(year, month, 1)
    following = datetime.date(year + month // 12, month % 12 + 1, 1)
    return first, following - DAY


def quarter_of(year: int, quarter: int) -> tuple[datetime.date, datetime.date]:
    """The first and the last day of a quarter, 1 to 4."""
    return month_of(year, quarter * 3 - 2)[0], month_of(year, quarter * 3)[1]


def year_of(year: int) -> tuple[datetime.date, datetime.date]:
    """The first and the last day of a year."""
    return datetime.date(year, 1, 1), datetime.date(year, 12, 31)


def shifted_month(day: datetime.date, months: int) -> tuple[int, int]:
    """The year and month that lie `months` after that of `day`."""
    index = day.year * 12 + day.month - 1 + months
    return index // 12, index % 12 + 1


def unit_around(
    day: datetime.date, unit: Unit, shift: int = 0
) -> tuple[datetime.date, datetime.date]:
    """First and last day of the calendar unit that lies `shift` units after that of `day`."""
    match unit:
        case "week":
            first = day - DAY * day.weekday() + DAY * 7 * shift
            return first, first + DAY * 6
        case "month":
            return month_of(*shifted_month(day, shift))
        case "quarter":
            year, month = shifted_month(day, 3 * shift)
            return quarter_of(year, (month + 2) // 3)
        case "year":
            return year_of(day.year + shift)
        case _:
            first = day + DAY * shift
            return first, first


def back_from(day: datetime.date, count: int, unit: Unit) -> datetime.date:
    """The day that lies `count` units before `day`."""
    if unit in ("day", "week"):
        return day - DAY * (count * 7 if unit == "week" else count)
    months = {"month": 1, "quarter": 3, "year": 12}[unit] * count
    year, month = shifted_month(day, -months)
    last = month_of(year, month)[1].day
    return datetime.date(year, month, min(day.day, last))
