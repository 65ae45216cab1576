"""RoutIR's services over HTTP, with the fields of RoutIR 0.0.2's ``serve.py`` and ``processors``.

Each served index is a service under its name, and each of its rankings under ``INDEX/RANKING``. If
a re-ranker is configured, the service ``rerank`` scores passages with it.
"""

from __future__ import annotations

from time import time
from typing import Annotated, Any, Literal

from ...core.settings import Positive
from ...retrieval.search.evidence import AnswerPart
from ...retrieval.stages.rerank import RerankSettings
from ..call import current_call
from ..errors import BadInput
from ..memory import charged_document
from ..runtime import index_named, registry
from ..schemas import ForeignFields, SearchOptions, says
from . import Adapter
from ._shared import ErrorFailure, check_count, hits_of, rank_texts, re_ranker, text_of

_SCORES = "rerank"  # the service that scores passages


class RoutirFailure(ErrorFailure):
    """An error in RoutIR's format."""


adapter = Adapter(__name__, RoutirFailure, {404: 400, 415: 400})


class RoutirSearch(ForeignFields):
    """The body of RoutIR's search."""

    service: Annotated[str, says("an index, or an index and a ranking: INDEX/bm25")]
    query: str
    limit: Annotated[Positive, says("the number of hits")] = 10


class RoutirScore(ForeignFields):
    """The body of RoutIR's scoring."""

    service: str
    query: str
    passages: list[str]


class RoutirContent(ForeignFields):
    """The body of RoutIR's look-up of a document."""

    collection: Annotated[str, says("an index")]
    id: Annotated[str, says("a docid")]


class RoutirScores(AnswerPart):
    """The hits of a query in RoutIR's format, best first."""

    query: str
    scores: dict[str, float]
    service: str
    cached: bool
    processed: bool
    timestamp: float


class RoutirPassageScores(AnswerPart):
    """The scores of passages in RoutIR's format, in the order of the request."""

    query: str
    scores: list[float]
    service: str
    cached: bool
    processed: bool
    timestamp: float


class RoutirDocument(AnswerPart):
    """A document in RoutIR's format: its title and its text."""

    collection: str
    id: str
    text: str


class RoutirServices(AnswerPart):
    """The services of each type."""

    search: list[str]
    score: list[str]
    fuse: list[str]
    decompose_query: list[str]
    content: list[str]
    pipeline_aliases: dict[str, str]


class RoutirPong(AnswerPart):
    """The answer of a live server."""

    status: Literal["pong"] = "pong"


@adapter.route(
    "POST",
    "/search",
    {"service": "example-en/bm25", "query": "measles vaccine", "limit": 3},
    problems=(404,),
)
def routir_search(body: RoutirSearch) -> RoutirScores:
    """Search as RoutIR does."""
    name, _, retriever = body.service.partition("/")
    options = SearchOptions(k=body.limit, retriever=retriever or None, group=True)
    hits = hits_of(index_named(name).index, body.query, options, "limit")
    return RoutirScores(**_answer(body), scores={hit.docid: hit.score for hit in hits})


@adapter.route(
    "POST", "/score", {"service": "rerank", "query": "measles", "passages": ["A virus."]}
)
def routir_score(body: RoutirScore) -> RoutirPassageScores:
    """Score passages as RoutIR does, in the order of the request; a higher score is better."""
    if body.service != _SCORES:
        raise BadInput(
            "service", f"{body.service[:80]!r} does not score passages; {_SCORES!r} does"
        )
    check_count("passages", body.passages)
    texts = sorted(rank_texts(re_ranker(), body.query, body.passages), key=lambda text: text.place)
    return RoutirPassageScores(**_answer(body), scores=[text.score for text in texts])


def _answer(body: RoutirSearch | RoutirScore) -> dict[str, Any]:
    head = {"query": body.query, "service": body.service}
    return {**head, "cached": False, "processed": True, "timestamp": time()}


@adapter.route(
    "POST", "/content", {"collection": "example-en", "id": "en-vaccines-measles"}, problems=(404,)
)
def routir_content(body: RoutirContent) -> RoutirDocument:
    """Return a document as RoutIR does."""
    document = charged_document(current_call().memory, index_named(body.collection).index, body.id)
    return RoutirDocument(collection=body.collection, id=body.id, text=text_of(document))


@adapter.route("GET", "/avail")
def routir_avail() -> RoutirServices:
    """List the services as RoutIR does."""
    indexes = registry().indexes
    rankings = [
        f"{name}/{retriever}" for name, served in indexes.items() for retriever in served.retrievers
    ]
    return RoutirServices(
        search=[*indexes, *rankings],
        score=[_SCORES] if registry().config.of(RerankSettings).model else [],
        fuse=[],
        decompose_query=[],
        content=[*indexes],
        pipeline_aliases={},
    )


@adapter.route("GET", "/ping")
def routir_ping() -> RoutirPong:
    """Report that the server is alive."""
    return RoutirPong()
