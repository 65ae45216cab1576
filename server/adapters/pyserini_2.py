"""The routes of Pyserini 2's REST server, which are Anserini's: ``GET /v1/{index}/search`` and ``/doc/{docid}``."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from flask import Blueprint, Response, request
from msgspec import Meta

from ...retrieval.config import Positive, Unit, Weight
from ...retrieval.search.evidence import Answer
from ...retrieval.search.options import Search
from ..api.operations import Operation
from ..errors import BadInput, Problem, RefusedError, UnknownIndexError
from ..memory import charged_document
from ..runtime import index_named
from ..schemas import ForeignFields, Parse, SearchOptions, document_answer, from_query, json_answer
from ..search import search_of, whole_evidence

if TYPE_CHECKING:
    from ...retrieval.search.index import Index

HELP = "Pyserini 2's and Anserini's REST routes: GET /v1/{index}/search"
KEY_PARAMETER = ""
STATUSES: MappingProxyType[int, int] = MappingProxyType({})
blueprint = Blueprint("pyserini_2", __name__)
MaxLength = Annotated[Positive | None, Meta(description="characters of a text that are answered; needs parse=true")]


class NoSuchIndexError(RefusedError):
    """No index of this name is served; to Pyserini 2 that is a bad request."""

    status, slug = 400, "unknown-index"


class Pyserini2Failure(Answer):
    """An error as Pyserini 2 answers it."""

    error: str


class Pyserini2Search(ForeignFields, kw_only=True):
    """The parameters of Pyserini 2's search; with ``k1`` and ``b`` it ranks by BM25 alone."""

    query: str
    hits: Annotated[Positive, Meta(description="how many hits")] = 10
    parse: Parse = True
    k1: Annotated[Weight | None, Meta(description="BM25's; goes with b")] = None
    b: Annotated[Unit | None, Meta(description="BM25's; goes with k1")] = None
    max_doc_length: MaxLength = None


class Pyserini2DocParameters(ForeignFields):
    """The parameters of Pyserini 2's document."""

    parse: Parse = True
    max_doc_length: MaxLength = None


class Pyserini2Query(Answer):
    """A query as Pyserini 2 answers it."""

    text: str


class Pyserini2Candidate(Answer):
    """A hit as Pyserini 2 answers it: its document's fields but for the id, or its text if there is nothing else."""

    docid: str
    score: float
    rank: int
    doc: Any


class Pyserini2Answer(Answer, kw_only=True):
    """The hits of one query as Pyserini 2 answers them."""

    api: Literal["v1"] = "v1"
    index: str
    query: Pyserini2Query
    candidates: list[Pyserini2Candidate]


class Pyserini2Document(Answer, kw_only=True):
    """A document as Pyserini 2 answers it."""

    api: Literal["v1"] = "v1"
    index: str
    docid: str
    doc: Any


FAILURE = Pyserini2Failure


def failure(problem: Problem) -> Pyserini2Failure:
    """Return an error as Pyserini 2 answers it."""
    return Pyserini2Failure(error=problem.detail)


@blueprint.get("/v1/<name>/search")
def pyserini_2_search(name: str) -> Response:
    """Search as Pyserini 2 does."""
    index = _index(name)
    asked = from_query(request.args, Pyserini2Search)
    shape = Pyserini2DocParameters(parse=asked.parse, max_doc_length=asked.max_doc_length)
    _check_shape(shape)
    result = whole_evidence(index, asked.query, _search(asked, index), highlight=False)
    candidates = [
        Pyserini2Candidate(docid=hit.docid, score=hit.score, rank=hit.rank, doc=_doc(index, hit.docid, shape))
        for hit in result.hits
    ]
    return json_answer(Pyserini2Answer(index=name, query=Pyserini2Query(text=asked.query), candidates=candidates))


@blueprint.get("/v1/<name>/doc/<docid:docid>")
def pyserini_2_document(name: str, docid: str) -> Response:
    """Answer a document as Pyserini 2 does."""
    index = _index(name)
    shape = from_query(request.args, Pyserini2DocParameters)
    _check_shape(shape)
    return json_answer(Pyserini2Document(index=name, docid=docid, doc=_doc(index, docid, shape)))


def _index(name: str) -> Index:
    """Return the index of this name.

    Raises NoSuchIndexError if none is served.
    """
    try:
        return index_named(name).index
    except UnknownIndexError as error:
        raise NoSuchIndexError(error.line) from None


def _search(asked: Pyserini2Search, index: Index) -> Search:
    """Return the search that is asked for.

    Raises BadInput if one of ``k1`` and ``b`` is missing.
    """
    if (asked.k1 is None) != (asked.b is None):
        raise BadInput("k1" if asked.k1 is None else "b", "BM25 parameters k1 and b must be set together")
    if asked.k1 is None or asked.b is None:
        return search_of(SearchOptions(k=asked.hits), index, k_name="hits")
    search = search_of(SearchOptions(k=asked.hits, retriever="bm25"), index, k_name="hits")
    return search._replace(bm25=msgspec.structs.replace(index.settings.bm25, k1=asked.k1, b=asked.b))


def _check_shape(asked: Pyserini2DocParameters) -> None:
    if asked.max_doc_length is not None and not asked.parse:
        raise BadInput("max_doc_length", "requires parse=true")


def _doc(index: Index, docid: str, shape: Pyserini2DocParameters) -> Any:
    document = charged_document(index, docid)
    if not shape.parse:
        return msgspec.json.encode(document_answer(document)).decode()
    text = document.text[: shape.max_doc_length]
    fields = {**document._asdict(), "text": text, "metadata": dict(document.metadata)}
    filled = {name: value for name, value in fields.items() if value and name != "docid"}
    return text if filled.keys() <= {"text"} else filled


OPERATIONS = MappingProxyType(
    {
        "pyserini_2_search": Operation(
            "",
            Pyserini2Answer,
            parameters=Pyserini2Search,
            problems=(400,),
            example=MappingProxyType({"query": "Is the measles vaccine effective?", "hits": 3}),
        ),
        "pyserini_2_document": Operation("", Pyserini2Document, parameters=Pyserini2DocParameters, problems=(400, 404)),
    }
)
