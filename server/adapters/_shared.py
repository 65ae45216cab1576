"""What several adapters share: searches, re-ranking of a client's own texts by the stage
``rerank``, and errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, Self

from flask import request
from msgspec import UNSET, UnsetType

from ...core.deadline import Deadline
from ...core.domain import Document
from ...core.errors import QueryError
from ...retrieval.encoders.cross_encoder import OnnxCrossEncoder as ReRanker
from ...retrieval.search.evidence import AnswerPart, Evidence, claim_of
from ...retrieval.search.listings import fact_check_title, is_fact_check
from ..call import current_call
from ..errors import BadInput, Problem, RefusedError
from ..runtime import registry
from ..schemas import SearchOptions
from ..search import TimedOutError, search_of, whole_answer
from . import configured_index

if TYPE_CHECKING:
    from ...retrieval.search.index import Index

EXAMPLE = "Is the measles vaccine effective?"
TEXTS = ("The moon is 384,400 km away.", "Two doses of the vaccine are 97 percent effective.")
"""A query and texts for the examples in the API's description."""


def hits_of(
    index: Index,
    query: str,
    options: SearchOptions,
    k_name: str = "k",
    *,
    query_name: str = "query",
) -> list[Evidence]:
    """Return the evidence for a query, without highlights; errors name the client's fields for
    ``k`` and the query.
    """
    call = current_call()
    search = search_of(call, options, index, k_name)
    return whole_answer(call, index, query, search, query_name).hits


def title_of(hit: Evidence) -> str:
    """Return a title for clients that show no rating: a fact-check says that it is one, and that it
    rates a claim.
    """
    if is_fact_check(hit.kind, hit.metadata):
        return fact_check_title(claim_of(hit), hit.metadata)
    return hit.title or hit.docid


def text_of(document: Document) -> str:
    """Return the text that is indexed for a document: its title, if any, and its text on the next
    line.
    """
    return f"{document.title}\n{document.text}" if document.title else document.text


class RerankedText(NamedTuple):
    """A text by its position in the request, with the model's score: higher is better, without
    bounds.
    """

    place: int
    score: float

    @property
    def probability(self) -> float:
        """The score mapped to a value between 0 and 1 by the logistic function."""
        return (
            1 / (1 + exp(-self.score))
            if self.score >= 0
            else exp(self.score) / (1 + exp(self.score))
        )


def re_ranker() -> ReRanker:
    """Return the re-ranker of the index of the request's adapter; raise RefusedError if none is
    configured.
    """
    try:
        return configured_index().index.re_ranker
    except QueryError as error:
        raise RefusedError(f"this server has no re-ranker: {error.remedy}") from None


def check_count(field: str, texts: Sequence[object], what: str = "texts can be re-ranked") -> None:
    """Raise BadInput, with the field, if there are no texts, or more than a request may have."""
    most = registry().config.server.max_batch
    if not 1 <= len(texts) <= most:
        raise BadInput(field, f"1 to {most} {what} at once, not {len(texts)}")


def rank_texts(
    model: ReRanker,
    query: str,
    texts: Sequence[str],
    most: int | None = None,
    limit: Deadline | None = None,
) -> list[RerankedText]:
    """Return at most ``most`` texts, best first, ties in request order; raise TimedOutError after
    ``limit``.
    """
    call = current_call()
    call.note(query)
    limit = limit or call.limit()
    scored: list[RerankedText] = []
    for place, text in enumerate(texts):
        if limit.is_over("rerank"):
            raise TimedOutError(
                f"only {place} of {len(texts)} texts were scored in time: send fewer at once"
            )
        scored.append(RerankedText(place, model.score(query, text)))
    return sorted(scored, key=lambda text: -text.score)[:most]


class RerankedDocument(AnswerPart):
    """A document as the client sent it."""

    text: str


class RerankResult(AnswerPart):
    """A document's position in the request, from 0, with its score."""

    index: int
    relevance_score: float
    document: RerankedDocument | UnsetType = UNSET


def results_of(
    query: str, documents: Sequence[str], most: int | None, *, with_documents: bool
) -> list[RerankResult]:
    """Return at most ``most`` documents in the shape of Cohere and Jina, best first; raise
    TimedOutError on timeout.
    """
    check_count("documents", documents)
    return [
        RerankResult(
            index=text.place,
            relevance_score=text.probability,
            document=RerankedDocument(text=documents[text.place]) if with_documents else UNSET,
        )
        for text in rank_texts(re_ranker(), query, documents, most)
    ]


class ErrorFailure(AnswerPart):
    """An error as one sentence in the field ``error``."""

    error: str

    @classmethod
    def of(cls, problem: Problem) -> Self:
        """Return an error in this shape."""
        return cls(error=problem.detail)


FASTAPI_STATUSES = MappingProxyType({400: 422, 415: 422})


class FastAPIFault(AnswerPart):
    """What is wrong with a field of a request; ``loc`` is the place of the field."""

    type: str
    loc: list[str]
    msg: str


class FastAPIFailure(AnswerPart):
    """An error in FastAPI's format: a sentence, or a list of the request's faults."""

    detail: str | list[FastAPIFault]

    @classmethod
    def of(cls, problem: Problem) -> Self:
        """Return an error in this shape."""
        if problem.status != 422:
            return cls(detail=problem.detail)
        place = "query" if request.method == "GET" else "body"
        loc = (
            [place, problem.field]
            if isinstance(problem.field, str) and problem.field != "body"
            else [place]
        )
        return cls(detail=[FastAPIFault(type="value_error", loc=loc, msg=problem.detail)])
