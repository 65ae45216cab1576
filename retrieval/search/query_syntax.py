"""The query language, for queries with conditions.

``"exact words"``, ``-word``, ``-"words"``, ``title:word``, ``source:name``, ``topic:name``,
``before:date`` and ``after:date``; a backslash makes a quote, a minus or a colon plain text. What
cannot be a condition is text: a field without a value, a negative number (but not ``-5G``, a word),
``before:`` with a word.
Only a request with ``syntax: query`` uses this language. In a plain query, for example a tweet,
quotes and colons are text.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import date, timedelta
from typing import NamedTuple

from msgspec.structs import replace

from ...core.domain import Filter
from ...core.errors import QueryError
from ...core.folding import folded_value
from ..filters import first_day, last_day, narrow
from .options import DEFAULT_SEARCH, Search

PLAIN, QUERY = "plain", "query"
SYNTAXES = (PLAIN, QUERY)
_FIELDS = ("title", "source", "topic", "before", "after")
# A number with a word, such as 10mg; 1e-5 is a number.
_NUMBER_AND_WORD = re.compile(r"\d[\d.,]*(?![eE][-+]?\d+\Z)[^\W\d_]")
_ESCAPED = re.compile(r'\\([\\":-])')
_HIDDEN = {'"': "\ue010", "-": "\ue011", ":": "\ue012", "\\": "\ue013"}
_SHOWN = str.maketrans({hidden: mark for mark, hidden in _HIDDEN.items()})
_ESCAPES = str.maketrans({hidden: f"\\{mark}" for mark, hidden in _HIDDEN.items()})
# A mark in a phrase that would have a meaning without the quotes.
_LOOSE = re.compile(r"(?<!\S)-|:")
_QUOTES = dict.fromkeys("\u201c\u201d\u201e\u201f\u00ab\u00bb\uff02\u300c\u300d\u300e\u300f", '"')
_MARKS = str.maketrans({**_QUOTES, "\uff0d": "-", "\uff1a": ":"})
_MINUS, _FIELD = r"[-\u2212\u2013]?", "|".join(_FIELDS)
_AFTER = ",;.!?)]}…،؛؟、。，；！？）］｝"  # the punctuation that may follow a word
_APART = "،؛؟、。，；！？"  # the punctuation that ends a word without a space
_PART = re.compile(
    rf'(?:(?<!\S)|(?<=[(\[{{¿¡（［｛])|(?<=[,;|/{_APART}])(?={_MINUS}(?:(?:{_FIELD}):)?"))({_MINUS})(?:({_FIELD}):)?'
    rf'(?:"([^"]*)"|([^\s"(\[{{¿¡（［｛{_APART}][^\s"{_APART}]*)(?=[\s{_APART}]|\Z))',
    re.IGNORECASE,
)
"""A part of a query: a minus or a longer dash if any, a field if any, and quoted words or one word.

