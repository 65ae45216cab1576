"""The types of requests and of answers.

They check requests, name the fields in errors, and describe the API.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from contextlib import suppress
from functools import partial
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from flask import Request, Response
from msgspec import UNSET, Meta, UnsetType
from werkzeug.datastructures import MultiDict
from werkzeug.exceptions import UnsupportedMediaType

from ..claims.checked import CheckedBefore
from ..core.domain import Document
from ..core.records.validation import Mismatch, mismatch, mismatch_in
from ..core.settings import Count, Positive, choices
from ..indexer.queue import Mode, RefusedDocument, State
from ..retrieval.config import RrfK, formerly_weighed
from ..retrieval.search.answer import Coverage, Question, Took
from ..retrieval.search.counting import FacetAnswer, TotalAnswer
from ..retrieval.search.declared import declared_options
from ..retrieval.search.evidence import AnswerPart, Evidence
from ..retrieval.search.explaining import Explanation, WordWeight
from ..retrieval.search.options import FusionWeight, ShardHealth, WrittenOptions
from ..retrieval.search.query_syntax import ParsedQuery
from ..retrieval.store.manifest import Manifest
from .errors import BadInput


def says(description: str, changes: Literal["list", "shown"] = "list") -> Meta:
    """Return the annotation that describes a field of a request; of a search it says whether the
    field changes the list of hits or only what is shown of the list.
    """
    return Meta(description=description, extra={"changes": changes})


Tag = Annotated[str, Meta(pattern=r"^[!-~]{1,64}(?!\n)$")]
_Fields = TypeVar("_Fields", bound="RequestFields")


class RequestFields(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The base of all requests: an unknown field is an error."""


class ForeignFields(RequestFields, kw_only=True, forbid_unknown_fields=False):
    """The base of requests in another protocol: unknown fields are ignored."""


Parse = Annotated[bool, says("true: documents as objects; false: as strings of JSON", "shown")]
FacetValues = Annotated[int, Meta(ge=1, le=1000)]


class SearchOptions(WrittenOptions, RequestFields, kw_only=True):
    """The options of a search, and what to show of each hit; ``None`` selects the configured
    value.
    """

    highlight: Annotated[bool, says("mark the words of the query in each passage", "shown")] = True
    passages: Annotated[
        bool,
        says(
            "add to each hit all passages of its document that contain a word of the query",
            "shown",
        ),
    ] = False


class SingleQueryOptions(SearchOptions, kw_only=True):
    """The options of a search for one query: its syntax, and which part of the ranking to
    return.
    """

    query: Annotated[str, says("a claim, a tweet or a question")] = ""
    syntax: Annotated[
        Literal["plain", "query"],
        says(
            'query: "exact words", -word, title:, source:, topic:, before: and after: have a '
            "special meaning"
        ),
    ] = "plain"
    hits: Annotated[
        Positive | None, says("another name for k, as in Pyserini and Anserini", "shown")
    ] = None
    qid: Annotated[
        Annotated[str, Meta(max_length=200)] | None, says("an id that the answer repeats", "shown")
    ] = None
    offset: Annotated[Count, says("how many of the first hits to skip", "shown")] = 0
    cursor: Annotated[
        str,
        Meta(
            max_length=1_000,
            description="the cursor of the previous answer, for the hits that follow; note says if "
            "the index changed",
            extra={"changes": "shown"},
        ),
    ] = ""
    count: Annotated[bool, says("also return the total number of hits", "shown")] = False
    facets: Annotated[
        Annotated[dict[str, FacetValues], Meta(max_length=16)]
        | Annotated[list[str], Meta(max_length=16)],
        says(
            "count all matching documents by field, and return the most frequent values of each "
            "field and the total:"
            " an object of fields and numbers of values, or a list of field=number (default: 10). "
            "Several indexes are"
            " counted one by one and together, and `index` is a field too"
        ),
    ] = {}

    def merge_k(self) -> str:
        """Set ``k`` to ``hits`` if that is given, and return which of the two names the client
        used.

        Raises BadInput if both are given and differ.
        """
        if self.k is not None and self.hits not in (None, self.k):
            raise BadInput(
                "hits",
                f"is {self.hits}, and k is {self.k}: they mean the same; give only one of them",
            )
        self.k = self.k or self.hits
        return "k" if self.hits is None else "hits"


