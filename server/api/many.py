"""One search over several served indexes."""

from __future__ import annotations

from time import perf_counter

import msgspec
from flask import Blueprint, Response, g, request

from ...retrieval.domain import Hit
from ...retrieval.errors import QueryError
from ...retrieval.evidence import Evidence
from ...retrieval.limit import CutOffError, Limit
from ...retrieval.many import HitOf, chosen_weights, evidence_of, fused
from ...retrieval.searcher import Search, Searcher
from ..contract.answers import AskedIndex, QueryText, SearchManyAnswer, Took, json_answer
from ..contract.errors import BadInput
from ..contract.requests import SearchManyRequest, from_body
from ..contract.search import (
    TimedOutError,
    coverage_of,
    limit_of,
    milliseconds,
    note_search,
    search_of,
    suggestion,
    understood,
    with_missing,
)
from ..upkeep.service import Served, index_named, service
from .explanation import with_passages

blueprint = Blueprint("many", __name__)


class _Asked(msgspec.Struct):
    """What is asked of one index, and what came back."""

    served: Served
    search: Search
    limit: Limit
    hits: list[Hit] = []

    @property
    def index(self) -> Searcher:
        return self.served.index


class _Together(msgspec.Struct):
    """A search of several indexes as logs and metrics see it."""

    took: Took
    retriever: str = "many"


@blueprint.post("/v1/search")
def search_many() -> Response:
    """Search several indexes: one ranking, fused by rank; each hit says its index."""
    asked = from_body(request, SearchManyRequest)
    weights = _weights(asked)
    text, query, each = asked.query, QueryText(text=asked.query), {}
    for name in weights:
        served = index_named(name)
        text, search, query = understood(asked.query, _search_of(asked, served), asked.syntax)
        each[name] = _Asked(served, search, limit_of())
    began = perf_counter()
    for name, part in each.items():
        part.hits = _hits(name, text, part)
    if not any(part.hits for part in each.values()) and all(part.limit.missing for part in each.values()):
        raise TimedOutError("no index was ready in time; try again")
    settings = next(iter(each.values())).index.settings.search
    rrf_k = asked.rrf_k or settings.fusion.rrf_k
    ranked = fused({name: part.hits for name, part in each.items()}, weights, rrf_k, asked.k or settings.k)
    retrieved, reading = perf_counter(), limit_of()
    hits = _evidence(each, text, ranked, reading, highlight=asked.highlight)
    if asked.passages:
        hits = [_with_passages(each, text, hit, reading) for hit in hits]
    took = Took(retrieve=milliseconds(began, retrieved), evidence=milliseconds(retrieved, perf_counter()))
    note_search(asked.query, _Together(took))
    return json_answer(
        SearchManyAnswer(
            request_id=g.request_id,
            indexes={name: _described(part, asked.query, text, weights[name], reading) for name, part in each.items()},
            rrf_k=rrf_k,
            took_ms=took,
            hits=hits,
            query=query if query.parsed else msgspec.UNSET,
        )
    )


def _weights(asked: SearchManyRequest) -> dict[str, float]:
    """Return the weight of each index that is asked, all that are served if none is named.

    Raises BadInput if a name comes twice or no index would count.
    """
    names = asked.indexes or list(service().indexes)
    if isinstance(names, list) and len(set(names)) < len(names):
        raise BadInput("indexes", "an index is named twice")
    weights = dict(names) if isinstance(names, dict) else dict.fromkeys(names, 1.0)
    try:
        return chosen_weights(weights, weights)
    except QueryError as error:
        raise BadInput("indexes", error.line) from None


def _search_of(asked: SearchManyRequest, served: Served) -> Search:
    try:
        return search_of(asked, served.index)
    except BadInput as error:
        raise BadInput(error.field, f"{served.name}: {error.unnamed}") from None


def _hits(name: str, text: str, part: _Asked) -> list[Hit]:
    """Return the hits of one index; none if it was not ready in time, which its limit notes."""
    try:
        return part.index.search([text], part.search._replace(limit=part.limit))[0]
    except QueryError as error:
        raise BadInput("query", f"{name}: {error.line}") from None
    except CutOffError:
        return []


def _evidence(
    each: dict[str, _Asked], text: str, ranked: list[HitOf], reading: Limit, *, highlight: bool
) -> list[Evidence]:
    indexes = {name: part.index for name, part in each.items()}
    searches = {name: part.search._replace(limit=reading) for name, part in each.items()}
    return evidence_of(indexes, text, searches, ranked, highlight=highlight)


def _with_passages(each: dict[str, _Asked], text: str, hit: Evidence, reading: Limit) -> Evidence:
    part = each[str(hit.index)]
    return with_passages(part.index, text, part.search, [hit], reading)[0]


def _described(part: _Asked, typed: str, text: str, weight: float, reading: Limit) -> AskedIndex:
    coverage = with_missing(coverage_of(part.index, part.search, part.limit), part.index, part.search, reading)
    return AskedIndex(
        manifest_id=part.served.manifest_id,
        retriever=part.index.resolve(part.search).retriever,
        weight=weight,
        note=part.index.note(text, part.search),
        suggestion=suggestion(typed, part.index.spellings(text, part.search)),
        coverage=coverage,
    )