A closing quote always ends the part. The part may follow an opening bracket. A quoted part may also
follow a comma or a slash.
"""


class ParsedQuery(NamedTuple):
    """A parsed query: the text to rank by, and the other conditions on a passage.

    ``search`` is the search with these conditions in its filter. ``condition`` is a filter of these
    conditions alone: it applies to every facet. ``before`` and ``after`` are the dates as typed.
    """

    text: str
    phrases: tuple[str, ...]
    without: tuple[str, ...]
    title: tuple[str, ...]
    source: tuple[str, ...]
    topic: tuple[str, ...]
    before: str
    after: str
    search: Search
    condition: Filter | None

    def as_json(self) -> dict[str, str | tuple[str, ...]]:
        """Return the parsed query for a client."""
        inner = ("search", "condition")
        return {name: value for name, value in self._asdict().items() if name not in inner}


def parse_query(
    query: str, search: Search = DEFAULT_SEARCH, *, undated: bool = False
) -> ParsedQuery:
    """Parse a query in the query language; the caller searches for the result's ``text`` with its
    ``search``.

    If ``undated`` is true, here or in the filter of ``search``, ``before:`` and ``after:`` keep
    undated documents.

    Raises QueryError if the query excludes something other than words, if a date is invalid or
    appears twice, or if the filters of ``search`` and the query together admit nothing.
    """
    parts: dict[str, list[str]] = {name: [] for name in ("phrases", "without", *_FIELDS)}
    hidden, texts, end = _hide_escaped(query), list[str](), 0
    for match in _PART.finditer(hidden):
        condition = _condition(match)
        if condition is None:
            continue
        kind, value = condition
        if match[1] and kind in _FIELDS:
            remedy = f"write \\-{kind} for the word"
            raise QueryError(f"-{kind}: only words and phrases can be excluded", remedy=remedy)
        parts[kind].append(value)
        before = hidden[end : match.start()]
        texts += [before, value] if kind == "phrases" else [before.rstrip("([{¿¡（［｛")]
        end = match.end()
        while kind != "phrases" and hidden[end : end + 1] in tuple(_AFTER):
            end += 1  # this punctuation belonged to the condition
    texts.append(hidden[end:])
    for name in ("before", "after"):
        if len(parts[name]) > 1:
            raise QueryError(f"{name}: is given {len(parts[name])} times; give it once")
    base = search.where or Filter()
    base = base._replace(undated=undated or base.undated)
    where = _where(parts)
    text = " ".join("".join(texts).translate(_SHOWN).split())
    before, after = ("".join(parts[name]) for name in ("before", "after"))
    return ParsedQuery(
        text,
        where.phrases,
        where.without,
        where.title,
        where.source,
        where.topic,
        before,
        after,
        replace(search, where=narrow(base, where)),
        narrow(Filter(undated=base.undated), where),
    )


class QueryPart(NamedTuple):
    """A condition of a query, and the ``rest``: the query without it.

    The ``rest`` keeps the words of a phrase as text.

    ``kind`` is a field, ``phrases`` or ``without``.
    """

    kind: str
    value: str
    rest: str


def query_parts(query: str, most: int | None = None) -> list[QueryPart]:
    """Return the conditions of a query, in their order, even if they contradict each other.

    ``most`` is the maximum number of conditions to return. Each condition has its own ``rest``.
    """
    hidden = " ".join(_hide_escaped(query).split())
    matches = list(_PART.finditer(hidden))
    marked = {place for match in matches for place in range(*match.span())}
    conditions = [
        (match, condition) for match in matches if (condition := _condition(match)) is not None
    ]
    return [
        QueryPart(kind, value, _rest(hidden, match, match[3] if kind == "phrases" else "", marked))
        for match, (kind, value) in conditions[:most]
    ]


def _rest(query: str, match: re.Match[str], words: str, marked: Collection[int]) -> str:
    """Return a query, whose escaped marks are hidden, with ``words`` instead of one of its
    conditions.

    Characters attached to the condition remain text; ``marked`` are the positions of all parts.
    """
    first, last = query.rfind(" ", 0, match.start()) + 1, query.find(" ", match.end())
    glued = set(range(first, len(query) if last < 0 else last)).difference(marked)
    kept = [_HIDDEN.get(mark, mark) if place in glued else mark for place, mark in enumerate(query)]
    kept[match.start() : match.end()] = _LOOSE.sub(lambda mark: _HIDDEN[mark[0]], words)
    return " ".join("".join(kept).translate(_ESCAPES).split())


def _condition(match: re.Match[str]) -> tuple[str, str] | None:
    """Return the kind and the value of a matched condition; None if it is text."""
    minus, field, quoted, bare = match.groups()
    value = " ".join((quoted if quoted is not None else bare).translate(_SHOWN).split())
    if not any(map(str.isalnum, value)):
        return None
    if field:
        field = field.lower()
        value = value if quoted is not None else value.rstrip(_AFTER)
        return None if field in ("before", "after") and not value[0].isdigit() else (field, value)
    if minus:
        value = value if quoted is not None else value.rstrip(_AFTER)
        if quoted is None and value[0].isdigit():
            # Longer dashes are signs of numbers or of ranges.
            is_word = minus == "-" and _NUMBER_AND_WORD.match(value)
            return ("without", value) if is_word else None
        return ("without", value)
    return ("phrases", value) if quoted is not None else None


def _hide_escaped(query: str) -> str:
    """Return a query with private characters instead of the escaped marks."""
    return _ESCAPED.sub(lambda escaped: _HIDDEN[escaped[1]], query.translate(_MARKS))


def _where(parts: dict[str, list[str]]) -> Filter:
    """Return the filter of a query's parts; it excludes the days of ``before`` and ``after``
    themselves.
    """
    before, after = "".join(parts["before"]), "".join(parts["after"])
    as_of = since = ""
    if before:
        as_of = _day_from(first_day(before, "before:"), -1)
    if after:
        first_day(after, "after:")
        since = _day_from(last_day(after), 1)
    phrases, without, title = (
        tuple(dict.fromkeys(parts[name])) for name in ("phrases", "without", "title")
    )
    source, topic = (
        tuple(sorted(set(map(folded_value, parts[name])))) for name in ("source", "topic")
    )
    return Filter(
        topic=topic,
        source=source,
        as_of=as_of,
        since=since,
        phrases=phrases,
        without=without,
        title=title,
    )


def _day_from(day: str, days: int) -> str:
    try:
        return (date.fromisoformat(day) + timedelta(days=days)).isoformat()
    except OverflowError:
        raise QueryError(f"there is no day {'after' if days > 0 else 'before'} {day}") from None