class SearchFields(SingleQueryOptions, kw_only=True):
    """What a search of one index has besides its options, in a body or in an address."""

    like: Annotated[
        str,
        says(
            "the id of a document of the index, instead of a query: finds similar documents. The "
            "document is left out"
            " and, under collapse, so are its near-duplicates"
        ),
    ] = ""
    format: Annotated[
        Literal["bibtex", "csv", "json", "jsonld", "ndjson", "ris", "trec", "tsv"] | None,
        says("the format of the hits (default: from the Accept header, else json)"),
    ] = None
    explain: Annotated[
        bool, says("explain what was searched for and how each score was computed", "shown")
    ] = False


class SearchRequest(SearchFields, kw_only=True):
    """The body of ``POST /v1/{index}/search``: a ``query``, or a docid as ``like`` instead."""

    vector: Annotated[
        Annotated[list[float], Meta(min_length=1, max_length=65_536)] | None,
        says(
            "the vector of the query, made by the encoder of the index: the server then encodes "
            "nothing. An index whose vectors were given needs it"
        ),
    ] = None


class SimpleSearch(SearchFields, kw_only=True):
    """The parameters of ``GET /v1/{index}/search``: those of Anserini and Pyserini, and our own."""

    parse: Parse = True


IndexName = Annotated[str, Meta(max_length=64)]


class SearchManyRequest(SingleQueryOptions, kw_only=True):
    """The body of ``POST /v1/search``.

    Without ``retriever``, each index uses its own default retriever.
    """

    query: Annotated[str, says("a claim, a tweet or a question")]
    indexes: Annotated[
        Annotated[dict[IndexName, FusionWeight], Meta(max_length=16)]
        | Annotated[list[IndexName], Meta(max_length=16)],
        says(
            "the indexes to search, as an object of names and weights or as a list (default: all)"
        ),
    ] = []
    rrf_k: Annotated[RrfK | None, says("the constant of reciprocal rank fusion of the indexes")] = (
        None
    )


class BatchQuery(RequestFields):
    """One query of a batch."""

    qid: str
    text: str


class BatchRequest(SearchOptions, kw_only=True):
    """The body of ``POST /v1/{index}/search/batch``; ``run_id`` is the tag of a TREC run."""

    queries: list[BatchQuery]
    run_id: Tag = "factseek"


class ClaimRequest(RequestFields):
    """A tweet or a sentence of a debate to rank."""

    id: Annotated[
        str, Meta(min_length=1, max_length=200, description="the id of this claim in the answer")
    ]
    text: Annotated[str, Meta(min_length=1)]
    language: Annotated[
        str,
        Meta(
            pattern=r"^([a-z]{2,3})?(?!\n)$",
            description="ISO 639-1 code (default: detected from the text)",
        ),
    ] = ""
    speaker: Annotated[
        str, Meta(max_length=200, description="the speaker of a sentence of a debate")
    ] = ""


class RankRequest(RequestFields):
    """The body of ``POST /v1/claims/rank``."""

    claims: list[ClaimRequest]
    words: Annotated[
        int, Meta(ge=0, le=100, description="how many words explain a claim's score; 0 is fastest")
    ] = 5
    top: Annotated[Positive | None, says("the number of claims to return (default: all)")] = None
    checked: Annotated[
        bool, says("look for a fact-check of each claim among the documents of the server")
    ] = True
    ranker: Annotated[str | None, says("the name of the ranker (default: the server's first)")] = (
        None
    )


