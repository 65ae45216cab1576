"""The types of requests and of answers: validation, the fields that errors name and OpenAPI are made from them."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from flask import Request, Response
from msgspec import Meta
from werkzeug.datastructures import MultiDict
from werkzeug.exceptions import RequestEntityTooLarge, UnsupportedMediaType

from ..indexer.queue import Mode, State
from ..retrieval.config import Count, Positive, RrfK, formerly_weighed
from ..retrieval.domain import Document, Passage
from ..retrieval.search.answer import Coverage, Question, Took
from ..retrieval.search.counting import FacetAnswer, TotalAnswer
from ..retrieval.search.evidence import Answer, Evidence, page_at
from ..retrieval.search.explaining import Explanation, WordWeight
from ..retrieval.search.query_syntax import ParsedQuery
from ..retrieval.search.score_normalizers import FusionKind
from ..retrieval.store.manifest import Manifest
from ..retrieval.text import ProfileName
from ..retrieval.validation import Mismatch, mismatch, mismatch_in
from .errors import BadInput

FusionWeight = Annotated[float, Meta(ge=0, le=1_000, description="what the votes of this ranking count")]
Tag = Annotated[str, Meta(pattern=r"^[!-~]{1,64}(?!\n)$")]
_LISTS = frozenset({"facets", "filter", "stages"})
_Asked = TypeVar("_Asked", bound="RequestFields")


class RequestFields(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The base of what is asked: an unknown field is an error."""


class ForeignFields(RequestFields, kw_only=True, forbid_unknown_fields=False):
    """The base of what the clients of another protocol ask: what it has no word for is passed over."""


class FilterRequest(RequestFields):
    """The values that a field may have; the values of one field are alternatives, fields narrow each other."""

    topic: Annotated[str | list[str], Meta(description="as the collection names it")] = []
    source: Annotated[str | list[str], Meta(description="who published it: a site's host, a journal")] = []
    language: Annotated[str | list[str], Meta(description="ISO 639-1 code")] = []
    kind: Annotated[str | list[str], Meta(description="what was indexed: snippets, webpages, cord19, ...")] = []
    metadata: Annotated[
        dict[str, str | list[str]], Meta(description="fields of the metadata that the index was declared with")
    ] = {}

    def values(self) -> dict[str, list[str]]:
        """Return the values of each field."""
        named = {name: getattr(self, name) for name in self.__struct_fields__ if name != "metadata"} | self.metadata
        return {name: [value] if isinstance(value, str) else value for name, value in named.items()}


class FusionRequest(RequestFields):
    """The fusion of this one search; what is left out stays as configured."""

    kind: Annotated[FusionKind | None, Meta(description="reciprocal ranks, or a sum of normalised scores")] = None
    rrf_k: Annotated[RrfK | None, Meta(description="of reciprocal ranks; without a kind it asks for rrf")] = None
    weights: Annotated[
        Annotated[dict[Annotated[str, Meta(max_length=80)], FusionWeight], Meta(max_length=16)] | None,
        Meta(description="the rankings that are fused, each with its weight"),
    ] = None
    depth: Annotated[Positive | None, Meta(description="hits of each ranking that are fused")] = None


Parse = Annotated[bool, Meta(description="documents as objects; false: as strings that hold their JSON")]
FacetValues = Annotated[int, Meta(ge=1, le=1000)]
_Single = TypeVar("_Single", bound="SingleQueryOptions")
_Searched = TypeVar("_Searched", bound="SearchRequest")


class SearchOptions(RequestFields):
    """The options of a search; ``None`` leaves a choice to the configuration."""

    k: Annotated[Positive | None, Meta(description="how many hits; left out: as configured")] = None
    retriever: Annotated[
        Annotated[str, Meta(max_length=80)] | None,
        Meta(description="left out: hybrid where there are vectors, else bm25"),
    ] = None
    filter: Annotated[
        FilterRequest | list[str], Meta(description="by field, or as a list of field=value; applied before ranking")
    ] = []
    as_of: Annotated[str, Meta(description="only documents up to this day, month or year, such as 2020-03")] = ""
    since: Annotated[str, Meta(description="only documents from this day, month or year on")] = ""
    undated: Annotated[Literal["drop", "keep"], Meta(description="undated documents under as_of or since")] = "drop"
    fusion: Annotated[
        FusionRequest | FusionKind | None,
        Meta(description="how hybrid fuses its rankings; left out: as configured"),
    ] = None
    profile: Annotated[
        ProfileName | None, Meta(description="tweet: links, mentions and RT dropped, hashtags whole and split")
    ] = None
    highlight: Annotated[bool, Meta(description="say where the passage has words of the query")] = True
    group: Annotated[bool | None, Meta(description="one hit a document, by its best passage; false: one a passage")] = (
        None
    )
    stages: Annotated[
        Annotated[list[Annotated[str, Meta(max_length=80)]], Meta(max_length=16)] | None,
        Meta(
            description="what reorders or thins the ranking, in this order, each as NAME or NAME=VALUE; left out: as "
            "configured"
        ),
    ] = None
    collapse: Annotated[
        Literal["near"] | None,
        Meta(description="near: near-copies are folded under their best hit, counted and named"),
    ] = None
    sort: Annotated[
        Literal["date"] | None,
        Meta(description="date: the newest of the first hits first, as many as hybrid fuses"),
    ] = None
    passages: Annotated[
        bool, Meta(description="give each hit all passages of its document that hold a word of the query")
    ] = False


