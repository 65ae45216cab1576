"""The facets beside the hits: each value a link to the state with or without it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ...retrieval.domain import FacetCounts, Total
from .searching import IndexSearch, kinds_of
from .state import PageState

VALUES = 8
"""Values of a field that are shown."""
YEAR, INDEX = "year", "index"
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
    counted = [_counted(asked) for asked in each]
    total = Total(sum(total.hits for total, _ in counted), all(total.matching for total, _ in counted))
    shared = [field for field in counted[0][1] if all(field in facets for _, facets in counted)]
    boxes = [_box(field, _together([facets[field] for _, facets in counted]), state) for field in shared]
    if len(each) > 1:
        boxes.insert(0, _by_index(each, [total for total, _ in counted], state))
    return Facets(total, [box for box in boxes if len(box.entries) > 1 or any(e.chosen for e in box.entries)])


def year_of(state: PageState) -> str:
    """Return the one year that a state admits, if it does."""
    return state.since if state.since == state.as_of and len(state.since) == 4 else ""


def _counted(asked: IndexSearch) -> tuple[Total, dict[str, FacetCounts]]:
    index = asked.served.index
    searches = [asked.search._replace(retriever=name, stages=(), collapse="") for name in kinds_of(asked.served)]
    totals = [index.count(asked.text, search) for search in searches]
    at = next((at for at, total in enumerate(totals) if total.matching), 0)
    fields = dict.fromkeys((*_FIELDS, *index.info.filter_fields), VALUES)
    return totals[at], index.facets(asked.text, fields, searches[at])


def _together(each: Sequence[FacetCounts]) -> FacetCounts:
    """Return the counts of one field over several indexes."""
    if len(each) == 1:
        return each[0]
    counts: Counter[str] = Counter()
    for facet in each:
        counts.update(dict(facet.values))
    most = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    more = max(0, len(most) - VALUES) + max(facet.more for facet in each)
    return each[0]._replace(values=most[:VALUES], more=more, missing=sum(facet.missing for facet in each))


def _by_index(each: Iterable[IndexSearch], totals: Iterable[Total], state: PageState) -> FacetBox:
    entries = [
        FacetEntry(asked.served.name, total.hits, False, state.address(index=[asked.served.name]))
        for asked, total in zip(each, totals, strict=True)
    ]
    return FacetBox(INDEX, INDEX, entries, 0)


def _box(field: str, counts: FacetCounts, state: PageState) -> FacetBox:
    entries = [FacetEntry(value, count, *_choice(field, value, state)) for value, count in counts.values]
    return FacetBox(field, field.replace("_", " "), entries, counts.more)


def _choice(field: str, value: str, state: PageState) -> tuple[bool, str]:
    """Return whether a value is chosen, and the address of the other choice."""
    if field != YEAR:
        return f"{field}={value}" in state.filter, state.toggled(field, value)
    chosen = year_of(state) == value
    return chosen, state.address(since="", as_of="") if chosen else state.address(since=value, as_of=value)
