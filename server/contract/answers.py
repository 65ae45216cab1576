"""The types of the server's answers."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from flask import Response

from ...indexer.jobs import Mode, State
from ...retrieval.counting import FacetAnswer, TotalAnswer
from ...retrieval.domain import Document, Passage
from ...retrieval.evidence import Answer, Evidence, RetrieverPart
from ...retrieval.manifest import Manifest
from ...retrieval.votes import FusionKind


class Took(Answer):
    """Milliseconds by stage: ranking, and reading what a person is shown."""

    retrieve: float
    evidence: float


class RankTook(Answer):
    """Milliseconds by stage: ranking, and weighing words."""

    rank: float
    explain: float


class FusionAnswer(Answer):
    """The fusion of rankings: ``rrf_k`` counts for rrf alone, ``depth`` is how many hits of each took part."""

    kind: FusionKind
    rrf_k: int
    weights: dict[str, float]
    depth: int


class ExplainedPart(Answer):
    """A retriever's own rank (from 1) and score of a hit; a hit's votes add up to its score."""

    rank: int
    score: float
    vote: float


class ExplainedHit(Answer):
    """How the score of a hit came about.

    ``words`` are the words of the query that its passage holds, each with what BM25 counts it as, heaviest first;
    ``sentence`` says all of it for people.
    """

    rank: int
    docid: str
    passage: int
    score: float
    retrievers: dict[str, ExplainedPart]
    words: list[WordWeight]
    sentence: str
    stages: dict[str, RetrieverPart] | msgspec.UnsetType = msgspec.UNSET


class Explanation(Answer):
    """The text after the profile, its terms by the analyzer, and how scores came about."""

    text: str
    terms: list[str]
    fusion: FusionAnswer | None
    hits: list[ExplainedHit]


Coverage = dict[str, Literal["complete", "cut off"]]
"""Each retriever, and the highlights, by whether they were ready in time; answered only if one was not."""
CoverageIfAny = Coverage | msgspec.UnsetType


TotalIfAsked = TotalAnswer | msgspec.UnsetType
FacetsIfAsked = dict[str, FacetAnswer] | msgspec.UnsetType
CursorIfAny = str | msgspec.UnsetType
DepthIfFused = int | msgspec.UnsetType
ApproximateIfSo = Literal[True] | msgspec.UnsetType
"""That an approximate index of vectors was asked: a few of the nearest passages may be missing; there only if so."""


SuitedIfAny = list[str] | msgspec.UnsetType
"""The served indexes that are of the query's script; there only where the one that was asked is not."""


SuggestionIfAny = str | msgspec.UnsetType
"""The query with its misspelt words put right, which would match more; nobody has searched for it."""


class SearchAnswer(Answer, kw_only=True):
    """The evidence for one query; ``note`` says what a reader of the hits should know, ``qid`` comes back as it was.

    ``query`` is there if it is of the query language, or a document. ``cursor``, given back, asks for what follows;
    there is none after the last hit. ``depth`` is how many hits of each ranking were fused, where rankings are: the
    hits that follow have scores below 0.
    """

    request_id: str
    index: str
    manifest_id: str
    retriever: str
    took_ms: Took
    note: str
    hits: list[Evidence]
    qid: str | msgspec.UnsetType = msgspec.UNSET
    query: QueryText | msgspec.UnsetType = msgspec.UNSET
    explanation: Explanation | msgspec.UnsetType = msgspec.UNSET
    suited_indexes: SuitedIfAny = msgspec.UNSET
    suggestion: SuggestionIfAny = msgspec.UNSET
    coverage: CoverageIfAny = msgspec.UNSET
    approximate: ApproximateIfSo = msgspec.UNSET
    depth: DepthIfFused = msgspec.UNSET
    cursor: CursorIfAny = msgspec.UNSET
    total: TotalIfAsked = msgspec.UNSET
    facets: FacetsIfAsked = msgspec.UNSET


class ParsedAnswer(Answer):
    """A query of the query language as it was understood: what is ranked by, and what else a passage must have."""

    text: str
    phrases: list[str]
    without: list[str]
    title: list[str]
    source: list[str]
    topic: list[str]
    before: str
    after: str


class QueryText(Answer):
    """A query, as Anserini and Pyserini answer it, and, if it is of the query language, what was understood.

    Of a document that more like it is found of, ``like`` is the id and ``text`` the words that it was searched for by.
    """

    text: str
    parsed: ParsedAnswer | msgspec.UnsetType = msgspec.UNSET
    like: str | msgspec.UnsetType = msgspec.UNSET

    @property
    def tells(self) -> bool:
        """Whether it says more than what was asked."""
        return bool(self.parsed or self.like)


class AskedIndex(Answer):
    """One of several indexes that were asked, with what its votes count and what a reader of its hits should know."""

    manifest_id: str
    retriever: str
    weight: float
    note: str
    suggestion: SuggestionIfAny = msgspec.UNSET
    total: TotalIfAsked = msgspec.UNSET
    facets: FacetsIfAsked = msgspec.UNSET
    coverage: CoverageIfAny = msgspec.UNSET
    approximate: ApproximateIfSo = msgspec.UNSET


