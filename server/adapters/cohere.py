"""Cohere's ``POST /v2/rerank`` over the model of the stage ``rerank``, whichever model the request
names.

``relevance_score`` is the logistic function of the model's score. Fields and errors follow Cohere's
API reference and its Python SDK. ``return_documents``, which only version 1 had, works as in
version 1.
"""

from __future__ import annotations

from typing import Annotated, Self

from ...core.settings import Positive
from ...retrieval.search.evidence import AnswerPart
from ..call import current_call
from ..errors import Problem
from ..schemas import ForeignFields, says
from . import Adapter
from ._shared import EXAMPLE, TEXTS, RerankResult, results_of


class CohereFailure(AnswerPart):
    """An error in Cohere's format."""

    id: str
    message: str

    @classmethod
    def of(cls, problem: Problem) -> Self:
        """Return an error in this shape."""
        return cls(id=problem.request_id, message=problem.detail)


adapter = Adapter(__name__, CohereFailure, {415: 400})


class CohereRerank(ForeignFields):
    """The body of Cohere's re-ranking."""

    model: Annotated[str, says("any name: the configured model answers")]
    query: str
    documents: list[str]
    top_n: Annotated[Positive | None, says("the maximum number of results (default: all)")] = None
    return_documents: bool = False


class CohereVersion(AnswerPart):
    """The version of the protocol."""

    version: str = "2"


class CohereMeta(AnswerPart):
    """Cohere's metadata of an answer."""

    api_version: CohereVersion


class CohereRanking(AnswerPart):
    """The documents of a request, best first."""

    id: str
    results: list[RerankResult]
    meta: CohereMeta


@adapter.route("POST", "/v2/rerank", {"model": "rerank-v3.5", "query": EXAMPLE, "documents": TEXTS})
def cohere_rerank(body: CohereRerank) -> CohereRanking:
    """Re-rank documents as Cohere does."""
    results = results_of(
        body.query, body.documents, body.top_n, with_documents=body.return_documents
    )
    return CohereRanking(
        id=current_call().request_id, results=results, meta=CohereMeta(api_version=CohereVersion())
    )
