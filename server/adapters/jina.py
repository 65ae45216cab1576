"""Jina's ``POST /v1/rerank`` over the model of the stage ``rerank``.

Whatever model is named, the configured one answers, and its name comes back; ``relevance_score`` is the logistic
function of its score. Fields as in Jina's API reference; its errors are those of FastAPI.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Annotated

from flask import Blueprint, Response, request
from msgspec import UNSET, Meta, UnsetType

from ...retrieval.config import Positive
from ...retrieval.search.evidence import Answer
from ..api.operations import Operation
from ..schemas import ForeignFields, from_body, json_answer
from . import _shared
from ._shared import check_texts, ranked, re_ranker, tokens

HELP = "Jina's re-ranking: POST /v1/rerank"
KEY_PARAMETER = ""
STATUSES = _shared.FASTAPI_STATUSES
FAILURE = _shared.FastAPIFailure
failure = _shared.fastapi_failure
blueprint = Blueprint("jina", __name__)


class JinaText(ForeignFields):
    """A document as an object."""

    text: str


class JinaRerank(ForeignFields):
    """The body of Jina's re-ranking."""

    query: str
    documents: Annotated[list[str | JinaText], Meta(description="texts, or objects with a text")]
    model: Annotated[str, Meta(description="any: the configured model answers")] = ""
    top_n: Annotated[Positive | None, Meta(description="how many results; left out: all")] = None
    return_documents: bool = True


class JinaDocument(Answer):
    """A document as it was sent."""

    text: str


class JinaResult(Answer):
    """A document by its place in the request."""

    index: int
    relevance_score: float
    document: JinaDocument | UnsetType = UNSET


class JinaUsage(Answer):
    """How many tokens were read."""

    total_tokens: int


class JinaRanking(Answer):
    """The documents of a request, best first."""

    model: str
    usage: JinaUsage
    results: list[JinaResult]


@blueprint.post("/v1/rerank")
def jina_rerank() -> Response:
    """Re-rank documents as Jina does."""
    asked = from_body(request, JinaRerank)
    check_texts("documents", asked.documents)
    model = re_ranker()
    texts = [document if isinstance(document, str) else document.text for document in asked.documents]
    results = [
        JinaResult(
            index=text.place,
            relevance_score=text.probability,
            document=JinaDocument(text=texts[text.place]) if asked.return_documents else UNSET,
        )
        for text in ranked(model, asked.query, texts, asked.top_n)
    ]
    usage = JinaUsage(total_tokens=tokens(model, asked.query, texts))
    return json_answer(JinaRanking(model=model.name, usage=usage, results=results))


OPERATIONS = MappingProxyType(
    {
        "jina_rerank": Operation(
            "",
            JinaRanking,
            body=JinaRerank,
            problems=(400, 413, 415),
            example=MappingProxyType(
                {
                    "query": "Is the measles vaccine effective?",
                    "documents": ["The moon is 384,400 km away.", "Two doses of the vaccine are 97 percent effective."],
                    "top_n": 1,
                }
            ),
        )
    }
)