class DocumentRequest(RequestFields, kw_only=True):
    """A document to write, as ``GET`` returns it in ``document``.

    An unknown value is ``""``; a text or a title is required. Omitted fields get the defaults of
    ``factseek index jsonl``: the language of the index, the host of the URL as the source. A date
    that cannot be read is kept in the metadata.
    """

    text: Annotated[str, says("the text to search and show")]
    docid: Annotated[str, says("required in a bulk; otherwise, the address contains it")] = ""
    title: Annotated[str, says("searched with the text")] = ""
    url: Annotated[str, says("the address of the document")] = ""
    date: Annotated[str, says("a day, month or year, such as 2020-03")] = ""
    language: Annotated[str, says("ISO 639-1 code")] = ""
    source: Annotated[str, says("the publisher")] = ""
    topic: Annotated[str, says("a label to filter by")] = ""
    metadata: Annotated[dict[str, Any], says("further fields to show")] = {}


class AliasRequest(RequestFields):
    """The body of ``PUT /v1/aliases/{name}``."""

    index: Annotated[IndexName, says("the served index that the alias points to")]


class BulkParameters(RequestFields):
    """The parameters of ``POST /v1/{index}/documents``."""

    mode: Annotated[
        Mode,
        says(
            "if the docid exists with other content: update replaces the document, append refuses "
            "the new one"
        ),
    ] = "update"


class DocParameters(RequestFields):
    """The parameters of ``GET /v1/{index}/doc/{docid}``."""

    parse: Parse = True


def prepare(kind: type[RequestFields] = RequestFields) -> None:
    """Make a decoder of each type of request once, in one thread.

    msgspec inspects a type when it first decodes it. If several threads do this at the same time,
    the process can crash.
    """
    msgspec.json.Decoder(kind)
    for narrower in kind.__subclasses__():
        prepare(narrower)


def from_body(request: Request, kind: type[_Fields]) -> _Fields:
    """Return a request's JSON body; raise BadInput with the field, UnsupportedMediaType or
    RequestEntityTooLarge.
    """
    if not request.is_json:
        raise UnsupportedMediaType
    return from_json(body_of(request), kind)


def from_json(body: bytes, kind: type[_Fields]) -> _Fields:
    """Return a request in JSON; raise BadInput with the field."""
    try:
        fields = msgspec.json.decode(body, type=kind)
        if not issubclass(kind, ForeignFields):
            json.loads(body, object_pairs_hook=_each_once)
        return fields
    except msgspec.ValidationError as error:
        raw: Any = None
        # There may be further faults.
        with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raw = msgspec.json.decode(body)
        raise explain_mismatch(
            mismatch_in(raw, error, partial(msgspec.convert, type=kind)), kind
        ) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise BadInput("body", f"is not JSON: {reason}") from None


_SURROGATES = re.compile(rb"\\\\|\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u[dD][89a-fA-F]..")


def _each_once(pairs: list[tuple[str, Any]]) -> None:
    if len(dict(pairs)) < len(pairs):  # it is unclear which value is meant
        name, times = Counter(name for name, _ in pairs).most_common(1)[0]
        raise BadInput(name[:80], f"is given {times} times")


def from_query(parameters: MultiDict[str, str], kind: type[_Fields]) -> _Fields:
    """Return a request's parameters; raise BadInput with a parameter that does not fit or is given
    twice.
    """
    lists = {option.name for option in declared_options() if option.is_list} | {"facets"}
    values: dict[str, Any] = {}
    for name, texts in parameters.lists():
        if name not in lists and len(texts) > 1:
            raise BadInput(name, f"is given {len(texts)} times")
        values[name] = texts if name in lists else texts[0]
    try:
        fields = msgspec.convert(values, kind, strict=False)
    except msgspec.ValidationError as error:
        raise explain_mismatch(mismatch(error), kind) from None
    for name, value in values.items():
        if isinstance(value, str) and getattr(fields, name, value) is None:
            raise BadInput(name, f"{value!r} means no value; leave out the parameter instead")
    return fields


