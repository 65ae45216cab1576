"""Search-R1's ``POST /retrieve`` and ``POST /rerank``, which supply evidence to a reasoning
language model.

Fields follow Search-R1's ``retrieval_server.py`` and ``rerank_server.py``; the first line of
``contents`` is the title in quotes. A query without words has no hits, and a query that is too long
is cut. Neither is an error: the client is a training program, which sends queries that a model
wrote, all at once. ``/rerank`` ranks each query's own documents with the model of the stage
``rerank``, and returns them unchanged with their scores.
"""

from __future__ import annotations

from typing import Annotated, Any

from ...core.settings import Positive
from ...retrieval.search.evidence import AnswerPart
from ..call import current_call
from ..errors import BadInput
from ..runtime import registry
from ..schemas import ForeignFields, SearchOptions, says
from ..search import search_of, whole_answer
from . import Adapter, configured_index
from ._shared import FASTAPI_STATUSES, FastAPIFailure, rank_texts, re_ranker, title_of

adapter = Adapter(__name__, FastAPIFailure, FASTAPI_STATUSES)
_BEST = 3  # the default number of documents per query: rerank_topk of rerank_server.py


class SearchR1Queries(ForeignFields):
    """The body of Search-R1's retrieval."""

    queries: list[str]
    topk: Annotated[
        Positive | None, says("the number of hits per query (default: as configured)")
    ] = None
    return_scores: bool = False


class SearchR1Answer(AnswerPart):
    """The documents of each query, best first; each is an object with its score if
    ``return_scores`` is true.
    """

    result: list[list[Any]]


@adapter.route(
    "POST", "/retrieve", {"queries": ["measles vaccine"], "topk": 2, "return_scores": True}
)
def search_r1_retrieve(body: SearchR1Queries) -> SearchR1Answer:
    """Search for many queries as Search-R1 does."""
    index, most = configured_index().index, registry().config.server.max_batch_hits
    k = body.topk or index.settings.search.k
    call = current_call()
    search = search_of(call, SearchOptions(k=body.topk), index, k_name="topk")
    if len(body.queries) * k > most:
        raise BadInput(
            "topk",
            f"{len(body.queries)} queries with {k} hits each exceed the limit of {most} hits",
        )
    resolved, longest = index.resolve(search), index.settings.search.max_query_chars
    texts = {
        query: query[:longest] for query in body.queries if resolved.has_words(query[:longest])
    }
    found: dict[str, list[Any]] = {}
    for query, text in texts.items():  # a request often repeats a query; search only once
        hits = whole_answer(call, index, text, search, "queries").hits
        documents = [
            {"id": hit.docid, "contents": f'"{title_of(hit)}"\n{hit.passage.text}'} for hit in hits
        ]
        scored = [
            {"document": one, "score": hit.score} for one, hit in zip(documents, hits, strict=True)
        ]
        found[query] = scored if body.return_scores else documents
    return SearchR1Answer(result=[found.get(query, []) for query in body.queries])


class SearchR1Rerank(ForeignFields):
    """The body of Search-R1's re-ranking."""

    queries: list[str]
    documents: Annotated[
        list[list[dict[str, Any]]],
        says("for each query, documents as /retrieve returns them, with or without scores"),
    ]
    rerank_topk: Annotated[
        Positive | None, says("the number of documents per query (default: 3)")
    ] = None
    return_scores: bool = False


_EXAMPLE = {
    "queries": ["measles vaccine"],
    "documents": [[{"contents": '"The moon"\nIt is far.'}, {"contents": '"Measles"\nTwo doses.'}]],
    "return_scores": True,
}


@adapter.route("POST", "/rerank", _EXAMPLE)
def search_r1_rerank(body: SearchR1Rerank) -> SearchR1Answer:
    """Re-rank the documents of many queries as Search-R1 does."""
    if len(body.documents) != len(body.queries):
        raise BadInput(
            "documents", f"there are {len(body.documents)} lists for {len(body.queries)} queries"
        )
    pairs, most = sum(map(len, body.documents)), registry().config.server.max_batch_hits
    if pairs > most:
        raise BadInput("documents", f"{pairs} documents exceed the limit of {most}")
    model = re_ranker()
    bare = [[document.get("document", document) for document in sent] for sent in body.documents]
    texts = [_texts(f"documents[{number}]", documents) for number, documents in enumerate(bare)]
    limit = current_call().limit(len(texts))
    result: list[list[Any]] = []
    for query, documents, contents in zip(body.queries, bare, texts, strict=True):
        best = rank_texts(model, query, contents, body.rerank_topk or _BEST, limit)
        scored = [{"document": documents[text.place], "score": text.score} for text in best]
        result.append(scored if body.return_scores else [one["document"] for one in scored])
    return SearchR1Answer(result=result)


def _texts(name: str, documents: list[dict[str, Any]]) -> list[str]:
    texts = []
    for number, document in enumerate(documents):
        contents = document.get("contents") if isinstance(document, dict) else None
        if not isinstance(contents, str):
            raise BadInput(f"{name}[{number}]", "has no contents")
        title, _, text = contents.partition("\n")
        title = title.removeprefix('"').removesuffix('"')
        texts.append(f"{title}\n{text}" if title else text)
    return texts
