"""Cohere's ``POST /v2/rerank`` over the model of the stage ``rerank``.

Whatever model is named, the configured one answers; ``relevance_score`` is the logistic function of its score. Fields
and errors as in Cohere's API reference and in the types of its Python SDK; ``return_documents``, which only its version
1 had, is answered as that did.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Annotated, Self

from flask import g
from msgspec import UNSET, Meta, UnsetType

from ...retrieval.config import Positive
from ...retrieval.search.evidence import Answer
from ..errors import Problem
from ..schemas import ForeignFields
from . import Adapter
from ._shared import EXAMPLE, TEXTS, check_count, ranked, re_ranker


class CohereFailure(Answer):
    """An error as Cohere answers it."""

    id: str
    message: str

    @classmethod
    def of(cls, problem: Problem) -> Self:
        """Return an error in this shape."""
        return cls(id=problem.request_id, message=problem.detail)


adapter = Adapter(__name__, "Cohere's re-ranking: POST /v2/rerank", CohereFailure, MappingProxyType({415: 400}))


class CohereRerank(ForeignFields):
    """The body of Cohere's re-ranking."""

    model: Annotated[str, Meta(description="any: the configured model answers")]
    query: str
    documents: list[str]
    top_n: Annotated[Positive | None, Meta(description="how many results; left out: all")] = None
    return_documents: bool = False


class CohereDocument(Answer):
    """A document as it was sent."""

    text: str


class CohereResult(Answer):
    """A document by its place in the request."""

    index: int
    relevance_score: float
    document: CohereDocument | UnsetType = UNSET


class CohereVersion(Answer):
    """The version of the protocol."""

    version: str = "2"


class CohereMeta(Answer):
    """What Cohere says of an answer."""

    api_version: CohereVersion


class CohereRanking(Answer):
    """The documents of a request, best first."""

    id: str
    results: list[CohereResult]
    meta: CohereMeta


@adapter.route("POST", "/v2/rerank", {"model": "rerank-v3.5", "query": EXAMPLE, "documents": TEXTS})
def cohere_rerank(asked: CohereRerank) -> CohereRanking:
    """Re-rank documents as Cohere does."""
    check_count("documents", asked.documents)
    results = [
        CohereResult(
            index=text.place,
            relevance_score=text.probability,
            document=CohereDocument(text=asked.documents[text.place]) if asked.return_documents else UNSET,
        )
        for text in ranked(re_ranker(), asked.query, asked.documents, asked.top_n)
    ]
    return CohereRanking(id=g.request_id, results=results, meta=CohereMeta(api_version=CohereVersion()))