def body_of(request: Request) -> bytes:
    """Return a request's body without a byte-order mark; half a surrogate pair becomes ``?``, as in
    an index.

    Raises RequestEntityTooLarge if it exceeds the limit.
    """
    if request.environ.get("wsgi.input_terminated"):
        # The gateway has read the whole body within the limit, so it needs no further checks.
        content = request.environ["wsgi.input"]
        content.seek(0)  # a view that is called once more reads it again
        body: bytes = content.read()
    else:
        body = request.get_data()
    body = body.removeprefix(b"\xef\xbb\xbf")
    if b"\\ud" not in body and b"\\uD" not in body:
        return body
    return _SURROGATES.sub(lambda found: b"?" if len(found[0]) == 6 else found[0], body)


def explain_mismatch(wrong: Mismatch, kind: type[msgspec.Struct]) -> BadInput:
    """Return what is wrong with a request as a BadInput that names the field, as
    ``queries[3].text``.
    """
    if wrong.path.endswith("fusion") and (weighed := formerly_weighed(wrong.unknown)):
        return BadInput(wrong.field, f'is now fusion.weights: {{"{weighed}": 0.5}}')
    types = {field.encode_name: field.type for field in msgspec.structs.fields(kind)}
    if wrong.unknown:
        # Addresses and many other programs call the query so.
        named = "; give the text as query" if wrong.field == "q" and "query" in types else ""
        return BadInput(wrong.field, f"there is no such field{named}")
    if wrong.no_choice and wrong.path in types:
        values = [value for value in choices(types[wrong.path]) if isinstance(value, str) and value]
        return BadInput(wrong.field, f"{wrong.reason}; the values are {', '.join(values)}")
    return BadInput(wrong.field or "body", "is missing" if wrong.missing else wrong.reason)


class RankTook(AnswerPart):
    """Milliseconds by stage: ranking, weighing words, and looking for fact-checks."""

    rank: float
    explain: float
    checked: float


CoverageIfAny = Coverage | UnsetType  # present only if a part was not ready in time
TotalIfAsked = TotalAnswer | UnsetType
FacetsIfAsked = dict[str, FacetAnswer] | UnsetType
ApproximateIfSo = Literal[True] | UnsetType
"""Present only if an approximate vector index was searched, which may miss a few of the nearest
passages.
"""
Related = bool | None
"""Whether the first ten hits seem related to the query: false means that nothing here seems to bear
on it. Null if nobody can tell: no vectors were searched, their encoder does not know the language
of the query, or there are no hits.
"""
AbsentWords = list[str]
"""Telling words of the query that no searched document contains, if the hits are related, but only
rather near; else empty.
"""
TextIfAny = str | UnsetType


class SearchAnswer(AnswerPart, kw_only=True):
    """The evidence for one query.

    ``note`` warns readers of the hits; ``qid`` repeats the qid of the request.

    ``query`` is present if the request uses the query language or ``like``. ``cursor`` requests the
    hits that follow; it is absent after the last hit. ``depth`` is the number of hits of each
    ranking that were fused; later hits have scores below 0.
    """

    request_id: str
    index: str
    manifest_id: str
    retriever: str
    took_ms: Took
    note: str
    hits: list[Evidence]
    related: Related
    absent_words: AbsentWords
    qid: TextIfAny = UNSET
    query: QueryText | UnsetType = UNSET
    explanation: Explanation | UnsetType = UNSET
    suited_indexes: list[str] | UnsetType = UNSET
    """The served indexes for texts in the query's script; present only if the searched index is for
    another script.
    """
    suggestion: TextIfAny = UNSET
    """The query with corrected spelling, which would match more documents; it was not searched
    for.
    """
    coverage: CoverageIfAny = UNSET
    approximate: ApproximateIfSo = UNSET
    depth: int | UnsetType = UNSET
    cursor: TextIfAny = UNSET
    total: TotalIfAsked = UNSET
    facets: FacetsIfAsked = UNSET


