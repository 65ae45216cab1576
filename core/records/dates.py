"""Convert dates as people and programs write them to ISO 8601: one function for files, pages and
requests.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from datetime import UTC, date, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from typing import Literal

Order = Literal["", "day-first", "month-first", "either"]
"""Which of the two numbers before the year is the day: ``either`` if unclear, ``""`` if it does not
matter.
"""
ORDERS: tuple[Order, ...] = ("day-first", "month-first")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NAME = rf"(?P<month>{'|'.join(_MONTHS)})[a-z]*\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_CLOCK = re.compile(
    r"(?:,|T| at)? ?\d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?(?: ?[ap]\.?m\.?)?(?: "
    r"(?:[A-Z]{1,4}|[+-]\d\d:?\d\d))?$",
    re.I,
)
_ISO = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:?\d\d(?::?\d\d(?:[.,]\d+)?)?(?: ?(?:Z|[+-]\d\d(?::?\d\d)?))?",
    re.I | re.A,
)
_BASIC = re.compile(r"(\d{8})(?:T(\d{4}(?:\d\d)?)|(\d{6}))(Z|[+-]\d\d:?\d\d)?", re.I | re.A)
_MAIL = re.compile(
    r"(?:[a-z]{3,9}, )?(\d{1,2} [a-z]{3} \d{4} \d\d:\d\d(?::\d\d)? (?:[+-]\d{4}|[a-z]{1,5}))(?: "
    r"\([a-z]+\))?",
    re.I | re.A,
)
_TWITTER = re.compile(
    r"[a-z]{3} ([a-z]{3}) (\d{1,2}) (\d\d:\d\d:\d\d) (?:([+-]\d{4}|[a-z]{3,4}) )?(\d{4})",
    re.I | re.A,
)
_PARTED = re.compile(
    r"(?P<first>\d{1,2})(?P<mark>[/-])(?P<second>\d{1,2})(?P=mark)(?P<year>\d{4}|\d\d)", re.A
)
_PATTERNS = tuple(
    re.compile(pattern, re.I | re.A)
    for pattern in (
        r"(?P<year>\d{4})",
        r"(?P<year>\d{4})(?P<mark>[-/.])(?P<number>\d{1,2})(?:(?P=mark)(?P<day>\d{1,2}))?",
        r"(?P<year>[12]\d{3})(?P<number>\d\d)(?P<day>\d\d)",
        rf"(?P<year>\d{{4}}) (?:[a-z]{{3,9}}-)?{_NAME}(?: {_DAY})?",
        r"(?P<year>\d{4}) (?:winter|spring|summer|autumn|fall)",
        rf"(?:[a-z]+,? )?{_NAME} {_DAY},? (?P<year>\d{{4}})",
        rf"(?:[a-z]+,? )?{_DAY}(?:[ -]| of ){_NAME}[ ,-]+(?P<year>\d{{4}}|\d\d)",
        rf"{_NAME},? (?P<year>\d{{4}})",
        r"(?P<year>\d{4})年(?P<number>\d{1,2})月(?:(?P<day>\d{1,2})日)?",
        r"(?P<day>\d{1,2})\. ?(?P<number>\d{1,2})\. ?(?P<year>\d{4}|\d\d)",
    )
)
_LANGUAGES = (
    "ar",
    "ar_SY",
    "bg",
    "de",
    "el",
    "es",
    "fr",
    "it",
    "nl",
    "pl",
    "pt",
    "ru",
    "sv",
    "tr",
    "uk",
)
"""The languages whose names of months are read in addition to English ones."""
_OF = r"(?: de| del)?"
_WORD = r"(?P<month>[^\W\d_]{2,}(?: [^\W\d_]+)??)"
_IN_WORDS = tuple(
    re.compile(pattern)
    for pattern in (
        (
            rf"(?:[^\W\d_]+,? )?(?P<day>\d{{1,2}})(?:er|º|ο|\.)?{_OF} {_WORD}\.?,?{_OF} "
            rf"(?P<year>\d{{4}})(?: ?г\.?| р\.?)?"
        ),
        rf"{_WORD}\.?,?{_OF} (?P<year>\d{{4}})(?: ?г\.?| р\.?)?",
    )
)


@cache
def _month_names() -> dict[str, int]:
    """Return the number of each month's name in :data:`_LANGUAGES`, without names that mean two
    months.
    """
    from babel.dates import get_month_names

    numbers = defaultdict[str, set[int]](set)
    for language in _LANGUAGES:
        for width in ("wide", "abbreviated"):
            for context in ("format", "stand-alone"):
                for number, name in get_month_names(width, context, language).items():
                    numbers[_plain(name)].add(number)
    return {name: found.pop() for name, found in numbers.items() if len(found) == 1}


def _plain(name: str) -> str:
    return name.casefold().strip(". ")


def _month_number(word: str) -> int:
    """Return the number of the month ``word``; three or more unambiguous letters suffice.

    Return 0 if there is none.
    """
    names = _month_names()
    if word in names:
        return names[word]
    numbers = (
        {number for name, number in names.items() if name.startswith(word)}
        if len(word) > 2
        else set()
    )
    return numbers.pop() if len(numbers) == 1 else 0


def clean_date(value: object, order: str = "") -> str:
    """Return a date as ``YYYY``, ``YYYY-MM`` or ``YYYY-MM-DD``, or ``""`` if ``value`` is not a
    date of the calendar.

    It reads ISO 8601 (partial, basic or with a time), RFC 2822 and Twitter dates; the day is that
    in UTC. It also reads PubMed's ``2020 Mar 5`` and ``2020 Mar-Apr`` (the later month), and
    ``5.3.2020``, whose day is first. Months may be named in English and fourteen other languages,
    and digits may be of any script. In ``3/5/2020`` and ``3-5-2020``, ``order`` decides unless one
    number is above 12 or both are equal. ``20-03-05`` always needs ``order``. A two-digit year is
    in 1969 to 2068, as in POSIX.
    """
    if not value or isinstance(value, bool) or not isinstance(value, str | int):
        return ""
    text = _with_ascii_digits(" ".join(str(value).split()))
    moment = text if _ISO.fullmatch(text) else ""
    if basic := _BASIC.fullmatch(text):
        moment = f"{basic[1]}T{basic[2] or basic[3]}{basic[4] or ''}"
    elif mail := _MAIL.fullmatch(text):
        moment = mail[1]
    elif tweet := _TWITTER.fullmatch(text):
        moment = f"{tweet[2]} {tweet[1]} {tweet[5]} {tweet[3]} {tweet[4] or 'GMT'}"
    if moment:
        return _utc_day(moment)
    text = _CLOCK.sub("", text)
    if match := _PARTED.fullmatch(text):
        known = order_of(text) or "day-first"
        days = {"day-first": ("first", "second"), "month-first": ("second", "first")}.get(
            order if known == "either" else known
        )
        return (
            _from_parts({"year": match["year"], "number": match[days[1]], "day": match[days[0]]})
            if days
            else ""
        )
    if match := next(filter(None, (pattern.fullmatch(text) for pattern in _PATTERNS)), None):
        return _from_parts(match.groupdict())
    text = text.casefold()
    for match in filter(None, (pattern.fullmatch(text) for pattern in _IN_WORDS)):
        if number := _month_number(_plain(match["month"])):
            return _from_parts(
                {"day": None, **match.groupdict(), "month": None, "number": str(number)}
            )
    return ""


def order_of(text: str) -> Order:
    """Return which number of a date such as ``3/25/2020`` is the day: ``either`` if unclear, ``""``
    if irrelevant.
    """
    text = _with_ascii_digits(text)
    match = _PARTED.fullmatch(_CLOCK.sub("", " ".join(text.split())))
    if match is None:
        return ""
    if match["mark"] == "-" and len(match["year"]) == 2:
        return "either"
    if int(match["first"]) == int(match["second"]):
        return ""
    days = int(match["first"]) > 12, int(match["second"]) > 12
    return {(True, False): "day-first", (False, True): "month-first", (False, False): "either"}.get(
        days, ""
    )  # type: ignore[return-value]


def _with_ascii_digits(text: str) -> str:
    if text.isascii():
        return text
    return "".join(str(unicodedata.digit(each)) if each.isdecimal() else each for each in text)


def _utc_day(written: str) -> str:
    """Return the UTC day of a timestamp; a timestamp without an offset counts as UTC."""
    try:
        if written[:4].isdigit():
            moment = datetime.fromisoformat(re.sub(r" ([Z+-])", r"\1", written.upper()))
        else:
            moment = parsedate_to_datetime(written)
        return (moment if moment.tzinfo is None else moment.astimezone(UTC)).date().isoformat()
    except (ValueError, OverflowError, TypeError):
        return ""


def _from_parts(parts: dict[str, str | None]) -> str:
    name, number, day, year = (
        parts.get("month"),
        parts.get("number"),
        parts.get("day"),
        parts["year"] or "",
    )
    month = str(_MONTHS.index(name.lower()) + 1) if name else number
    if len(year) == 2:
        year = f"{'19' if int(year) >= 69 else '20'}{year}"
    try:
        whole = date(int(year), int(month or 1), int(day or 1)).isoformat()
    except ValueError:
        return ""
    if month is None:
        return whole[:4]
    return whole[:7] if day is None else whole