class SingleQueryOptions(SearchOptions, kw_only=True):
    """The options of a search for one query: how it is read, and which stretch of its ranking is answered."""

    query: Annotated[str, Meta(description="a claim, a tweet or a question")] = ""
    syntax: Annotated[
        Literal["plain", "query"],
        Meta(
            description='query: "exact words", -word, title:, source:, topic:, before:, after: are understood in the '
            "query"
        ),
    ] = "plain"
    hits: Annotated[Positive | None, Meta(description="k by the name that Pyserini and Anserini give it")] = None
    qid: Annotated[Annotated[str, Meta(max_length=200)] | None, Meta(description="comes back with the hits")] = None
    offset: Annotated[Count, Meta(description="how many of the first hits are left out")] = 0
    cursor: Annotated[
        str,
        Meta(
            max_length=1_000, description="of the answer before this one: what follows; note says if the index changed"
        ),
    ] = ""
    count: Annotated[bool, Meta(description="say how many hits there are in all")] = False
    facets: Annotated[
        Annotated[dict[str, FacetValues], Meta(max_length=16)] | Annotated[list[str], Meta(max_length=16)],
        Meta(
            description="count all of these documents by a field: its most frequent values, and how many of them; says "
            "the total too. By field, or as a list of field=number; ten of each if no number is said. Of several "
            "indexes, of each and of all together; `index` is a field, too"
        ),
    ] = {}

    def with_one_k(self: _Single) -> _Single:
        """Return the same with ``k`` alone saying how many hits.

        Raises BadInput if ``k`` and ``hits`` differ.
        """
        if self.k is not None and self.hits not in (None, self.k):
            raise BadInput("hits", f"is {self.hits}, and k is {self.k}: they are one thing, give one of them")
        return msgspec.structs.replace(self, k=self.k or self.hits, hits=None)


class SearchRequest(SingleQueryOptions, kw_only=True):
    """The body of ``POST /v1/{index}/search``: a ``query``, or in its place a document to find more ``like``."""

    like: Annotated[
        str,
        Meta(
            description="the id of a document of the index, in the place of a query: more like it is found, itself "
            "left out, under collapse its near-copies too"
        ),
    ] = ""
    format: Annotated[
        Literal["bibtex", "csv", "json", "jsonld", "ndjson", "ris", "trec", "tsv"] | None,
        Meta(description="the hits as a file for other programs; left out: what Accept asks for, else json"),
    ] = None
    explain: Annotated[bool, Meta(description="say what was searched for and how each score came about")] = False

    def with_one_query(self: _Searched) -> _Searched:
        """Return the same with ``k`` alone saying how many hits.

        Raises BadInput if ``k`` and ``hits`` differ, or there is no query or two.
        """
        if not (self.query or self.like):
            raise BadInput("query", "is missing; give one, or a document's id as like")
        if self.query and self.like:
            raise BadInput("like", "stands in the place of a query; leave out one of them")
        return self.with_one_k()


class SimpleSearch(SearchRequest, kw_only=True):
    """The parameters of ``GET /v1/{index}/search``, as Anserini and Pyserini name them, and ours."""

    parse: Parse = True


IndexName = Annotated[str, Meta(max_length=64)]


class SearchManyRequest(SingleQueryOptions, kw_only=True):
    """The body of ``POST /v1/search``: what every index is asked; each answers with its own default retriever."""

    query: Annotated[str, Meta(description="a claim, a tweet or a question")]
    indexes: Annotated[
        Annotated[dict[IndexName, FusionWeight], Meta(max_length=16)] | Annotated[list[IndexName], Meta(max_length=16)],
        Meta(description="which are asked, by name, each with what its votes count, or as a list; left out: all"),
    ] = []
    rrf_k: Annotated[RrfK | None, Meta(description="the constant by which the indexes are fused")] = None


class BatchQuery(RequestFields):
    """One query of a batch."""

    qid: str
    text: str


class BatchRequest(SearchOptions, kw_only=True):
    """The body of ``POST /v1/{index}/search/batch``; ``run_id`` is the tag of a TREC run."""

    queries: list[BatchQuery]
    run_id: Tag = "factseek"