class ParsedAnswer(AnswerPart):
    """A query in the query language, as understood: the text to rank by, and the conditions on a
    passage.
    """

    text: str
    phrases: list[str]
    without: list[str]
    title: list[str]
    source: list[str]
    topic: list[str]
    before: str
    after: str


class QueryText(AnswerPart):
    """A query in the format of Anserini and Pyserini; ``parsed`` says how a query in the query
    language was understood.

    If the request has ``like``, ``like`` is the docid and ``text`` has the words that were searched
    for.
    """

    text: str
    parsed: ParsedAnswer | UnsetType = UNSET
    like: TextIfAny = UNSET


def query_text(question: Question, parsed: ParsedQuery | None, text: str) -> QueryText:
    """Return the part of an answer that describes the query; ``text`` is what was searched for."""
    if question.like:
        return QueryText(text=str(text), like=question.like)
    parsed_answer = msgspec.convert(parsed.as_json(), ParsedAnswer) if parsed else UNSET
    return QueryText(text=question.query, parsed=parsed_answer)


class AskedIndex(AnswerPart):
    """One of several searched indexes, with its weight and a note for readers of its hits."""

    manifest_id: str
    retriever: str
    weight: float
    note: str
    suggestion: TextIfAny = UNSET
    total: TotalIfAsked = UNSET
    facets: FacetsIfAsked = UNSET
    coverage: CoverageIfAny = UNSET
    approximate: ApproximateIfSo = UNSET


class SearchManyAnswer(AnswerPart, kw_only=True):
    """The evidence for one query from several indexes; each hit names its index and its rank and
    score there.

    ``total`` and ``facets`` cover all indexes together; ``cursor`` requests the hits that follow.
    """

    request_id: str
    qid: TextIfAny = UNSET
    indexes: dict[str, AskedIndex]
    rrf_k: int
    took_ms: Took
    hits: list[Evidence]
    related: Related
    absent_words: AbsentWords
    query: QueryText | UnsetType = UNSET
    cursor: TextIfAny = UNSET
    total: TotalIfAsked = UNSET
    facets: FacetsIfAsked = UNSET


class Candidate(AnswerPart):
    """A hit in the format of Anserini and Pyserini."""

    docid: str
    score: float
    rank: int
    doc: DocumentAnswer | str


class SimpleAnswer(SearchAnswer, kw_only=True):
    """The evidence for one query, also in the shape of Anserini's and Pyserini's
    ``/v1/{index}/search``.
    """

    api: Literal["v1"] = "v1"
    query: QueryText
    candidates: list[Candidate]


class DocumentAnswer(AnswerPart):
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


class PassagePlace(AnswerPart, kw_only=True):
    """A passage; ``start`` and ``end`` are offsets in characters of the document's text, ``page``
    counts from 1.
    """

    number: int
    page: int | UnsetType = UNSET
    start: int
    end: int
    text: str


class DocumentWithPassages(AnswerPart, kw_only=True):
    """A document with its passages.

    ``added`` is the time in UTC when this version was added; indexes of earlier versions of
    factseek did not record it. A client with a key also gets ``added_by``, the name of the key that
    sent the document.
    """

    request_id: str
    index: str
    manifest_id: str
    added: TextIfAny = UNSET
    added_by: TextIfAny = UNSET
    document: DocumentAnswer
    passages: list[PassagePlace]


class SimpleDocument(AnswerPart, kw_only=True):
    """A document in the shape of Anserini's and Pyserini's ``/v1/{index}/doc/{docid}``."""

    api: Literal["v1"] = "v1"
    index: str
    docid: str
    doc: DocumentAnswer | str


class IndexSummary(AnswerPart):
    """A served index: its content and its retrievers, the default one first."""

    name: str
    manifest_id: str
    documents: int
    passages: int
    language: str
    retrievers: list[str]


class IndexList(AnswerPart):
    """All served indexes."""

    request_id: str
    indexes: list[IndexSummary]


