"""Jina's ``POST /v1/rerank`` over the model of the stage ``rerank``, whichever model the request
names.

``relevance_score`` is the logistic function of the model's score. Fields follow Jina's API
reference.
"""

from __future__ import annotations

from typing import Annotated

from ...core.settings import Positive
from ...retrieval.search.evidence import AnswerPart
from ..schemas import ForeignFields, says
from . import Adapter
from ._shared import (
    EXAMPLE,
    FASTAPI_STATUSES,
    TEXTS,
    FastAPIFailure,
    RerankResult,
    re_ranker,
    results_of,
)

adapter = Adapter(__name__, FastAPIFailure, FASTAPI_STATUSES)


class JinaText(ForeignFields):
    """A document as an object."""

    text: str


class JinaRerank(ForeignFields):
    """The body of Jina's re-ranking."""

    query: str
    documents: Annotated[list[str | JinaText], says("texts, or objects with a text")]
    model: Annotated[str, says("any name: the configured model answers")] = ""
    top_n: Annotated[Positive | None, says("the maximum number of results (default: all)")] = None
    return_documents: bool = True


class JinaUsage(AnswerPart):
    """The number of tokens that the model read."""

    total_tokens: int


class JinaRanking(AnswerPart):
    """The documents of a request, best first."""

    model: str
    usage: JinaUsage
    results: list[RerankResult]


@adapter.route("POST", "/v1/rerank", {"query": EXAMPLE, "documents": TEXTS, "top_n": 1})
def jina_rerank(body: JinaRerank) -> JinaRanking:
    """Re-rank documents as Jina does."""
    texts = [
        document if isinstance(document, str) else document.text for document in body.documents
    ]
    results = results_of(body.query, texts, body.top_n, with_documents=body.return_documents)
    model = re_ranker()
    tokens = sum(model.count_tokens(body.query, text) for text in texts)
    return JinaRanking(model=model.name, usage=JinaUsage(total_tokens=tokens), results=results)