class ClaimRequest(RequestFields):
    """A tweet, or a sentence of a debate, that may hold a claim worth checking."""

    id: Annotated[str, Meta(min_length=1, max_length=200, description="what its line of the answer is known by")]
    text: Annotated[str, Meta(min_length=1)]
    language: Annotated[
        str, Meta(pattern=r"^([a-z]{2,3})?(?!\n)$", description="ISO 639-1 code; left out: seen from the text")
    ] = ""
    speaker: Annotated[str, Meta(max_length=200, description="whose sentence of a debate it is")] = ""


class RankRequest(RequestFields):
    """The body of ``POST /v1/claims/rank``."""

    claims: list[ClaimRequest]
    words: Annotated[int, Meta(ge=0, le=100, description="how many words to name; 0 is fastest")] = 5
    top: Annotated[Positive | None, Meta(description="how many claims to answer; left out: all")] = None
    ranker: Annotated[str | None, Meta(description="by its name; left out: the server's first")] = None


class DocumentRequest(RequestFields, kw_only=True):
    """A document to put: what ``GET`` answers as ``document``; unknown is ``""``, a text or a title there must be.

    What is left out is taken as ``factseek index jsonl`` takes it: the language of the index, the host of the URL as
    the source. A date that cannot be read is kept in the metadata.
    """

    text: Annotated[str, Meta(description="what is searched and shown")]
    docid: Annotated[str, Meta(description="may be left out: the address says it")] = ""
    title: Annotated[str, Meta(description="searched with the text")] = ""
    url: Annotated[str, Meta(description="where it stands")] = ""
    date: Annotated[str, Meta(description="a day, month or year, such as 2020-03")] = ""
    language: Annotated[str, Meta(description="ISO 639-1 code")] = ""
    source: Annotated[str, Meta(description="who published it")] = ""
    topic: Annotated[str, Meta(description="what filters call it")] = ""
    metadata: Annotated[dict[str, Any], Meta(description="whatever else is to be shown")] = {}


class AliasRequest(RequestFields):
    """The body of ``PUT /v1/aliases/{name}``."""

    index: Annotated[IndexName, Meta(description="the served index that the alias is to point to")]


class BulkParameters(RequestFields):
    """The parameters of ``POST /v1/{index}/documents``."""

    mode: Annotated[
        Mode, Meta(description="update: replace what is there by its docid; append: refuse what would be replaced")
    ] = "update"


class DocParameters(RequestFields):
    """The parameters of ``GET /v1/{index}/doc/{docid}``."""

    parse: Parse = True


def prepare(kind: type[RequestFields] = RequestFields) -> None:
    """Decode each type of request once, from one thread.

    msgspec inspects a type when it first decodes one; threads that do so at the same moment can crash the process.
    """
    msgspec.json.Decoder(kind)
    for narrower in kind.__subclasses__():
        prepare(narrower)


def from_body(request: Request, kind: type[_Asked]) -> _Asked:
    """Return a request's JSON body.

    Raises BadInput, naming the field, if it does not fit; UnsupportedMediaType if it does not claim to be JSON;
    RequestEntityTooLarge.
    """
    if not request.is_json:
        raise UnsupportedMediaType
    body = mended(body_of(request))
    try:
        asked = msgspec.json.decode(body, type=kind)
        if not issubclass(kind, ForeignFields):
            json.loads(body, object_pairs_hook=_each_once)
        return asked
    except msgspec.ValidationError as error:
        raise _explained(mismatch_in(_plain(body), error, partial(msgspec.convert, type=kind))) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise BadInput("body", f"is not JSON: {reason}") from None


_SURROGATES = re.compile(rb"\\\\|\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u[dD][89a-fA-F]..")


def mended(body: bytes) -> bytes:
    """Return a body without a byte-order mark, and half a character in it as ``?``, as an index reads it."""
    body = body.removeprefix(b"\xef\xbb\xbf")
    if b"\\ud" not in body and b"\\uD" not in body:
        return body
    return _SURROGATES.sub(lambda found: b"?" if len(found[0]) == 6 else found[0], body)


def _each_once(pairs: list[tuple[str, Any]]) -> None:
    """Raise BadInput if a name is given twice in one object: of what is asked nobody knows which is meant."""
    if len(dict(pairs)) < len(pairs):
        name, times = Counter(name for name, _ in pairs).most_common(1)[0]
        raise BadInput(name[:80], f"is given {times} times")


