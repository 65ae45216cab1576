"""Dates as sources write them, made ISO 8601."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NAME = rf"(?P<month>{'|'.join(_MONTHS)})[a-z]*\.?"

_TIMESTAMP = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:?\d\d(?::?\d\d(?:[.,]\d+)?)?(?: ?(?:Z|[+-]\d\d(?::?\d\d)?))?", re.I | re.A
)
_PATTERNS = tuple(
    re.compile(pattern, re.I | re.A)
    for pattern in (
        r"(?P<year>\d{4})",
        r"(?P<year>\d{4})[-/](?P<number>\d{1,2})(?:[-/](?P<day>\d{1,2}))?",
        rf"(?P<year>\d{{4}}) (?:[a-z]{{3,9}}-)?{_NAME}(?: (?P<day>\d{{1,2}}))?",
        r"(?P<year>\d{4}) (?:winter|spring|summer|autumn|fall)",
        rf"(?:[a-z]+,? )?{_NAME} (?P<day>\d{{1,2}}),? (?P<year>\d{{4}})",
        rf"(?:[a-z]+,? )?(?P<day>\d{{1,2}})[ -]{_NAME}[ ,-]+(?P<year>\d{{4}})",
        r"(?P<day>\d{1,2})\. ?(?P<number>\d{1,2})\. ?(?P<year>\d{4})",
    )
)


def clean_date(value: object) -> str:
    """Return a date as ``YYYY``, ``YYYY-MM`` or ``YYYY-MM-DD``, or ``""`` if ``value`` is none.

    Reads ISO 8601, partial or with a time (which counts in UTC), PubMed's ``2020 Mar 5`` and ``2020 Mar-Apr``
    (the later month), ``March 5, 2020`` or ``5 March 2020``, and ``5.3.2020``: where dots part a date, its day comes
    first. Where slashes do, nobody can tell. A day that the calendar does not have is no date.
    """
    if isinstance(value, bool) or not isinstance(value, str | int):
        return ""
    text = " ".join(str(value).split())
    if _TIMESTAMP.fullmatch(text):
        return _utc_day(text)
    for pattern in _PATTERNS:
        if match := pattern.fullmatch(text):
            return _from_parts(match.groupdict())
    return ""


def _utc_day(timestamp: str) -> str:
    """Return the day in UTC of an ISO timestamp; one without an offset is taken to be in UTC."""
    try:
        moment = datetime.fromisoformat(re.sub(r" ([Z+-])", r"\1", timestamp.upper()))
        return (moment if moment.tzinfo is None else moment.astimezone(UTC)).date().isoformat()
    except (ValueError, OverflowError):
        return ""


def _from_parts(parts: dict[str, str | None]) -> str:
    """Put together year, month and day, as far as they are known; ``""`` if the calendar lacks the day."""
    name, number, day = parts.get("month"), parts.get("number"), parts.get("day")
    month = str(_MONTHS.index(name.lower()) + 1) if name else number
    try:
        whole = date(int(parts["year"] or 0), int(month or 1), int(day or 1)).isoformat()
    except ValueError:
        return ""
    if month is None:
        return whole[:4]
    return whole[:7] if day is None else whole
