"""Filters of documents: parse them, write the tokens by which Lucene filters, and apply filters to
single documents.
"""

from __future__ import annotations

import calendar
import hashlib
import re
from collections.abc import Iterable, Sequence
from datetime import date
from functools import lru_cache, partial
from itertools import product
from typing import Any
from urllib.parse import quote

from ..core.domain import Document, Filter
from ..core.errors import QueryError
from ..core.folding import fold, folded_value
from ..core.languages import language_code
from ..core.text import refuse_text
from .lucene.analysis import LETTER, Analysis, fold_words, other_spellings, parts_of, words_of

FIELDS = ("topic", "source", "language", "kind")
# The prefix of declared fields' tokens; tokens of built-in fields have no prefix.
METADATA = "metadata"
RESERVED = (*FIELDS, "date", "id", "year", "as_of", "since", "undated")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
# The maximum length of a value in a filter token: Lucene refuses tokens of more than 32,766 bytes.
MOST_CHARS = 8_000
_SAFE = re.compile(r"[A-Za-z0-9_.~:-]*")  # unreserved characters, and colons
_LETTERS = re.compile(f"((?:{LETTER.pattern})+)")
_SURROGATE = re.compile("[\ud800-\udfff]")
_DATE = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d))?)?", re.ASCII)


def field_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names of declared fields, sorted, each once.

    Raises QueryError if one is invalid or reserved.
    """
    for name in names:
        if not _NAME.fullmatch(name):
            remedy = "use up to 64 letters, digits, '_' and '-', and do not start with a digit"
            raise QueryError(f"{name[:80]!r} cannot name a field", remedy=remedy)
        if name in RESERVED:
            raise QueryError(
                f"the field {name!r} already exists", remedy="declare only metadata fields"
            )
    return tuple(sorted(set(names)))


def metadata_values(value: object) -> list[str]:
    """Return the filter values of a metadata value.

    It may be a text, a whole number, a Boolean, or a list of these.
    """
    values = value if isinstance(value, list) else [value]
    values = [
        int(each) if isinstance(each, float) and each.is_integer() else each for each in values
    ]
    values = [each for each in values if isinstance(each, (str, int))]
    texts = (
        str(each).lower() if isinstance(each, bool) else folded_value(str(each)) for each in values
    )
    return list(dict.fromkeys(filter(None, texts)))


def refuse_texts(where: Filter) -> None:
    """Raise TypeError if ``where`` is no filter, or a field of it is not a tuple of texts."""
    if not isinstance(where, Filter):
        raise TypeError(f"where is {where!r}, not a Filter; give factseek.Filter(topic=('…',))")
    fields = [
        (name, getattr(where, name))
        for name in (*FIELDS, "phrases", "without", "title", "excluded")
    ]
    for name, values in (*fields, *where.metadata):
        if not isinstance(values, tuple) or not all(isinstance(value, str) for value in values):
            several = tuple(map(str, values if isinstance(values, list | tuple) else [values]))
            raise TypeError(f"{name} is not a tuple of texts; give {several[:10]}")


def parse_filter(
    pairs: Iterable[str] = (),
    *,
    as_of: str = "",
    since: str = "",
    undated: bool = False,
    declared: Sequence[str] = (),
) -> Filter | None:
    """Return the filter of ``field=value`` pairs and date bounds; None if there are none.

    Values of one field are alternatives; several fields must all match. ``fra`` and ``French`` mean
    ``fr``. ``declared`` names the index's metadata fields. Raises QueryError if a field is unknown,
    a value is invalid, or the date bounds admit no day.
    """
    refuse_text("pairs", pairs)
    first, last = days_of(since, as_of)
    if last and first > last:
        raise QueryError(
            f"the first day {since!r} is later than the last day {as_of!r}: no day lies between "
            "them"
        )
    values: dict[str, list[str]] = {}
    known = (*FIELDS, *declared)
    for pair in pairs:
        name, separator, value = pair.partition("=")
        remedy = f"the fields are {', '.join(known)}"
        if not separator or not value:
            raise QueryError(f"filter {pair!r} is not of the form field=value", remedy=remedy)
        if name not in known:
            raise QueryError(f"filter {pair!r}: there is no field {name!r}", remedy=remedy)
        if _SURROGATE.search(value):
            raise QueryError(f"filter {pair!r} is not UTF-8 text")
        if name == "language":
            value = language_code(value) or value
        values.setdefault(name, []).append(folded_value(value))
    admitted = {name: tuple(sorted(set(several))) for name, several in values.items()}
    where = Filter(
        **{name: several for name, several in admitted.items() if name in FIELDS},
        metadata=tuple(
            sorted((name, several) for name, several in admitted.items() if name not in FIELDS)
        ),
        as_of=last,
        since=first,
        undated=undated,
    )
    return where if where._replace(undated=False) != Filter() else None


class DateError(QueryError):
    """A date bound is invalid; ``unnamed`` is the message without the name of the field."""

    def __init__(self, name: str, value: str) -> None:
        """Make the message from the name of the field and the value."""
        self.unnamed = f"{value!r} is not a date of the form 2020-03-01, 2020-03 or 2020"
        super().__init__(f"{name} {self.unnamed}")


@lru_cache(maxsize=64)
def days_of(since: str, as_of: str) -> tuple[str, str]:
    """Return the first and the last day of date bounds, ``""`` for no bound; each may be a day, a
    month or a year.

    Raises QueryError if a bound is not a date.
    """
    return first_day(since, "since") if since else "", bound(as_of, "as-of") if as_of else ""


def bound(value: str, name: str) -> str:
    """Return the last day of ``value`` (a day, a month or a year).

    Raises QueryError if it is not a date.
    """
    day = last_day(value)
    if not day:
        raise DateError(name, value)
    return day


def last_day(value: str) -> str:
    """Return the last day of a full or partial ISO date, or ``""`` if it is not a date."""
    match = _DATE.fullmatch(value)
    if not match:
        return ""
    year, month = int(match[1]), int(match[2] or 12)
    try:
        day = int(match[3]) if match[3] else calendar.monthrange(year, month)[1]
        return date(year, month, day).isoformat()
    except (ValueError, calendar.IllegalMonthError):
        return ""


def first_day(value: str, name: str) -> str:
    """Return the first day of ``value``.

    Raises QueryError, with ``name`` as the field, if it is not a date.
    """
    bound(value, name)
    return (value + "-01-01")[:10] if len(value) < 10 else value


def narrow(where: Filter | None, further: Filter) -> Filter | None:
    """Return the filter that admits what both filters admit, None if both admit everything.

    Raises QueryError if no document can pass both filters.
    """
    where = where or Filter()
    values: dict[str, Any] = {
        name: _common(name, getattr(where, name), getattr(further, name)) for name in FIELDS
    }
    days = [days_of(each.since, each.as_of) for each in (where, further)]
    as_of = min(filter(None, (last for _, last in days)), default="")
    since = max(first for first, _ in days)
    if as_of and since > as_of:
        raise QueryError(f"from {since} to {as_of} there is no day, so nothing can match")
    metadata = dict(where.metadata)
    for name, admitted in further.metadata:
        metadata[name] = _common(name, metadata.get(name, ()), admitted)
    both = where._replace(
        **values,
        metadata=tuple(sorted(metadata.items())),
        as_of=as_of,
        since=since,
        phrases=where.phrases + further.phrases,
        without=where.without + further.without,
        title=where.title + further.title,
        excluded=tuple(sorted({*where.excluded, *further.excluded})),
    )
    return both if both._replace(undated=False) != Filter() else None


def _common(name: str, first: tuple[str, ...], second: tuple[str, ...]) -> tuple[str, ...]:
    if not (first and second):
        return first or second
    if common := tuple(value for value in first if value in second):
        return common
    raise QueryError(
        f"{name} {', '.join(first)} and {', '.join(second)} exclude each other: nothing can match"
    )


def tokens(
    document: Document, kind: str, segment: str, analysis: Analysis, declared: Sequence[str] = ()
) -> str:
    """Return a document's tokens for filters and deletions in Lucene, separated by spaces."""
    shared = _join_tokens(kind, document.topic, document.source, document.language, document.date)
    pairs = (
        (name, value) for name in declared for value in metadata_values(document.metadata.get(name))
    )
    own = (token(f"{METADATA}.{name}", value) for name, value in pairs)
    titles = list[str]()
    if document.title:  # most of the passages of some collections have none
        titles = title_tokens(document.title, analysis, by_letters=True)
        for spelling in other_spellings(analysis, document.title):
            titles += title_tokens(spelling, analysis)
    return " ".join((token("id", f"{segment}:{document.docid}"), shared, *titles, *own))


