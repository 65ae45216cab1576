"""The facets next to the hits, and the chips of active choices: each links to the state with or without a choice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...retrieval.domain import Total
from ...retrieval.search.federated import INDEX, counts_of_many
from ...retrieval.search.query_syntax import QUERY, query_parts
from .rankings import IndexSearch, kinds_of, labels_of
from .state import DATE, LONGEST_ADDRESS, UNFOLDED, PageState

VALUES, MOST_VALUES = 8, 60
"""Values of a field that are shown at once, and the most that can be opened."""
NAMES = {
    "snippets": "Snippets",
    "webpages": "Web pages",
    "cord19": "Papers",
    "claimreview": "Fact-checks",
    "claims": "Verified claims",
    "fever": "Wikipedia",
    "jsonl": "Documents",
    "trec": "News",
    "beir": "Documents of BEIR",
    "true": "True",
    "mixed": "Mixed",
    "false": "False",
    "unproven": "Unproven",
}
"""The names of kinds of documents, and of verdicts, for people: English texts of the page."""
YEAR = "year"
_FIELDS = ("source", "topic", "language", "kind", YEAR)
_LABELS = {"phrases": "word for word", "without": "leaving out"}
"""The labels of parts of a query; a field's label is its name as typed."""
_NARROWING = frozenset({"query", "since", "as_of", "filter", "stages"})
"""The parameters that are conditions."""
_MOST_PARTS = 50
"""The most conditions of a query that have a chip: each chip contains the rest of the query."""


class FacetEntry(NamedTuple):
    """A value of a field by its name, with its count, and the address that selects it or removes it."""

    name: str
    documents: int
    chosen: bool
    address: str


class FacetBox(NamedTuple):
    """A field with its most frequent values, then those that can be opened; ``more`` further values are not shown."""

    label: str
    entries: list[FacetEntry]
    further: list[FacetEntry]
    more: int


class Chip(NamedTuple):
    """An active choice, and the address without it; the label is an English text of the page.

    ``narrows`` means that it is a condition: without it there may be more hits.
    """

    label: str
    value: str
    address: str
    narrows: bool


def facets_of(each: Sequence[IndexSearch], state: PageState) -> tuple[Total, list[FacetBox]]:
    """Return the number of documents that match a search, and their facets.

    These are the documents that contain a word of the query, according to the first retriever that can tell; else all.
    """
    indexes, searches = {}, {}
    for asked in each:
        index = indexes[asked.served.name] = asked.served.index
        by_each = [
            asked.search._replace(retriever=name, stages=(), collapse="", sort="") for name in kinds_of(asked.served)
        ]
        matching = (search for search in by_each if index.count(asked.text, search).matching)
        searches[asked.served.name] = next(matching, by_each[0])
    own = dict.fromkeys(field for index in indexes.values() for field in index.info.filter_fields)
    counts = counts_of_many(indexes, each[0].text, searches, dict.fromkeys((INDEX, *_FIELDS, *own), MOST_VALUES))
    boxes = []
    for field, facet in counts.facets.items():
        entries = [
            FacetEntry(name_of(field, value), count, *_choice(field, value, state)) for value, count in facet.values
        ]
        if len(entries) > 1 or any(entry.chosen for entry in entries):
            entries.sort(key=lambda entry: not entry.chosen)
            boxes.append(FacetBox(field.replace("_", " "), entries[:VALUES], entries[VALUES:], facet.more))
    return counts.total, boxes


def name_of(field: str, value: str) -> str:
    """Return the name of a field's value for people."""
    return NAMES.get(value, value) if field in ("kind", "verdict") else value


def _choice(field: str, value: str, state: PageState) -> tuple[bool, str]:
    """Return whether a value is chosen, and the address of the opposite choice."""
    if field == INDEX:
        return False, state.address(index=[value])
    if field != YEAR:
        return f"{field}={value}" in state.filter, state.toggled(field, value)
    chosen = _year_of(state) == value
    return chosen, state.address(since="", as_of="") if chosen else state.address(since=value, as_of=value)


def _year_of(state: PageState) -> str:
    """Return the single year to which a state is limited, or ``""``."""
    return state.since if state.since == state.as_of and len(state.since) == 4 else ""


def chips_of(state: PageState) -> list[Chip]:
    """Return the active choices of a state; none if the query is too long for an address."""
    if len(state.query) > LONGEST_ADDRESS:
        return []
    year, several = _year_of(state), len(state.index) > 1
    parts = query_parts(state.query, _MOST_PARTS) if state.syntax == QUERY else ()
    filters = [(pair, *pair.partition("=")[::2]) for pair in dict.fromkeys(state.filter)]
    chips: list[tuple[str, str | None, dict[str, Any]]] = [
        *(("index", name, {"index": _without(name, state.index)}) for name in state.index if several),
        ("more like", state.like or None, {"like": ""}),
        *((_LABELS.get(part.kind, part.kind), part.value, {"query": part.rest or part.value}) for part in parts),
        (YEAR, year or None, {"since": "", "as_of": ""}),
        ("from", None if year else state.since or None, {"since": ""}),
        ("published until", None if year else state.as_of or None, {"as_of": ""}),
        ("undated", "included" if state.undated == "keep" and not year else None, {"undated": ""}),
        *((field, name_of(field, value), {"filter": _without(pair, state.filter)}) for pair, field, value in filters),
        ("read as", "a tweet" if state.profile == "tweet" else None, {"profile": ""}),
        ("ranked by", labels_of(state.retriever)[0] or None, {"retriever": ""}),
        *(("stage", stage, {"stages": _without(stage, state.stages)}) for stage in state.stages),
        ("near-duplicates", "shown separately" if state.collapse == UNFOLDED else None, {"collapse": ""}),
        ("sorted by", "date" if state.sort == DATE else None, {"sort": ""}),
        ("hits per page", str(state.hits) if state.hits else None, {"hits": 0}),
    ]
    return [
        Chip(label, value, state.address(**changes), not _NARROWING.isdisjoint(changes))
        for label, value, changes in chips
        if value is not None
    ]


def _without(value: str, values: Sequence[str]) -> list[str]:
    return [other for other in values if other != value]
