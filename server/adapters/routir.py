"""RoutIR's services over HTTP: ``/search``, ``/score``, ``/content``, ``/avail`` and ``/ping``.

Each served index is a service under its name, and each of its rankings under ``INDEX/RANKING``. Where there is a
re-ranker, the service ``rerank`` scores passages by it. Fields as in RoutIR 0.0.2's ``serve.py`` and ``processors``.
"""

from __future__ import annotations

from time import time
from types import MappingProxyType
from typing import Annotated, Literal

from flask import Blueprint, Response, request
from msgspec import Meta

from ...retrieval.config import Positive
from ...retrieval.search.evidence import Answer
from ..api.operations import Operation
from ..errors import BadInput, Problem
from ..memory import charged_document
from ..runtime import index_named, registry
from ..schemas import ForeignFields, SearchOptions, from_body, json_answer
from ._shared import check_texts, hits_of, ranked, re_ranker, text_of

HELP = "RoutIR's services: POST /search, POST /score, GET /avail"
KEY_PARAMETER = ""
STATUSES = MappingProxyType({404: 400, 415: 400})
blueprint = Blueprint("routir", __name__)

_SCORES = "rerank"
"""The service that scores passages."""


class RoutirSearch(ForeignFields):
    """The body of RoutIR's search."""

    service: Annotated[str, Meta(description="an index, or an index and a ranking: INDEX/bm25")]
    query: str
    limit: Annotated[Positive, Meta(description="how many hits")] = 10


class RoutirScore(ForeignFields):
    """The body of RoutIR's scoring."""

    service: str
    query: str
    passages: list[str]


class RoutirContent(ForeignFields):
    """The body of RoutIR's look-up of a document."""

    collection: Annotated[str, Meta(description="an index")]
    id: Annotated[str, Meta(description="a docid")]


class RoutirScores(Answer):
    """The hits of a query as RoutIR answers them, best first."""

    query: str
    scores: dict[str, float]
    service: str
    cached: bool
    processed: bool
    timestamp: float


class RoutirPassageScores(Answer):
    """The scores of passages as RoutIR answers them, in the order of the request."""

    query: str
    scores: list[float]
    service: str
    cached: bool
    processed: bool
    timestamp: float


class RoutirDocument(Answer):
    """A document as RoutIR answers it: its title and its text."""

    collection: str
    id: str
    text: str


class RoutirServices(Answer):
    """The services of each type."""

    search: list[str]
    score: list[str]
    fuse: list[str]
    decompose_query: list[str]
    content: list[str]
    pipeline_aliases: dict[str, str]


class RoutirPong(Answer):
    """A sign of life."""

    status: Literal["pong"] = "pong"


class RoutirFailure(Answer):
    """An error as RoutIR answers it."""

    error: str


FAILURE = RoutirFailure


def failure(problem: Problem) -> RoutirFailure:
    """Return an error as RoutIR answers it."""
    return RoutirFailure(error=problem.detail)


@blueprint.post("/search")
def routir_search() -> Response:
    """Search as RoutIR does."""
    asked = from_body(request, RoutirSearch)
    name, _, retriever = asked.service.partition("/")
    index = index_named(name).index
    result = hits_of(index, asked.query, SearchOptions(k=asked.limit, retriever=retriever or None, group=True), "limit")
    answer = RoutirScores(
        query=asked.query,
        scores={hit.docid: hit.score for hit in result.hits},
        service=asked.service,
        cached=False,
        processed=True,
        timestamp=time(),
    )
    return json_answer(answer)


@blueprint.post("/score")
def routir_score() -> Response:
    """Score passages as RoutIR does: the higher, the better, in the order of the request."""
    asked = from_body(request, RoutirScore)
    if asked.service != _SCORES:
        raise BadInput("service", f"{asked.service[:80]!r} does not score passages; {_SCORES!r} does")
    check_texts("passages", asked.passages)
    texts = sorted(ranked(re_ranker(), asked.query, asked.passages, None), key=lambda text: text.place)
    answer = RoutirPassageScores(
        query=asked.query,
        scores=[text.score for text in texts],
        service=asked.service,
        cached=False,
        processed=True,
        timestamp=time(),
    )
    return json_answer(answer)


@blueprint.post("/content")
def routir_content() -> Response:
    """Answer a document as RoutIR does."""
    asked = from_body(request, RoutirContent)
    document = charged_document(index_named(asked.collection).index, asked.id)
    return json_answer(RoutirDocument(collection=asked.collection, id=asked.id, text=text_of(document)))


@blueprint.get("/avail")
def routir_avail() -> Response:
    """Name the services as RoutIR does."""
    indexes, scores = registry().indexes, [_SCORES] if registry().config.rerank.model else []
    rankings = [f"{name}/{retriever}" for name, served in indexes.items() for retriever in served.retrievers]
    return json_answer(
        RoutirServices(
            search=[*indexes, *rankings],
            score=scores,
            fuse=[],
            decompose_query=[],
            content=[*indexes],
            pipeline_aliases={},
        )
    )


@blueprint.get("/ping")
def routir_ping() -> Response:
    """Answer a sign of life."""
    return json_answer(RoutirPong())


OPERATIONS = MappingProxyType(
    {
        "routir_search": Operation(
            "",
            RoutirScores,
            body=RoutirSearch,
            problems=(400, 404, 413, 415),
            example=MappingProxyType({"service": "example-en/bm25", "query": "measles vaccine", "limit": 3}),
        ),
        "routir_score": Operation(
            "",
            RoutirPassageScores,
            body=RoutirScore,
            problems=(400, 413, 415),
            example=MappingProxyType({"service": "rerank", "query": "measles", "passages": ["A virus."]}),
        ),
        "routir_content": Operation(
            "",
            RoutirDocument,
            body=RoutirContent,
            problems=(400, 404, 413, 415),
            example=MappingProxyType({"collection": "example-en", "id": "en-vaccines-measles"}),
        ),
        "routir_avail": Operation("", RoutirServices),
        "routir_ping": Operation("", RoutirPong),
    }
)
