"""Jina's ``POST /v1/rerank`` over the model of the stage ``rerank``.

The configured model answers, whichever model the request names, and the answer has the configured model's name.
``relevance_score`` is the logistic function of the model's score. Fields follow Jina's API reference; errors have
FastAPI's shape.
"""

from __future__ import annotations

from typing import Annotated

from ...retrieval.config import Positive
from ...retrieval.search.evidence import AnswerPart
from ..schemas import ForeignFields, says
from . import Adapter
from ._shared import EXAMPLE, FASTAPI_STATUSES, TEXTS, FastAPIFailure, RerankResult, check_count, re_ranker, results_of

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
    check_count("documents", body.documents)
    model = re_ranker()
    texts = [document if isinstance(document, str) else document.text for document in body.documents]
    results = results_of(model, body.query, texts, body.top_n, with_documents=body.return_documents)
    tokens = sum(model.count_tokens(body.query, text) for text in texts)
    return JinaRanking(model=model.name, usage=JinaUsage(total_tokens=tokens), results=results)
