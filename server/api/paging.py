"""The pages of a list of hits, and what is counted beside them, as a request asks for them."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from ...retrieval.counting import facet_answers, fields_of, total_answer
from ...retrieval.errors import QueryError
from ...retrieval.searcher import Search, Searcher
from ..contract.answers import CursorIfAny, FacetsIfAsked, TotalIfAsked
from ..contract.cursors import ListPlace, StaleCursorError, cursors, digest
from ..contract.errors import BadInput
from ..contract.requests import SearchManyRequest, SearchRequest
from ..contract.search import RankedEvidence
from ..upkeep.service import Served, index_named, index_of, service


class Begun(NamedTuple):
    """A request, and the state of an index that it is answered from."""

    served: Served
    asked: SearchRequest

    def cursor(self, search: Search, result: RankedEvidence) -> CursorIfAny:
        """Return what asks for the hits that follow; nothing after the last."""
        return self.cursor_after(search.offset + len(result.hits)) if result.more else msgspec.UNSET

    def cursor_after(self, hits: int) -> str:
        """Return what asks for the hits that follow the first ``hits``."""
        served = self.served
        service().earlier.paged(served)
        return cursors().give(ListPlace((served.manifest_id,), digest(served.name, self.asked), hits))


def begun(name: str, asked: SearchRequest) -> Begun:
    """Return a request with the place that its cursor stands for, and the index as it was then.

    Raises BadInput if the cursor belongs to another search, StaleCursorError if the index as it was is held no longer.
    """
    if not asked.cursor:
        return Begun(index_named(name), asked)
    place = cursors().take(asked.cursor)
    _check(place, asked, digest(name, asked))
    return Begun(_held(name, place.manifest_ids[0]), msgspec.structs.replace(asked, offset=place.offset))


class BegunMany(NamedTuple):
    """A request to several indexes, each with its weight and the state that it is answered from."""

    served: dict[str, Served]
    weights: dict[str, float]
    asked: SearchManyRequest

    def cursor(self, shown: int, *, more: bool) -> CursorIfAny:
        """Return what asks for the hits that follow those that are shown; nothing after the last."""
        if not more:
            return msgspec.UNSET
        for served in self.served.values():
            service().earlier.paged(served)
        ids = tuple(self.served[name].manifest_id for name in sorted(self.served))
        return cursors().give(ListPlace(ids, digest(self.weights, self.asked), self.asked.offset + shown))


def begun_many(weights: dict[str, float], asked: SearchManyRequest) -> BegunMany:
    """Return a request to several indexes with the place that its cursor stands for, and each as it was then.

    Raises what :func:`begun` raises.
    """
    if not asked.cursor:
        return BegunMany({name: index_named(name) for name in weights}, weights, asked)
    place = cursors().take(asked.cursor)
    _check(place, asked, digest(weights, asked))
    states = dict(zip(sorted(weights), place.manifest_ids, strict=True))
    served = {name: _held(name, states[name]) for name in weights}
    return BegunMany(served, weights, msgspec.structs.replace(asked, offset=place.offset))


def _check(place: ListPlace, asked: SearchRequest | SearchManyRequest, search: bytes) -> None:
    if asked.offset:
        raise BadInput("offset", "a cursor says already where the list goes on; leave out one of them")
    if search != place.search:
        raise BadInput("cursor", "was given for another search or index; send it with what it was given for")


def _held(name: str, manifest_id: str) -> Served:
    """Return an index as it was when a cursor was given."""
    served = index_of(name, manifest_id)
    if served is None:
        raise StaleCursorError(
            "cursor: the index has changed since, and is no longer held as it was; begin again without the cursor"
        )
    return served


def counts(index: Searcher, asked: SearchRequest, text: str, search: Search) -> tuple[TotalIfAsked, FacetsIfAsked]:
    """Return what a request asks to be counted of the hits of ``text``.

    Raises BadInput, naming the field, if that cannot be.
    """
    if not (asked.count or asked.facets):
        return msgspec.UNSET, msgspec.UNSET
    try:
        fields = asked.facets if isinstance(asked.facets, dict) else fields_of(asked.facets)
        facets = index.facets(text, fields, search)
    except QueryError as error:
        raise BadInput("facets", error.line) from None
    total = total_answer(index.count(text, search))
    return total, facet_answers(facets) if asked.facets else msgspec.UNSET