def _plain(body: bytes) -> Any:
    """Return a body as plain values, None if what follows its first fault is no JSON either."""
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def from_query(parameters: MultiDict[str, str], kind: type[_Asked]) -> _Asked:
    """Return a request's query string.

    Raises BadInput, naming the parameter, if it does not fit or is given twice.
    """
    values: dict[str, Any] = {}
    for name, texts in parameters.lists():
        if name not in _LISTS and len(texts) > 1:
            raise BadInput(name, f"is given {len(texts)} times")
        values[name] = texts if name in _LISTS else texts[0]
    try:
        asked = msgspec.convert(values, kind, strict=False)
    except msgspec.ValidationError as error:
        raise explained(error) from None
    for name, value in values.items():
        if isinstance(value, str) and getattr(asked, name, value) is None:
            raise BadInput(name, f"{value!r} is no value of it; leave it out instead")
    return asked


def body_of(request: Request) -> bytes:
    """Return a request's body.

    Raises RequestEntityTooLarge.
    """
    most = request.max_content_length
    if most is not None and request.environ.get("wsgi.input_terminated"):
        # The stream ends with the body, as the engine's does: nothing has to watch over it while it is read.
        body: bytes = request.environ["wsgi.input"].read(most + 1)
        if len(body) > most:
            raise RequestEntityTooLarge
        return body
    body = request.get_data(cache=False)
    # Of a body that comes in chunks no more than the limit is read, and that it goes on is not reported.
    if request.content_length is None and most is not None and len(body) >= most:
        raise RequestEntityTooLarge
    return body


def explained(error: msgspec.ValidationError) -> BadInput:
    """Return a validation error as a BadInput that names the field, as ``queries[3].text``."""
    return _explained(mismatch(error))


def _explained(wrong: Mismatch) -> BadInput:
    weighed = formerly_weighed(wrong.unknown) if wrong.path.endswith("fusion") else ""
    if weighed:
        return BadInput(wrong.field, f'is now fusion.weights: {{"{weighed}": 0.5}}')
    if wrong.unknown:
        return BadInput(wrong.field, "there is no such field")
    return BadInput(wrong.field or "body", "is missing" if wrong.missing else wrong.reason)


class RankTook(Answer):
    """Milliseconds by stage: ranking, and weighing words."""

    rank: float
    explain: float


CoverageIfAny = Coverage | msgspec.UnsetType
"""Answered only if something was not ready in time."""
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


def query_text(question: Question, parsed: ParsedQuery | None, text: str) -> QueryText:
    """Return what is told of a query that was searched for by ``text``."""
    if question.like:
        return QueryText(text=str(text), like=question.like)
    told = msgspec.convert(parsed.as_json(), ParsedAnswer) if parsed else msgspec.UNSET
    return QueryText(text=question.query, parsed=told)


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


class SimpleAnswer(SearchAnswer, kw_only=True):
    """The evidence for one query, also in the shape of Anserini's and Pyserini's ``/v1/{index}/search``."""

    api: Literal["v1"] = "v1"
    query: QueryText
    candidates: list[Candidate]


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


class PassagePlace(Answer, kw_only=True):
    """A passage of a document; ``start`` and ``end`` are characters of the document's text, ``page`` counts from 1."""

    number: int
    page: int | msgspec.UnsetType = msgspec.UNSET
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


class DocumentWritten(Answer, kw_only=True):
    """What became of a document that was put; ``unchanged`` says that it was there, with the same content.

    ``unread_date`` is there if its date was not understood: it is kept in the metadata, and no date filters by it.
    """

    request_id: str
    index: str
    manifest_id: str
    docid: str
    result: Literal["created", "replaced", "unchanged"]
    unread_date: str | msgspec.UnsetType = msgspec.UNSET


class RefusedDocument(Answer):
    """A document of a bulk that was refused: its number in the bulk, from 1, its docid as far as known, and why."""

    item: int
    docid: str
    reason: str


class JobAnswer(Answer, kw_only=True):
    """A bulk of documents: how far it is, and what became of them.

    Of ``documents``, ``handled`` are done with: they were added or replaced, were there with the same content, were
    refused, or were skipped because they had been changed since the bulk was accepted. ``refusals`` and
    ``skips`` name the first hundred of these. ``unread_dates`` counts the documents whose date was not understood, and
    ``unread_date`` is the first of these dates: no date filters by them. Times are UTC, or empty; so is ``error``
    unless the job failed: then what was handled stays, and the same bulk may be sent again.
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
    unread_dates: int
    unread_date: str
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


def passage_place(passage: Passage, metadata: Mapping[str, Any]) -> PassagePlace:
    """Return a passage, of a document with this metadata, as it is answered."""
    return PassagePlace(
        number=passage.number,
        page=page_at(metadata, passage.start),
        start=passage.start,
        end=passage.end,
        text=passage.text,
    )


def json_answer(answer: Answer | list[Any], status: int = 200) -> Response:
    """Return an answer, or a list of them, as JSON."""
    return Response(msgspec.json.encode(answer), status, content_type="application/json")