class SearchManyAnswer(Answer, kw_only=True):
    """The evidence for one query from several indexes; each hit says its index, and what that made of it.

    ``total`` and ``facets`` are those of all indexes together, ``cursor`` asks for what follows.
    """

    request_id: str
    qid: str | msgspec.UnsetType = msgspec.UNSET
    indexes: dict[str, AskedIndex]
    rrf_k: int
    took_ms: Took
    hits: list[Evidence]
    query: QueryText | msgspec.UnsetType = msgspec.UNSET
    cursor: CursorIfAny = msgspec.UNSET
    total: TotalIfAsked = msgspec.UNSET
    facets: FacetsIfAsked = msgspec.UNSET


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
    qid: str | msgspec.UnsetType = msgspec.UNSET
    request_id: str
    manifest_id: str
    retriever: str
    took_ms: Took
    note: str
    hits: list[Evidence]
    suited_indexes: SuitedIfAny = msgspec.UNSET
    suggestion: SuggestionIfAny = msgspec.UNSET
    coverage: CoverageIfAny = msgspec.UNSET
    approximate: ApproximateIfSo = msgspec.UNSET
    depth: DepthIfFused = msgspec.UNSET
    cursor: CursorIfAny = msgspec.UNSET
    total: TotalIfAsked = msgspec.UNSET
    facets: FacetsIfAsked = msgspec.UNSET


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
    coverage: CoverageIfAny = msgspec.UNSET
    approximate: ApproximateIfSo = msgspec.UNSET


class BatchFault(Answer):
    """A query of a batch that makes no sense: it fails alone."""

    qid: str
    error: str
    detail: str
    field: str


BATCH_RESULTS = (BatchHits, BatchFault)


class BatchAnswer(Answer):
    """The evidence for each query of a batch, in order."""

    request_id: str
    index: str
    manifest_id: str
    retriever: str
    results: list[Any]
    """Each one of ``BATCH_RESULTS``."""
    took_ms: Took


class WordWeight(Answer):
    """By how much the score falls when a word is left out; negative if it rises."""

    word: str
    weight: float


class RankedClaim(Answer):
    """A claim with its place, and the words that weighed most, heaviest first.

    ``probability`` of being worth checking is null where the ranker is not calibrated; ``note`` says what a reader of
    the score should know.
    """

    rank: int
    score: float
    probability: float | None
    id: str
    language: str
    speaker: str
    text: str
    words: list[WordWeight]
    note: str


class RankAnswer(Answer):
    """Claims in the order in which they are worth checking; equal scores stay in the order in which they were sent."""

    request_id: str
    ranker: str
    manifest_id: str
    task: str
    model: str
    languages: list[str]
    took_ms: RankTook
    note: str
    claims: list[RankedClaim]


class AliasAnswer(Answer):
    """An alias, the index that it points to now, and the manifest that it is answered from."""

    request_id: str
    alias: str
    index: str
    manifest_id: str


class DocumentWritten(Answer):
    """What became of a document that was put; ``unchanged`` says that it was there, with the same content."""

    request_id: str
    index: str
    manifest_id: str
    docid: str
    result: Literal["created", "replaced", "unchanged"]


class RefusedDocument(Answer):
    """A document of a bulk that was refused: its number in the bulk, from 1, its docid as far as known, and why."""

    item: int
    docid: str
    reason: str


class JobAnswer(Answer, kw_only=True):
    """A bulk of documents: how far it is, and what became of them.

    Of ``documents``, ``handled`` are done with: they were added or replaced, were there with the same content, were
    refused, or were skipped because they had been changed since the bulk was accepted. ``refusals`` and
    ``skips`` name the first hundred of these. Times are UTC, or empty; so is ``error`` unless the job failed: then what
    was handled stays, and the same bulk may be sent again.
    """

    request_id: str
    index: str
    id: str
    state: State
    mode: Mode
    documents: int
    handled: int
    added: int
    replaced: int
    unchanged: int
    refused: int
    refusals: list[RefusedDocument]
    skipped: int
    skips: list[RefusedDocument]
    created: str
    started: str
    ended: str
    error: str


class ReplicaHealth(Answer):
    """A replica of a shard: its node, and whether it answered this process when it was last asked."""

    node: str
    state: Literal["answers", "lost", "unasked"]


class ShardHealth(Answer):
    """A shard on a cluster: the id of the generation that is read, and its replicas."""

    name: str
    generation: str
    replicas: list[ReplicaHealth]


class Health(Answer):
    """Whether the server can answer; ``indexes`` is the state of each: ``ready``, or what is wrong.

    ``shards`` are those of the indexes that are on a cluster.
    """

    status: Literal["ok", "unavailable"]
    indexes: dict[str, str] | msgspec.UnsetType = msgspec.UNSET
    shards: dict[str, list[ShardHealth]] | msgspec.UnsetType = msgspec.UNSET


def document_answer(document: Document) -> DocumentAnswer:
    """Return a document as it is answered."""
    return DocumentAnswer(**{**document._asdict(), "metadata": dict(document.metadata)})


def passage_place(passage: Passage) -> PassagePlace:
    """Return a passage as it is answered."""
    return PassagePlace(number=passage.number, start=passage.start, end=passage.end, text=passage.text)


def json_answer(answer: Answer | list[Any], status: int = 200) -> Response:
    """Return an answer, or a list of them, as JSON."""
    return Response(msgspec.json.encode(answer), status, content_type="application/json")
