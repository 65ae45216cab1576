"""One search over several served indexes."""

from __future__ import annotations

import msgspec
from flask import Blueprint, Response, g, request

from ...retrieval.errors import QueryError
from ...retrieval.search.answer import Question
from ...retrieval.search.counting import facet_answers, total_answer
from ...retrieval.search.federated import CountsOfMany, chosen_weights
from ..errors import BadInput
from ..runtime import ServedIndex, registry
from ..schemas import AskedIndex, SearchManyAnswer, SearchManyRequest, from_body, json_answer, query_text
from ..search import answer_of_many, question_of
from .paging import resume

blueprint = Blueprint("many", __name__)


@blueprint.post("/v1/search")
def search_many() -> Response:
    """Search several indexes and fuse their hits by rank into one ranking; each hit names its index."""
    body = from_body(request, SearchManyRequest)
    weights = _weights(body)
    pages = resume(weights, body.with_one_k())
    asked, k_name = pages.asked, "k" if body.hits is None else "hits"
    questions = {name: _question(asked, served, k_name) for name, served in pages.served.items()}
    indexes = {name: served.index for name, served in pages.served.items()}
    result = answer_of_many(indexes, questions, weights, asked.rrf_k or 0)
    first, question = next(iter(result.indexes.values())).question, next(iter(questions.values()))
    query = query_text(question, first.parsed, first.text)
    answer = SearchManyAnswer(
        request_id=g.request_id,
        qid=msgspec.UNSET if asked.qid is None else asked.qid,
        indexes={
            name: AskedIndex(
                manifest_id=pages.served[name].manifest_id,
                retriever=part.resolved.retriever,
                weight=part.weight,
                note=pages.note(part.note, name),
                suggestion=part.suggestion or msgspec.UNSET,
                coverage=part.coverage or msgspec.UNSET,
                approximate=part.resolved.approximate or msgspec.UNSET,
            )
            for name, part in result.indexes.items()
        },
        rrf_k=result.rrf_k,
        took_ms=result.took,
        hits=result.hits,
        query=query if query.parsed else msgspec.UNSET,
        cursor=pages.cursor(asked.offset + len(result.hits)) if result.more else msgspec.UNSET,
    )
    if result.counts:
        _add_counts(answer, result.counts, facets=bool(asked.facets))
    return json_answer(answer)


def _add_counts(answer: SearchManyAnswer, counts: CountsOfMany, *, facets: bool) -> None:
    """Add totals, and facets if requested, to the answer and to each of its indexes."""
    answer.total = total_answer(counts.total)
    for name, index in answer.indexes.items():
        index.total = total_answer(counts.totals[name])
        if facets:
            index.facets = facet_answers(counts.of_each[name])
    if facets:
        answer.facets = facet_answers(counts.facets)


def _weights(asked: SearchManyRequest) -> dict[str, float]:
    """Return the weight of each index to search; all served indexes if none is named.

    Raises BadInput if a name occurs twice, or if no index would count.
    """
    names = asked.indexes or list(registry().indexes)
    if isinstance(names, list) and len(set(names)) < len(names):
        raise BadInput("indexes", "an index is given twice")
    weights = dict(names) if isinstance(names, dict) else dict.fromkeys(names, 1.0)
    try:
        return chosen_weights(weights, weights)
    except QueryError as error:
        raise BadInput("indexes", error.line) from None


def _question(asked: SearchManyRequest, served: ServedIndex, k_name: str) -> Question:
    try:
        return question_of(asked, served.index, k_name)
    except BadInput as error:
        if error.field == "facets":
            raise
        raise BadInput(error.field, f"{served.name}: {error.unnamed}") from None
