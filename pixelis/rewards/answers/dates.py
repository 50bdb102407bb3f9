"""Dates in words: ``October 21st``, ``21 Oct 2021``, ``the 21st of October``, ``2021-10-21``."""

from __future__ import annotations

import re
from typing import NamedTuple

MAX_DATE_LENGTH = 40

_MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july"),
    *("august", "september", "october", "november", "december"),
)
_MONTH_OF = {
    **{name: number for number, name in enumerate(_MONTHS, 1)},
    **{name[:3]: number for number, name in enumerate(_MONTHS, 1)},
    "sept": 9,
}
_ISO = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_DAY = re.compile(r"([0-9]{1,2})(?:st|nd|rd|th)?")
_YEAR = re.compile(r"[0-9]{4}")
_FILLERS = ("of", "the")


class Date(NamedTuple):
    """A day or a month; ``year`` or ``day`` is ``None`` where the text names none."""

    year: int | None
    month: int
    day: int | None


def parse_date(text: str) -> Date | None:
    """Return the date that a text consists of, or ``None``.

    A month's name (or its first three letters) with a day, a year, or both; or ``yyyy-mm-dd``. Dates of
    digits alone, such as 10/11/2021, are not read: what they mean depends on the country. Dates are equal
    when they name the same parts: ``Oct 21`` is not ``Oct 21, 2021``.
    """
    if len(text) > MAX_DATE_LENGTH:
        return None
    text = text.casefold().strip()
    if iso := _ISO.fullmatch(text):
        year, month, day = map(int, iso.groups())
        return _checked(year, month, day)
    words = [word for word in re.split(r"[\s,.]+", text) if word and word not in _FILLERS]
    months = [word for word in words if word in _MONTH_OF]
    if len(months) != 1 or not 2 <= len(words) <= 3 or words.index(months[0]) > 1:
        return None
    rest = [word for word in words if word != months[0]]
    year = int(rest.pop()) if _YEAR.fullmatch(rest[-1]) else None
    day = _DAY.fullmatch(rest[0]) if len(rest) == 1 else None
    if rest and day is None:
        return None
    return _checked(year, _MONTH_OF[months[0]], int(day.group(1)) if day else None)


def _checked(year: int | None, month: int, day: int | None) -> Date | None:
    possible = 1 <= month <= 12 and (day is None or 1 <= day <= 31)
    return Date(year, month, day) if possible else None
