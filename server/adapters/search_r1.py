"""Search-R1's ``POST /retrieve`` and ``POST /rerank``, from which a language model that reasons is fed.

Fields as in its ``retrieval_server.py`` and ``rerank_server.py``; the first line of ``contents`` is the title in
quotes. Each query's own documents are re-ranked, and come back as they were sent, with the scores of the model of the
stage ``rerank``.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Annotated, Any

from flask import Blueprint, Response, request
from msgspec import Meta

from ...retrieval.config import Positive
from ...retrieval.search.evidence import Answer, Evidence
from ..api.operations import Operation
from ..errors import BadInput
from ..runtime import registry
from ..schemas import ForeignFields, SearchOptions, from_body, json_answer
from ..search import limit_of
from . import _shared, configured_index
from ._shared import hits_of, ranked, re_ranker, whole_text

HELP = "Search-R1's retriever and re-ranker: POST /retrieve, POST /rerank"
KEY_PARAMETER = ""
STATUSES = _shared.FASTAPI_STATUSES
FAILURE = _shared.FastAPIFailure
failure = _shared.fastapi_failure
blueprint = Blueprint("search_r1", __name__)

_BEST = 3
"""Documents of a query that come back if the client says nothing: ``rerank_topk`` of ``rerank_server.py``."""


class SearchR1Queries(ForeignFields):
    """The body of Search-R1's retrieval."""

    queries: list[str]
    topk: Annotated[Positive | None, Meta(description="how many hits a query; left out: as configured")] = None
    return_scores: bool = False


class SearchR1Document(Answer):
    """A passage as Search-R1 reads it: its title in quotes, then its text."""

    id: str
    contents: str


class SearchR1Hit(Answer):
    """A passage with its score."""

    document: SearchR1Document
    score: float


class SearchR1Answer(Answer):
    """The hits of each query, in order: with ``return_scores`` each as SearchR1Hit, else each as SearchR1Document."""

    result: list[list[Any]]


@blueprint.post("/retrieve")
def search_r1_retrieve() -> Response:
    """Search for many queries as Search-R1 does."""
    asked = from_body(request, SearchR1Queries)
    index, server = configured_index().index, registry().config.server
    hits = asked.topk or index.settings.search.k
    if not 1 <= len(asked.queries) <= server.max_batch:
        raise BadInput("queries", f"1 to {server.max_batch} are answered at once, these are {len(asked.queries)}")
    if len(asked.queries) * hits > server.max_batch_hits:
        raise BadInput("topk", f"{len(asked.queries)} queries of {hits} hits are more than {server.max_batch_hits}")
    options = SearchOptions(k=asked.topk)
    result = [
        [
            _answer(hit, scored=asked.return_scores)
            for hit in hits_of(index, query, options, "topk", query_name=name).hits
        ]
        for name, query in ((f"queries[{number}]", query) for number, query in enumerate(asked.queries))
    ]
    return json_answer(SearchR1Answer(result=result))


def _answer(hit: Evidence, *, scored: bool) -> SearchR1Hit | SearchR1Document:
    document = SearchR1Document(id=hit.docid, contents=f'"{hit.title or hit.docid}"\n{hit.passage.text}')
    return SearchR1Hit(document=document, score=hit.score) if scored else document


class SearchR1Rerank(ForeignFields):
    """The body of Search-R1's re-ranking."""

    queries: list[str]
    documents: Annotated[
        list[list[dict[str, Any]]],
        Meta(description="of each query those of /retrieve, with or without scores"),
    ]
    rerank_topk: Annotated[Positive | None, Meta(description="how many documents a query; left out: 3")] = None
    return_scores: bool = False


class SearchR1Scored(Answer):
    """A document as it was sent, with its new score."""

    document: dict[str, Any]
    score: float


@blueprint.post("/rerank")
def search_r1_rerank() -> Response:
    """Re-rank the documents of many queries as Search-R1 does."""
    asked = from_body(request, SearchR1Rerank)
    _check_documents(asked)
    model = re_ranker()
    bare = [[document.get("document", document) for document in sent] for sent in asked.documents]
    texts = [_texts(f"documents[{number}]", documents) for number, documents in enumerate(bare)]
    limit, most = limit_of(len(texts)), asked.rerank_topk or _BEST
    result: list[list[Any]] = []
    for query, documents, contents in zip(asked.queries, bare, texts, strict=True):
        best = [(documents[text.place], text.score) for text in ranked(model, query, contents, most, limit)]
        scored = [SearchR1Scored(document=document, score=score) for document, score in best]
        result.append(scored if asked.return_scores else [document for document, _ in best])
    return json_answer(SearchR1Answer(result=result))


def _check_documents(asked: SearchR1Rerank) -> None:
    server = registry().config.server
    if not 1 <= len(asked.queries) <= server.max_batch:
        raise BadInput("queries", f"1 to {server.max_batch} are answered at once, these are {len(asked.queries)}")
    if len(asked.documents) != len(asked.queries):
        raise BadInput("documents", f"there are {len(asked.documents)} lists for {len(asked.queries)} queries")
    pairs = sum(map(len, asked.documents))
    if pairs > server.max_batch_hits:
        raise BadInput("documents", f"{pairs} documents are more than {server.max_batch_hits}")


def _texts(name: str, documents: list[dict[str, Any]]) -> list[str]:
    """Return the title and the text of each document as they are indexed.

    Raises BadInput, naming the document, if one has no ``contents``.
    """
    texts = []
    for number, document in enumerate(documents):
        contents = document.get("contents") if isinstance(document, dict) else None
        if not isinstance(contents, str):
            raise BadInput(f"{name}[{number}]", "has no contents")
        title, _, text = contents.partition("\n")
        texts.append(whole_text(title.removeprefix('"').removesuffix('"'), text))
    return texts


OPERATIONS = MappingProxyType(
    {
        "search_r1_retrieve": Operation(
            "",
            SearchR1Answer,
            body=SearchR1Queries,
            problems=(400, 413, 415),
            example=MappingProxyType({"queries": ["measles vaccine"], "topk": 2, "return_scores": True}),
        ),
        "search_r1_rerank": Operation(
            "",
            SearchR1Answer,
            body=SearchR1Rerank,
            problems=(400, 413, 415),
            example=MappingProxyType(
                {
                    "queries": ["measles vaccine"],
                    "documents": [[{"contents": '"The moon"\nIt is far.'}, {"contents": '"Measles"\nTwo doses.'}]],
                    "return_scores": True,
                }
            ),
        ),
    }
)
