"""The routes of Pyserini 2's REST server, which are Anserini's: ``GET /v1/{index}/search`` and
``/doc/{docid}``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from msgspec.structs import replace

from ...core.settings import Positive, Unit, Weight
from ...retrieval.search.evidence import AnswerPart
from ..call import current_call
from ..errors import BadInput, RefusedError, UnknownIndexError
from ..memory import charged_document
from ..runtime import index_named
from ..schemas import ForeignFields, Parse, SearchOptions, document_answer, says
from ..search import search_of, whole_answer
from . import Adapter
from ._shared import EXAMPLE, ErrorFailure

if TYPE_CHECKING:
    from ...retrieval.search.index import Index

MaxLength = Annotated[
    Positive | None, says("the maximum number of characters of a text; requires parse=true")
]


class Pyserini2Failure(ErrorFailure):
    """An error in Pyserini 2's format."""


adapter = Adapter(__name__, Pyserini2Failure)


class Pyserini2DocParameters(ForeignFields, kw_only=True):
    """The parameters of Pyserini 2's route for a document."""

    parse: Parse = True
    max_doc_length: MaxLength = None


class Pyserini2Search(Pyserini2DocParameters, kw_only=True):
    """The parameters of Pyserini 2's search; ``k1`` and ``b`` select BM25."""

    query: Annotated[str, says("a claim, a tweet or a question")]
    hits: Annotated[Positive, says("the number of hits")] = 10
    k1: Annotated[Weight | None, says("a parameter of BM25; requires b")] = None
    b: Annotated[Unit | None, says("a parameter of BM25; requires k1")] = None


class Pyserini2Query(AnswerPart):
    """A query in Pyserini 2's format."""

    text: str


class Pyserini2Candidate(AnswerPart):
    """A hit in Pyserini 2's format: its document's fields without the id, or its text if no other
    field is filled.
    """

    docid: str
    score: float
    rank: int
    doc: Any


class Pyserini2Answer(AnswerPart, kw_only=True):
    """The hits of one query in Pyserini 2's format."""

    api: Literal["v1"] = "v1"
    index: str
    query: Pyserini2Query
    candidates: list[Pyserini2Candidate]


class Pyserini2Document(AnswerPart, kw_only=True):
    """A document in Pyserini 2's format."""

    api: Literal["v1"] = "v1"
    index: str
    docid: str
    doc: Any


@adapter.route("GET", "/v1/<name>/search", {"query": EXAMPLE, "hits": 3})
def pyserini_2_search(body: Pyserini2Search, name: str) -> Pyserini2Answer:
    """Search as Pyserini 2 does."""
    index = _index(name, body)
    if (body.k1 is None) != (body.b is None):
        raise BadInput(
            "k1" if body.k1 is None else "b", "BM25 parameters k1 and b must be set together"
        )
    call = current_call()
    search = search_of(
        call,
        SearchOptions(k=body.hits, retriever=None if body.k1 is None else "bm25"),
        index,
        "hits",
    )
    if body.k1 is not None and body.b is not None:
        search = replace(
            search, bm25=msgspec.structs.replace(index.settings.bm25, k1=body.k1, b=body.b)
        )
    candidates = [
        Pyserini2Candidate(
            docid=hit.docid, score=hit.score, rank=hit.rank, doc=_doc(index, hit.docid, body)
        )
        for hit in whole_answer(call, index, body.query, search).hits
    ]
    return Pyserini2Answer(index=name, query=Pyserini2Query(text=body.query), candidates=candidates)


@adapter.route("GET", "/v1/<name>/doc/<docid:docid>", problems=(404,))
def pyserini_2_document(body: Pyserini2DocParameters, name: str, docid: str) -> Pyserini2Document:
    """Return a document as Pyserini 2 does."""
    return Pyserini2Document(index=name, docid=docid, doc=_doc(_index(name, body), docid, body))


def _index(name: str, body: Pyserini2DocParameters) -> Index:
    try:
        index = index_named(name).index
    except UnknownIndexError as error:
        raise RefusedError(error.line, 400, "unknown-index") from None
    if body.max_doc_length is not None and not body.parse:
        raise BadInput("max_doc_length", "requires parse=true")
    return index


def _doc(index: Index, docid: str, body: Pyserini2DocParameters) -> Any:
    document = charged_document(current_call().memory, index, docid)
    if not body.parse:
        return msgspec.json.encode(document_answer(document)).decode()
    text = document.text[: body.max_doc_length]
    fields = {**document._asdict(), "text": text, "metadata": dict(document.metadata)}
    filled = {name: value for name, value in fields.items() if value and name != "docid"}
    return text if filled.keys() <= {"text"} else filled
