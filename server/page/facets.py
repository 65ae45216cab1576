"""The facets beside the hits, and the chips of what is set: each a link to the state with or without a choice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ...retrieval.domain import FacetCounts, Total
from ...retrieval.search.federated import INDEX, counts_of_many
from ...retrieval.search.options import Search
from ...retrieval.search.query_syntax import QUERY, query_parts
from .reasons import label_of
from .searching import IndexSearch, kinds_of
from .state import DATE, LONGEST_ADDRESS, UNFOLDED, PageState

VALUES = 8
"""Values of a field that are shown."""
YEAR = "year"
_FIELDS = ("source", "topic", "language", "kind", YEAR)


class FacetEntry(NamedTuple):
    """A value of a field with its count, and the address with, or without, it."""

    value: str
    documents: int
    chosen: bool
    address: str


class FacetBox(NamedTuple):
    """A field with its most frequent values; ``more`` values are not shown."""

    field: str
    label: str
    entries: list[FacetEntry]
    more: int


class Facets(NamedTuple):
    """The facets of a search, and how many documents they count."""

    total: Total
    boxes: list[FacetBox]


def facets_of(each: Sequence[IndexSearch], state: PageState) -> Facets:
    """Return the facets of the documents that hold a word of the query where a retriever tells them, else of all."""
    indexes = {asked.served.name: asked.served.index for asked in each}
    searches = {asked.served.name: _counted(asked) for asked in each}
    own = [index.info.filter_fields for index in indexes.values()]
    shared = [field for field in own[0] if all(field in fields for fields in own)]
    counts = counts_of_many(indexes, each[0].text, searches, dict.fromkeys((INDEX, *_FIELDS, *shared), VALUES))
    boxes = [_box(field, counts.facets[field], state) for field in counts.facets]
    return Facets(counts.total, [box for box in boxes if len(box.entries) > 1 or any(e.chosen for e in box.entries)])


def year_of(state: PageState) -> str:
    """Return the one year that a state admits, if it does."""
    return state.since if state.since == state.as_of and len(state.since) == 4 else ""


def _counted(asked: IndexSearch) -> Search:
    """Return the search whose documents are counted: by the first retriever that tells which match, if one does."""
    searches = [
        asked.search._replace(retriever=name, stages=(), collapse="", sort="") for name in kinds_of(asked.served)
    ]
    index = asked.served.index
    return next((search for search in searches if index.count(asked.text, search).matching), searches[0])


def _box(field: str, counts: FacetCounts, state: PageState) -> FacetBox:
    entries = [FacetEntry(value, count, *_choice(field, value, state)) for value, count in counts.values]
    return FacetBox(field, field.replace("_", " "), entries, counts.more)


def _choice(field: str, value: str, state: PageState) -> tuple[bool, str]:
    """Return whether a value is chosen, and the address of the other choice."""
    if field == INDEX:
        return False, state.address(index=[value])
    if field != YEAR:
        return f"{field}={value}" in state.filter, state.toggled(field, value)
    chosen = year_of(state) == value
    return chosen, state.address(since="", as_of="") if chosen else state.address(since=value, as_of=value)


_LABELS = {"phrases": "word for word", "without": "leaving out"}
"""The labels of what is typed into a query; a field is called as it is typed."""
_MOST_PARTS = 50
"""Conditions of a query that have a chip: each chip holds the rest of the query."""


class Chip(NamedTuple):
    """Something that is chosen, and the address without it; the label is an English text of the page."""

    label: str
    value: str
    address: str


def chips_of(state: PageState) -> Iterator[Chip]:
    """Yield what is chosen in a state; nothing of a query that no address can hold."""
    if len(state.query) > LONGEST_ADDRESS:
        return
    if len(state.index) > 1:
        for name in state.index:
            yield Chip("index", name, state.address(index=[other for other in state.index if other != name]))
    if state.like:
        yield Chip("more like", state.like, state.address(like=""))
    if state.syntax == QUERY:
        for part in query_parts(state.query, _MOST_PARTS):
            yield Chip(_LABELS.get(part.kind, part.kind), part.value, state.address(query=part.rest))
    yield from _dates(state)
    for pair in dict.fromkeys(state.filter):
        field, _, value = pair.partition("=")
        yield Chip(field, value, state.toggled(field, value))
    yield from _ranking(state)
    if state.hits:
        yield Chip("hits a page", str(state.hits), state.address(hits=0))


def _ranking(state: PageState) -> Iterator[Chip]:
    if state.profile == "tweet":
        yield Chip("read as", "a tweet", state.address(profile=""))
    if state.retriever:
        yield Chip("ranked by", label_of(state.retriever), state.address(retriever=""))
    for stage in state.stages:
        yield Chip("stage", stage, state.address(stages=[other for other in state.stages if other != stage]))
    if state.collapse == UNFOLDED:
        yield Chip("near-copies", "unfolded", state.address(collapse=""))
    if state.sort == DATE:
        yield Chip("sorted by", "date", state.address(sort=""))


def _dates(state: PageState) -> Iterator[Chip]:
    if year_of(state):
        yield Chip(YEAR, state.since, state.address(since="", as_of=""))
        return
    if state.since:
        yield Chip("from", state.since, state.address(since=""))
    if state.as_of:
        yield Chip("nothing newer than", state.as_of, state.address(as_of=""))
    if state.undated == "keep":
        yield Chip("undated", "kept", state.address(undated=""))
