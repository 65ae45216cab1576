"""Cohere's ``POST /v2/rerank`` over the model of the stage ``rerank``.

Whatever model is named, the configured one answers; ``relevance_score`` is the logistic function of its score. Fields
and errors as in Cohere's API reference and in the types of its Python SDK; ``return_documents``, which only its version
1 had, is answered as that did.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Annotated

from flask import Blueprint, Response, g, request
from msgspec import UNSET, Meta, UnsetType

from ...retrieval.config import Positive
from ...retrieval.search.evidence import Answer
from ..api.operations import Operation
from ..errors import Problem
from ..schemas import ForeignFields, from_body, json_answer
from ._shared import RerankedText, check_texts, ranked, re_ranker

HELP = "Cohere's re-ranking: POST /v2/rerank"
KEY_PARAMETER = ""
STATUSES = MappingProxyType({415: 400})
blueprint = Blueprint("cohere", __name__)


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


class CohereFailure(Answer):
    """An error as Cohere answers it."""

    id: str
    message: str


FAILURE = CohereFailure


def failure(problem: Problem) -> CohereFailure:
    """Return an error as Cohere answers it."""
    return CohereFailure(id=problem.request_id, message=problem.detail)


@blueprint.post("/v2/rerank")
def cohere_rerank() -> Response:
    """Re-rank documents as Cohere does."""
    asked = from_body(request, CohereRerank)
    check_texts("documents", asked.documents)
    results = [_result(text, asked) for text in ranked(re_ranker(), asked.query, asked.documents, asked.top_n)]
    return json_answer(CohereRanking(id=g.request_id, results=results, meta=CohereMeta(api_version=CohereVersion())))


def _result(text: RerankedText, asked: CohereRerank) -> CohereResult:
    document = CohereDocument(text=asked.documents[text.place]) if asked.return_documents else UNSET
    return CohereResult(index=text.place, relevance_score=text.probability, document=document)


OPERATIONS = MappingProxyType(
    {
        "cohere_rerank": Operation(
            "",
            CohereRanking,
            body=CohereRerank,
            problems=(400, 413, 415),
            example=MappingProxyType(
                {
                    "model": "rerank-v3.5",
                    "query": "Is the measles vaccine effective?",
                    "documents": ["The moon is 384,400 km away.", "Two doses of the vaccine are 97 percent effective."],
                }
            ),
        )
    }
)