def title_choices(words: str, analysis: Analysis) -> list[tuple[str, ...]]:
    """Return search tokens for words that a title must contain: one of each choice, so that it
    contains each word in one of its spellings.
    """
    if not other_spellings(analysis, words):
        return [(name,) for name in title_tokens(words, analysis)]
    choices = list[tuple[str, ...]]()
    for word in words_of(fold(words)):
        spelled = (word, *other_spellings(analysis, word))
        choices += product(*(title_tokens(each, analysis) for each in spelled))
    return [tuple(dict.fromkeys(names)) for names in choices]


def title_tokens(title: str, analysis: Analysis, *, by_letters: bool = False) -> list[str]:
    """Return the search tokens of a title's words; in scripts without spaces they are letters or
    pairs of letters.

    ``by_letters`` adds tokens of the index alone: single letters and parts of words.
    """
    # Turkish: I without a dot is ı in lower case.
    form = fold_words(analysis, title).replace("İ", "i").replace("ı", "i").casefold()
    words = {*words_of(form), *(parts_of(form).split() if by_letters else ())}
    for word in () if form.isascii() else [word for word in words if not word.isascii()]:
        words.remove(word)
        for run in _LETTERS.split(word):
            if not _LETTERS.fullmatch(run):
                words.add(run)
                continue
            if by_letters or len(run) == 1:
                words.update(run)
            words.update(run[at : at + 2] for at in range(len(run) - 1))
    words.discard("")
    return list(map(_title_token, sorted(words)))


