"""One search over several served indexes."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING

import msgspec
from flask import Blueprint, Response, g, request

from ...retrieval.deadline import CutOffError, Deadline
from ...retrieval.domain import Hit
from ...retrieval.errors import QueryError
from ...retrieval.search.counting import facet_answers, fields_of, total_answer
from ...retrieval.search.evidence import Evidence
from ...retrieval.search.federated import (
    CountsOfMany,
    IndexedHit,
    MergedPage,
    chosen_weights,
    counts_of_many,
    evidence_of,
    fused,
)
from ...retrieval.search.options import Search
from ..errors import BadInput
from ..runtime import ServedIndex, registry
from ..schemas import AskedIndex, QueryText, SearchManyAnswer, SearchManyRequest, Took, from_body, json_answer
from ..search import (
    KEEP,
    TimedOutError,
    approximate_if_so,
    coverage_of,
    limit_of,
    milliseconds,
    note_search,
    search_of,
    suggestion,
    understood,
)
from .explanation import with_passages
from .paging import ResumedPages, note_of, resume_many

if TYPE_CHECKING:
    from ...retrieval.search.index import Index

blueprint = Blueprint("many", __name__)


class _Asked(msgspec.Struct):
    """What is asked of one index, and what came back."""

    served: ServedIndex
    search: Search
    limit: Deadline
    hits: list[Hit] = []

    @property
    def index(self) -> Index:
        return self.served.index


class _Together(msgspec.Struct):
    """A search of several indexes as logs and metrics see it."""

    took: Took
    retriever: str = "many"


@blueprint.post("/v1/search")
def search_many() -> Response:
    """Search several indexes: one ranking, fused by rank; each hit says its index."""
    body = from_body(request, SearchManyRequest)
    begun = resume_many(_weights(body), body.options())
    asked = begun.asked
    text, query, each = _understood(begun, "k" if body.hits is None else "hits")
    counts, began = _counts(asked, text, each), perf_counter()
    shown, more, rrf_k = _ranked(begun, text, each)
    retrieved, reading = perf_counter(), limit_of()
    hits = _evidence(each, text, shown, reading, highlight=asked.highlight, after=asked.offset)
    if asked.passages:
        hits = [_with_passages(each, text, hit, reading) for hit in hits]
    indexes = {name: _described(part, begun, text, reading) for name, part in each.items()}
    took = Took(retrieve=milliseconds(began, retrieved), evidence=milliseconds(retrieved, perf_counter()))
    note_search(asked.query, _Together(took))
    answer = SearchManyAnswer(
        request_id=g.request_id,
        qid=msgspec.UNSET if asked.qid is None else asked.qid,
        indexes=indexes,
        rrf_k=rrf_k,
        took_ms=took,
        hits=hits,
        query=query if query.parsed else msgspec.UNSET,
        cursor=begun.cursor(len(hits), more=more),
    )
    if counts:
        _add_counts(answer, counts, facets=bool(asked.facets))
    return json_answer(answer)


def _understood(begun: ResumedPages, k_name: str) -> tuple[str, QueryText, dict[str, _Asked]]:
    """Return the text to search for, what clients are told of it, and what each index is asked.

    ``k_name`` is what the client calls ``k``.
    Raises BadInput, naming the index, if one cannot answer it.
    """
    asked, each = begun.asked, {}
    text, query = asked.query, QueryText(text=asked.query)
    for name, served in begun.served.items():
        search, undated = _search_of(asked, served, k_name), asked.undated == KEEP
        text, search, query = understood(asked.query, search, asked.syntax, undated=undated)
        each[name] = _Asked(served, search, limit_of())
    return text, query, each


def _ranked(begun: ResumedPages, text: str, each: dict[str, _Asked]) -> tuple[list[IndexedHit], bool, int]:
    """Return the hits of the page, whether more follow, and the constant by which they were fused.

    Raises TimedOutError if no index was ready in time.
    """
    asked, settings = begun.asked, next(iter(each.values())).index.settings.search
    page = MergedPage(asked.k or settings.k, asked.offset, asked.sort or "", settings.fusion.depth)
    for name, part in each.items():
        part.hits = _hits(name, text, part, page)
    if not any(part.hits for part in each.values()) and all(part.limit.missing for part in each.values()):
        raise TimedOutError("no index was ready in time; try again")
    rrf_k = asked.rrf_k or settings.fusion.rrf_k
    ranked = fused({name: part.hits for name, part in each.items()}, begun.weights, rrf_k, page.deepest)
    shown, more = page.of(ranked, {name: part.index for name, part in each.items()})
    return shown, more and page.offset + page.k < settings.max_k, rrf_k


def _add_counts(answer: SearchManyAnswer, counts: CountsOfMany, *, facets: bool) -> None:
    """Add totals, and facets if they are asked for, to the answer and to what it says of each index."""
    answer.total = total_answer(counts.total)
    for name, index in answer.indexes.items():
        index.total = total_answer(counts.totals[name])
        if facets:
            index.facets = facet_answers(counts.of_each[name])
    if facets:
        answer.facets = facet_answers(counts.facets)


def _weights(asked: SearchManyRequest) -> dict[str, float]:
    """Return the weight of each index that is asked, all that are served if none is named.

    Raises BadInput if a name comes twice or no index would count.
    """
    names = asked.indexes or list(registry().indexes)
    if isinstance(names, list) and len(set(names)) < len(names):
        raise BadInput("indexes", "an index is named twice")
    weights = dict(names) if isinstance(names, dict) else dict.fromkeys(names, 1.0)
    try:
        return chosen_weights(weights, weights)
    except QueryError as error:
        raise BadInput("indexes", error.line) from None


def _search_of(asked: SearchManyRequest, served: ServedIndex, k_name: str) -> Search:
    try:
        return search_of(asked, served.index, k_name=k_name, offset=asked.offset)
    except BadInput as error:
        raise BadInput(error.field, f"{served.name}: {error.unnamed}") from None


def _counts(asked: SearchManyRequest, text: str, each: dict[str, _Asked]) -> CountsOfMany | None:
    """Return what a request asks to be counted, if anything.

    Raises BadInput, naming the index, if that cannot be.
    """
    if not (asked.count or asked.facets):
        return None
    indexes = {name: part.index for name, part in each.items()}
    try:
        fields = asked.facets if isinstance(asked.facets, dict) else fields_of(asked.facets)
        return counts_of_many(indexes, text, {name: part.search for name, part in each.items()}, fields)
    except QueryError as error:
        raise BadInput("facets", error.line) from None


def _hits(name: str, text: str, part: _Asked, page: MergedPage) -> list[Hit]:
    """Return the hits of one index; none if it was not ready in time, which its limit notes."""
    try:
        search = page.asked(part.search, part.index.settings.search.max_k)
        return part.index.search([text], search._replace(limit=part.limit))[0]
    except QueryError as error:
        raise BadInput("query", f"{name}: {error.line}") from None
    except CutOffError:
        return []


def _evidence(
    each: dict[str, _Asked], text: str, ranked: list[IndexedHit], reading: Deadline, *, highlight: bool, after: int
) -> list[Evidence]:
    indexes = {name: part.index for name, part in each.items()}
    # What stands before the page was found in other places of each index.
    searches = {name: part.search._replace(limit=reading, offset=0) for name, part in each.items()}
    return evidence_of(indexes, text, searches, ranked, highlight=highlight, after=after)


def _with_passages(each: dict[str, _Asked], text: str, hit: Evidence, reading: Deadline) -> Evidence:
    part = each[str(hit.index)]
    return with_passages(part.index, text, part.search, [hit], reading)[0]


def _described(part: _Asked, begun: ResumedPages, text: str, reading: Deadline) -> AskedIndex:
    name = part.served.name
    coverage = coverage_of(part.index, part.search, part.limit, reading)
    return AskedIndex(
        manifest_id=part.served.manifest_id,
        retriever=part.index.resolve(part.search).retriever,
        weight=begun.weights[name],
        note=note_of(part.index.note(text, part.search), changed=name in begun.changed),
        suggestion=suggestion(begun.asked.query, part.index.spellings(text, part.search)),
        coverage=coverage,
        approximate=approximate_if_so(part.index, part.search),
    )
