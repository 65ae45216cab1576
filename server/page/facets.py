"""The facets beside the hits: each value a link to the state with or without it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...retrieval.domain import FacetCounts, Total
from ...retrieval.many import INDEX, counts_of_many
from ...retrieval.searcher import Search
from .searching import IndexSearch, kinds_of
from .state import PageState

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