class IndexAnswer(AnswerPart):
    """A served index with its manifest."""

    request_id: str
    index: IndexSummary
    manifest: Manifest


class BatchHits(AnswerPart):
    """The evidence for one query of a batch."""

    qid: str
    note: str
    hits: list[Evidence]
    related: Related
    absent_words: AbsentWords
    coverage: CoverageIfAny = UNSET
    approximate: ApproximateIfSo = UNSET


class BatchFault(AnswerPart):
    """A query of a batch that is invalid or took too long; the other queries are answered."""

    qid: str
    error: str
    detail: str
    field: str


class BatchEnd(AnswerPart):
    """The last line of a batch in NDJSON that ends early; queries without a line are not
    answered.
    """

    error: str
    detail: str


BATCH_RESULTS = (BatchHits, BatchFault)


class BatchAnswer(AnswerPart):
    """The evidence for each query of a batch, in order."""

    request_id: str
    index: str
    manifest_id: str
    retriever: str
    results: list[Any]  # each is one of BATCH_RESULTS
    took_ms: Took


class RankedClaim(AnswerPart):
    """A claim with its rank and the words with the largest weight, heaviest first.

    ``probability`` is the probability that the claim is worth checking, or null if the ranker is
    not calibrated or has not learned the claim's language. ``checked_before`` is the fact-check of
    the same claim, or null if none was found. ``note`` warns readers of the score.
    """

    rank: int
    score: float
    probability: float | None
    id: str
    language: str
    speaker: str
    text: str
    words: list[WordWeight]
    checked_before: CheckedBefore | None
    note: str


class RankAnswer(AnswerPart):
    """Claims by descending check-worthiness; claims with equal scores keep the order of the
    request.
    """

    request_id: str
    ranker: str
    manifest_id: str
    task: str
    model: str
    languages: list[str]
    took_ms: RankTook
    note: str
    claims: list[RankedClaim]


class AliasAnswer(AnswerPart):
    """An alias, the index that it points to now, and the id of that index's manifest."""

    request_id: str
    alias: str
    index: str
    manifest_id: str


class DocumentWritten(AnswerPart, kw_only=True):
    """The result of writing a document; ``unchanged`` means that the same content was already
    there.

    ``unread_date`` is a date that was not understood: the metadata keep it, and date filters ignore
    it.
    """

    request_id: str
    index: str
    manifest_id: str
    docid: str
    result: Literal["created", "replaced", "unchanged"]
    unread_date: TextIfAny = UNSET


class JobAnswer(AnswerPart, kw_only=True):
    """The state of a bulk of documents.

    ``handled`` counts the finished documents: added, replaced, unchanged, refused, or skipped
    because they changed after the bulk was accepted. ``refusals`` and ``skips`` list the first
    hundred of each. ``unread_dates`` counts documents with a date that was not understood, and
    ``unread_date`` is the first such date; date filters ignore it. Times are in UTC, or empty.
    ``error`` gives the reason if the job failed, or if it waits because the index cannot be
    written; else it is empty. After a failure, the handled documents stay, and the same bulk can be
    sent again.
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


class Health(AnswerPart):
    """Whether the server can answer; ``indexes`` has the state of each index: ``ready``, or the
    problem.

    ``shards`` lists the shards of sharded indexes on a cluster.
    """

    status: Literal["ok", "unavailable"]
    indexes: dict[str, str] | UnsetType = UNSET
    shards: dict[str, list[ShardHealth]] | UnsetType = UNSET


def document_answer(document: Document) -> DocumentAnswer:
    """Return a document as the API returns it."""
    return DocumentAnswer(**{**document._asdict(), "metadata": dict(document.metadata)})


def json_answer(answer: AnswerPart | list[Any], status: int = 200) -> Response:
    """Return an answer, or a list of answers, as JSON."""
    return Response(msgspec.json.encode(answer), status, content_type="application/json")
