"""The routes of Pyserini 1's REST server (``python -m pyserini.server.rest``), as in version 1.6.0.

Options of its prebuilt indexes are ignored. Its settings are not offered: any client could change
them for all others.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Annotated, Any

from ...core.settings import Positive
from ...retrieval.search.evidence import AnswerPart
from ..call import current_call
from ..errors import BadInput
from ..memory import charged_document
from ..runtime import index_named, registry
from ..schemas import ForeignFields, SearchOptions, says
from . import Adapter
from ._shared import EXAMPLE, FASTAPI_STATUSES, FastAPIFailure, hits_of, text_of

adapter = Adapter(__name__, FastAPIFailure, FASTAPI_STATUSES)
_RETRIEVERS = MappingProxyType({"tf": "bm25", "faiss": "dense"})


class PyseriniQuery(ForeignFields):
    """The body of Pyserini 1's search: a query as text, or as an object with ``query_txt`` and
    ``qid``.
    """

    query: str | dict[str, Any]
    hits: Annotated[Positive, says("the number of hits")] = 10
    qid: Annotated[str, says("an id that the answer repeats")] = ""


class PyseriniIndexType(ForeignFields):
    """The parameters of Pyserini 1's list of indexes."""

    index_type: Annotated[
        str, says("tf: indexes with BM25; faiss: indexes with vectors; others: no index")
    ]


class PyseriniQueryInfo(AnswerPart):
    """A query in Pyserini 1's format."""

    qid: str
    query_txt: str
    query_img_path: str | None = None
    query_modality: str = "text"
    fp16: bool = False


class PyseriniCandidate(AnswerPart):
    """A hit in Pyserini 1's format; the text begins with the title."""

    docid: str
    score: float
    document_txt: str
    document_img_path: str | None = None
    encoded_img: str | None = None


class PyseriniHits(AnswerPart):
    """The hits of one query in Pyserini 1's format."""

    query: PyseriniQueryInfo
    candidates: list[PyseriniCandidate]


class PyseriniStatus(AnswerPart):
    """The state of an index in Pyserini 1's format."""

    downloaded: bool
    size_bytes: str


class PyseriniDocument(AnswerPart):
    """A document in Pyserini 1's format: every field is a text."""

    id: str
    contents: str
    title: str
    url: str
    date: str


@adapter.route("POST", "/v1/indexes/<name>/search", {"query": EXAMPLE, "hits": 3}, problems=(404,))
def pyserini_1_search(body: PyseriniQuery, name: str) -> PyseriniHits:
    """Search as Pyserini 1 does."""
    index, text, qid = index_named(name).index, body.query, body.qid
    if isinstance(text, dict):
        text, qid = text.get("query_txt", ()), text.get("qid", qid)
    if not isinstance(text, str) or not isinstance(qid, str):
        raise BadInput("query", "give a text, or an object whose query_txt and qid are texts")
    memory = current_call().memory
    candidates = [
        PyseriniCandidate(
            docid=hit.docid,
            score=hit.score,
            document_txt=text_of(charged_document(memory, index, hit.docid)),
        )
        for hit in hits_of(index, text, SearchOptions(k=body.hits), "hits")
    ]
    return PyseriniHits(query=PyseriniQueryInfo(qid=qid, query_txt=text), candidates=candidates)


@adapter.route("GET", "/v1/indexes/<name>/documents/<docid:docid>", problems=(404,))
def pyserini_1_document(name: str, docid: str) -> PyseriniDocument:
    """Return a document as Pyserini 1 does."""
    document = charged_document(current_call().memory, index_named(name).index, docid)
    return PyseriniDocument(
        id=docid,
        contents=text_of(document),
        title=document.title,
        url=document.url,
        date=document.date,
    )


@adapter.route("GET", "/v1/indexes/<name>/status", problems=(404,))
def pyserini_1_status(name: str) -> PyseriniStatus:
    """Report that an index is available, with its size."""
    served = index_named(name)
    return PyseriniStatus(
        downloaded=True, size_bytes=str(served.index.footprint(served.retrievers[0]).bytes)
    )


@adapter.route("GET", "/v1/indexes/")
def pyserini_1_indexes(body: PyseriniIndexType) -> list[str]:
    """List the indexes of a type as Pyserini 1 does."""
    wanted = _RETRIEVERS.get(body.index_type)
    return [name for name, served in registry().indexes.items() if wanted in served.retrievers]
