"""The routes of Pyserini 1's REST server (``python -m pyserini.server.rest``), as version 1.6.0 has them.

What belongs to its prebuilt indexes is passed over: ``ef_search``, ``encoder``, ``query_generator``. Its settings,
which any client can change for all others, are not offered.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Annotated, Any

from flask import Blueprint, Response, request
from msgspec import Meta

from ...retrieval.config import Positive
from ...retrieval.search.evidence import Answer
from ..api.operations import Operation
from ..errors import BadInput
from ..memory import charged_document
from ..runtime import index_named, registry
from ..schemas import ForeignFields, SearchOptions, from_body, from_query, json_answer
from . import _shared
from ._shared import hits_of, text_of, whole_text

HELP = "Pyserini 1's REST routes: POST /v1/indexes/{index}/search"
KEY_PARAMETER = ""
STATUSES = _shared.FASTAPI_STATUSES
FAILURE = _shared.FastAPIFailure
failure = _shared.fastapi_failure
blueprint = Blueprint("pyserini_1", __name__)
_RETRIEVERS = MappingProxyType({"tf": "bm25", "faiss": "dense"})


class PyseriniQuery(ForeignFields):
    """The body of Pyserini 1's search: a query as text, or as an object with ``query_txt`` and ``qid``."""

    query: str | dict[str, Any]
    hits: Annotated[Positive, Meta(description="how many hits")] = 10
    qid: Annotated[str, Meta(description="comes back as it is")] = ""


class PyseriniIndexType(ForeignFields):
    """The parameters of Pyserini 1's list of indexes."""

    index_type: Annotated[str, Meta(description="tf: those with BM25; faiss: those with vectors; others name none")]


class PyseriniQueryInfo(Answer):
    """A query as Pyserini 1 answers it."""

    qid: str
    query_txt: str
    query_img_path: str | None = None
    query_modality: str = "text"
    fp16: bool = False


class PyseriniCandidate(Answer):
    """A hit as Pyserini 1 answers it; its text begins with its title."""

    docid: str
    score: float
    document_txt: str
    document_img_path: str | None = None
    encoded_img: str | None = None


class PyseriniHits(Answer):
    """The hits of one query as Pyserini 1 answers them."""

    query: PyseriniQueryInfo
    candidates: list[PyseriniCandidate]


class PyseriniStatus(Answer):
    """The state of an index as Pyserini 1 answers it."""

    downloaded: bool
    size_bytes: str


class PyseriniDocument(Answer):
    """A document as Pyserini 1 answers it: texts alone."""

    id: str
    contents: str
    title: str
    url: str
    date: str


@blueprint.post("/v1/indexes/<name>/search")
def pyserini_1_search(name: str) -> Response:
    """Search as Pyserini 1 does."""
    index = index_named(name).index
    asked = from_body(request, PyseriniQuery)
    text, qid = _query(asked)
    result = hits_of(index, text, SearchOptions(k=asked.hits), "hits")
    candidates = [
        PyseriniCandidate(docid=hit.docid, score=hit.score, document_txt=text_of(charged_document(index, hit.docid)))
        for hit in result.hits
    ]
    return json_answer(PyseriniHits(query=PyseriniQueryInfo(qid=qid, query_txt=text), candidates=candidates))


@blueprint.get("/v1/indexes/<name>/documents/<docid:docid>")
def pyserini_1_document(name: str, docid: str) -> Response:
    """Answer a document as Pyserini 1 does."""
    document = charged_document(index_named(name).index, docid)
    return json_answer(
        PyseriniDocument(
            id=docid,
            contents=whole_text(document.title, document.text),
            title=document.title,
            url=document.url,
            date=document.date,
        )
    )


@blueprint.get("/v1/indexes/<name>/status")
def pyserini_1_status(name: str) -> Response:
    """Answer that an index is there, and its size."""
    served = index_named(name)
    size = served.index.footprint(served.retrievers[0]).bytes
    return json_answer(PyseriniStatus(downloaded=True, size_bytes=str(size)))


@blueprint.get("/v1/indexes/")
def pyserini_1_indexes() -> Response:
    """List the indexes of a type as Pyserini 1 does."""
    wanted = _RETRIEVERS.get(from_query(request.args, PyseriniIndexType).index_type)
    return json_answer([name for name, served in registry().indexes.items() if wanted in served.retrievers])


def _query(asked: PyseriniQuery) -> tuple[str, str]:
    """Return the text and the id of a query.

    Raises BadInput if it has no text.
    """
    if isinstance(asked.query, str):
        return asked.query, asked.qid
    text, qid = asked.query.get("query_txt"), asked.query.get("qid", asked.qid)
    if not isinstance(text, str) or not isinstance(qid, str):
        raise BadInput("query", "give it as text, or as an object whose query_txt and qid are texts")
    return text, qid


OPERATIONS = MappingProxyType(
    {
        "pyserini_1_search": Operation(
            "",
            PyseriniHits,
            body=PyseriniQuery,
            problems=(400, 404, 413, 415),
            example=MappingProxyType({"query": "Is the measles vaccine effective?", "hits": 3}),
        ),
        "pyserini_1_document": Operation("", PyseriniDocument, problems=(404,)),
        "pyserini_1_status": Operation("", PyseriniStatus, problems=(404,)),
        "pyserini_1_indexes": Operation("", str, parameters=PyseriniIndexType, problems=(400,), answers_list=True),
    }
)
