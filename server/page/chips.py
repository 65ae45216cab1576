"""The chips of what is set: each says one choice of a state, and leads to the state without it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ...retrieval.query_syntax import QUERY, query_parts
from ..upkeep.service import service
from .facets import YEAR, year_of
from .reasons import label_of
from .state import DATE, UNFOLDED, PageState

_LABELS = {"phrases": "word for word", "without": "leaving out"}
"""The labels of what is typed into a query; a field is called as it is typed."""


class Chip(NamedTuple):
    """Something that is chosen, and the address without it; the label is an English text of the page."""

    label: str
    value: str
    address: str


def chips_of(state: PageState) -> Iterator[Chip]:
    """Yield what is chosen in a state."""
    if len(state.index) > 1:
        for name in state.index:
            yield Chip("index", name, state.address(index=[other for other in state.index if other != name]))
    if state.like:
        yield Chip("more like", state.like, state.address(like=""))
    # Each chip has a query of its own, of nearly all of this one; a longer one is refused.
    if state.syntax == QUERY and len(state.query) <= service().config.search.max_query_chars:
        for part in query_parts(state.query):
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
