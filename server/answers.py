"""What the server answers, typed once."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from flask import Response

from retrieval.config import RetrieverName
from retrieval.domain import Document, Passage
from retrieval.evidence import Answer, Evidence
from retrieval.manifest import Manifest


class Took(Answer):
    """Milliseconds by stage: ranking, and reading what a person is shown."""

    retrieve: float
    evidence: float


class SearchAnswer(Answer):
    """The evidence for one query; ``note`` warns of a language that the encoder does not know."""

    request_id: str
    index: str
    manifest_id: str
    retriever: RetrieverName
    took_ms: Took
    note: str
    hits: list[Evidence]


class QueryText(Answer):
    """A query, as Anserini and Pyserini answer it."""

    text: str


class Candidate(Answer):
    """A hit, as Anserini and Pyserini answer it."""

    docid: str
    score: float
    rank: int
    doc: DocumentAnswer | str


class SimpleAnswer(Answer, kw_only=True):
    """The evidence for one query, also in the shape of Anserini's and Pyserini's ``/v1/{index}/search``."""

    api: Literal["v1"] = "v1"
    index: str
    query: QueryText
    candidates: list[Candidate]
    request_id: str
    manifest_id: str
    retriever: RetrieverName
    took_ms: Took
    note: str
    hits: list[Evidence]


class DocumentAnswer(Answer):
    """A document as it was indexed."""

    docid: str
    title: str
    text: str
    url: str
    date: str
    language: str
    source: str
    topic: str
    metadata: dict[str, Any]


class PassagePlace(Answer):
    """A passage of a document; ``start`` and ``end`` are characters of the document's text."""

    number: int
    start: int
    end: int
    text: str


class DocumentWithPassages(Answer):
    """A document with its passages."""

    request_id: str
    index: str
    manifest_id: str
    document: DocumentAnswer
    passages: list[PassagePlace]


class SimpleDocument(Answer, kw_only=True):
    """A document in the shape of Anserini's and Pyserini's ``/v1/{index}/doc/{docid}``."""

    api: Literal["v1"] = "v1"
    index: str
    docid: str
    doc: DocumentAnswer | str


class IndexSummary(Answer):
    """A served index: what it holds and which retrievers it answers, its default first."""

    name: str
    manifest_id: str
    documents: int
    passages: int
    language: str
    retrievers: list[str]


class IndexList(Answer):
    """All served indexes."""

    request_id: str
    indexes: list[IndexSummary]


class IndexAnswer(Answer):
    """A served index with its manifest."""

    request_id: str
    index: IndexSummary
    manifest: Manifest


class BatchHits(Answer):
    """The evidence for one query of a batch."""

    qid: str
    note: str
    hits: list[Evidence]


class BatchFault(Answer):
    """A query of a batch that makes no sense: it fails alone."""

    qid: str
    error: str
    detail: str
    field: str


class Health(Answer):
    """Whether the server can answer; ``indexes`` says of each ``ready``, or what is wrong."""

    status: Literal["ok", "unavailable"]
    indexes: dict[str, str] | msgspec.UnsetType = msgspec.UNSET


def document_answer(document: Document) -> DocumentAnswer:
    """Return a document as it is answered."""
    return DocumentAnswer(**{**document._asdict(), "metadata": dict(document.metadata)})


def passage_place(passage: Passage) -> PassagePlace:
    """Return a passage as it is answered."""
    return PassagePlace(number=passage.number, start=passage.start, end=passage.end, text=passage.text)


def json_answer(answer: Answer, status: int = 200) -> Response:
    """Encode an answer as JSON."""
    return Response(msgspec.json.encode(answer), status, mimetype="application/json")