@lru_cache(maxsize=1_000)
def _join_tokens(kind: str, topic: str, source: str, language: str, dated: str) -> str:
    fields = {
        "kind": kind,
        "topic": topic,
        "source": source,
        "language": language,
        "date": last_day(dated),
    }
    return " ".join(token(name, value) for name, value in fields.items())


def token(name: str, value: str) -> str:
    """Return a filter token: the field and its percent-encoded value, or the SHA-256 of a value
    that is too long.
    """
    quoted = value.replace(":", "%3A") if _SAFE.fullmatch(value) else quote(value, safe="")
    return (
        f"{name}={quoted}"
        if len(quoted) <= MOST_CHARS
        else f"{name}=#{hashlib.sha256(quoted.encode()).hexdigest()}"
    )


_title_token = lru_cache(maxsize=20_000)(partial(token, "title"))


def matches(where: Filter, document: Document, kind: str) -> bool:
    """Return whether a document passes the filter's conditions on documents; Lucene must give the
    same result.
    """
    have = {name: metadata_values(document.metadata.get(name)) for name, _ in where.metadata}
    have |= {
        "topic": [document.topic],
        "source": [document.source],
        "language": [document.language],
        "kind": [kind],
    }
    if document.docid in where.excluded:
        return False
    if any(set(admitted).isdisjoint(have[name]) for name, admitted in where.values()):
        return False
    first, until = days_of(where.since, where.as_of)
    day = last_day(document.date)
    if not day and (first or until):
        return where.undated
    return first <= day and (not until or day <= until)
