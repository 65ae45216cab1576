"""The JSON API."""

from __future__ import annotations

import hashlib
import logging
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice
from struct import Struct
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec
from flask import Response, request
from msgspec import UNSET

from ...core.domain import Span
from ...core.errors import FactseekError
from ...indexer.queue import waiting
from ...retrieval.search import listings
from ...retrieval.search.answer import Question
from ...retrieval.search.counting import facet_answers, total_answer
from ...retrieval.search.declared import only_shown
from ...retrieval.search.evidence import AnswerPart, Evidence, page_at
from ...retrieval.search.federated import chosen_weights
from ...retrieval.store.documents import checksum, state_of
from ...retrieval.store.manifest import Manifest
from .. import schemas
from ..auth import key_name
from ..call import Call, current_call
from ..downloads import download
from ..errors import BadInput
from ..hooks import LAST_LINE
from ..memory import charged_document
from ..runtime import READY, ServedIndex, index_named, registry
from ..schemas import document_answer, json_answer, query_text
from ..search import answer, answer_of_many, query_errors_named, question_of
from .batch import Batch
from .operations import CLAIM, JSON, NDJSON, TEXT, Routes

if TYPE_CHECKING:
    from ...retrieval.search.index import Index

api = Routes("api", __name__, "Search")
ETAG = {"ETag": "names this state of the document; send it back as If-None-Match"}
_SAME = {304: "The document is still in the state that If-None-Match names."}
_CUT_OFF = {"X-Cut-Off": "for answers that are not JSON: the rankings that took too long"}
_STREAM = (
    "one query per line, in order, each sent as soon as it is answered; if the server stops or the "
    "index fails before all are answered, the last line has an error (`stopping` or `unavailable`) "
    "and no qid"
)
_RUN = "a TREC run: qid Q0 docid rank score tag"
_LISTINGS = {
    "text/csv": "the hits as comma-separated values; formulas are made harmless",
    "text/tab-separated-values": "the hits as tab-separated values",
    NDJSON: "one hit per line",
    TEXT: _RUN,
    "application/x-research-info-systems": "the hits as RIS, for reference managers",
    "application/ld+json": (
        "the hits as JSON-LD of schema.org: reviews of claims, and what a review cites"
    ),
    "application/x-bibtex": "the hits as BibTeX, for LaTeX",
}
_log = logging.getLogger("factseek.server")
_Options = TypeVar("_Options", schemas.SearchFields, schemas.SearchManyRequest)
# Of a cursor: the number of hits before the page, and a digest of the search.
_HEAD = Struct(">I8s")
_ID = 8  # the number of bytes of a manifest's id
_CHANGED = "the index has changed since the previous page: hits may be repeated or missing"


@dataclass(frozen=True, slots=True)
class Page(Generic[_Options]):
    """A request continued at its cursor, its indexes in order, and the indexes that changed since
    the previous page.
    """

    served: dict[str, ServedIndex]
    options: _Options
    search: bytes  # a digest of the options that define the list
    most: int  # the maximum number of hits that a client may request, whatever the page size
    changed: frozenset[str]

    def cursor(self, hits: int) -> schemas.TextIfAny:
        """Return the cursor for the page after ``hits`` hits; UNSET if the client may request no
        more hits.
        """
        if hits >= self.most:
            return UNSET
        ids = (bytes.fromhex(self.served[name].manifest_id) for name in sorted(self.served))
        return _text(_HEAD.pack(hits, self.search) + b"".join(ids))

    def note(self, note: str, name: str) -> str:
        """Return the note on a query, with a remark if an index has changed since the previous
        page.
        """
        return "; ".join(filter(None, (note, _CHANGED if name in self.changed else "")))


def resume(
    served: Iterable[ServedIndex], options: _Options, weights: Mapping[str, float] | None = None
) -> Page[_Options]:
    """Return a request to indexes, continued at its cursor; raise BadInput if the cursor is of
    another search.
    """
    indexes = {one.name: one for one in served}
    # An option that does not change the list may change from page to page.
    unlisted = set(only_shown(type(options)))
    if getattr(options, "vector", None) is None:
        # An address has no such field, and its search is the same as that of a body without one.
        unlisted.add("vector")
    listed = [getattr(options, name) for name in options.__struct_fields__ if name not in unlisted]
    encoded = msgspec.json.encode(
        (weights or dict.fromkeys(indexes, 1.0), listed), order="deterministic"
    )
    search, changed = blake2b(encoded, digest_size=8).digest(), set[str]()
    settings = [one.index.settings.search for one in indexes.values()]
    most = min(each.max_k for each in settings)
    if options.cursor:
        if options.offset:
            raise BadInput("offset", "cursor and offset exclude each other; leave out one of them")
        try:
            packed = urlsafe_b64decode(options.cursor + "=" * (-len(options.cursor) % 4))
        except ValueError:
            packed = b""
        ids = [packed[start : start + _ID].hex() for start in range(_HEAD.size, len(packed), _ID)]
        if not ids or len(ids[-1]) < 2 * _ID or _text(packed) != options.cursor:
            raise BadInput("cursor", "is not a cursor; use the cursor of an answer unchanged")
        hits, made_for = _HEAD.unpack_from(packed)
        if made_for != search or len(ids) != len(indexes):
            reason = (
                "belongs to another search or index; send it with the query and options of the "
                "previous page"
            )
            raise BadInput("cursor", reason)
        if hits >= most:
            raise BadInput(
                "cursor",
                f"continues after {hits} hits, but this server returns only the first {most}",
            )
        changed = {
            name
            for name, id_ in zip(sorted(indexes), ids, strict=True)
            if indexes[name].manifest_id != id_
        }
        k = options.k or settings[0].k
        options = msgspec.structs.replace(
            options, offset=hits, k=min(k, most - hits) if k <= most else k
        )
    return Page(indexes, options, search, most, frozenset(changed))


def _text(packed: bytes) -> str:
    return urlsafe_b64encode(packed).decode().rstrip("=")


@api.route(
    "GET",
    "/v1/<name>/search",
    {"query": CLAIM, "hits": 3},
    answer=schemas.SimpleAnswer,
    other=_LISTINGS,
    headers=_CUT_OFF,
)
def search_simply(
    call: Call, served: ServedIndex, body: schemas.SimpleSearch
) -> schemas.SearchAnswer | Response:
    """Search with a query string; the answer has ``hits`` and Anserini's ``candidates``."""
    return _answer_or_list(call, served, body)


@api.route(
    "POST",
    "/v1/<name>/search",
    {"query": CLAIM, "k": 3, "as_of": "2025", "undated": "keep", "explain": True},
    other=_LISTINGS,
    headers=_CUT_OFF,
)
def search(
    call: Call, served: ServedIndex, body: schemas.SearchRequest
) -> schemas.SearchAnswer | Response:
    """Search with a JSON body."""
    return _answer_or_list(call, served, body)


def _answer_or_list(
    call: Call, served: ServedIndex, body: schemas.SearchFields
) -> schemas.SearchAnswer | Response:
    """Answer a search in the format that the request names or accepts."""
    asked = PreparedSearch.of(call, served, body)
    options = asked.page.options
    wanted = options.format or _accepted_format()
    if wanted == listings.JSON:
        return asked.answer()
    if options.explain or options.passages or options.count or options.facets:
        reason = (
            "cannot contain explain, passages, count or facets; leave them out, or ask for json"
        )
        raise BadInput("format", f"{wanted} {reason}")
    return asked.listing(wanted)


def _accepted_format() -> str:
    """Return the format that the client prefers; most clients accept anything, which means JSON."""
    if request.environ.get("HTTP_ACCEPT", "*/*") in ("*/*", JSON):
        return listings.JSON
    by_media = {listings.kind(each).media: each for each in listings.KINDS}
    media = request.accept_mimetypes.best_match([JSON, *by_media], JSON)
    return by_media.get(media or JSON, listings.JSON)


@dataclass(frozen=True, slots=True)
class PreparedSearch:
    """A search of one index, checked and ready to be answered."""

    call: Call
    served: ServedIndex
    body: schemas.SearchFields
    page: Page[schemas.SearchFields]
    question: Question

    @classmethod
    def of(cls, call: Call, served: ServedIndex, body: schemas.SearchFields) -> PreparedSearch:
        """Return a request as a search of an index; raise BadInput, with the field, if it is
        invalid.
        """
        if not (body.query or body.like):
            raise BadInput("query", "is missing; give a query, or the id of a document as like")
        if body.query and body.like:
            raise BadInput("like", "replaces the query; leave out one of them")
        k_name = body.merge_k()
        page = resume([served], body)
        question = question_of(call, page.options, served.index, k_name)
        return cls(call, served, body, page, question)

    def answer(self) -> schemas.SearchAnswer:
        """Return the hits of the search; raise BadInput, TimedOutError or what the index raises."""
        options, page, served = self.page.options, self.page, self.served
        result = answer(self.call, served.index, self.question)
        query = query_text(self.question, result.parsed, result.text)
        fields: dict[str, Any] = {
            "request_id": self.call.request_id,
            "qid": UNSET if options.qid is None else options.qid,
            "index": served.name,
            "manifest_id": served.manifest_id,
            "retriever": result.retriever,
            "took_ms": result.took,
            "note": page.note(result.note, served.name),
            "hits": result.hits,
            "related": result.related,
            "absent_words": list(result.absent_words),
            "explanation": result.explanation or UNSET,
            "suited_indexes": self.call.serving.suited_to(result.text, served) or UNSET,
            "suggestion": result.suggestion or UNSET,
            "coverage": result.coverage or UNSET,
            "approximate": result.resolved.approximate or UNSET,
            "depth": result.depth or UNSET,
            "cursor": page.cursor(options.offset + len(result.hits)) if result.more else UNSET,
            "total": total_answer(result.total) if result.total else UNSET,
            "facets": facet_answers(result.facets) if options.facets else UNSET,
        }
        if not isinstance(self.body, schemas.SimpleSearch):
            shown = query if query.parsed or query.like else UNSET
            return schemas.SearchAnswer(**fields, query=shown)
        candidates = [
            schemas.Candidate(
                docid=hit.docid,
                score=hit.score,
                rank=hit.rank,
                doc=_doc(self.call, served.index, hit.docid, self.body.parse),
            )
            for hit in result.hits
        ]
        return schemas.SimpleAnswer(**fields, query=query, candidates=candidates)

    def listing(self, wanted: str) -> Response:
        """Return the hits of the search as a file in this format."""
        result = answer(self.call, self.served.index, self.question)
        hits = result.hits
        if wanted in listings.CITING:
            hits = [listings.cited_hit(hit, self.served.name) for hit in hits]
        about = self.page.options.like or result.text
        qid = self.page.options.qid or "1"
        return write_listing(hits, wanted, about, result.missing, qid)


def write_listing(
    hits: Sequence[Evidence], name: str, about: str, missing: Iterable[str], qid: str = "1"
) -> Response:
    """Return hits as a file, named after the text that was searched for.

    A header names rankings that were cut off, because a file cannot.
    """
    kind = listings.kind(name)
    with query_errors_named(current_call(), "format"):
        content = kind.write(hits, qid)
    return name_late(download(content, kind.media, about, kind.suffix), missing)


def name_late(response: Response, missing: Iterable[str]) -> Response:
    """Return a response with the header that names rankings that were cut off."""
    if names := ", ".join(dict.fromkeys(missing)):
        response.headers["X-Cut-Off"] = names
    return response


@api.route("POST", "/v1/search", {"query": CLAIM, "k": 3}, problems=(404,))
def search_many(call: Call, body: schemas.SearchManyRequest) -> schemas.SearchManyAnswer:
    """Search several indexes and fuse their hits by rank into one ranking; each hit names its
    index.
    """
    names = body.indexes or list(call.serving.indexes)
    if isinstance(names, list) and len(set(names)) < len(names):
        raise BadInput("indexes", "an index is given twice")
    weights = dict(names) if isinstance(names, dict) else dict.fromkeys(names, 1.0)
    with query_errors_named(call, "indexes"):
        weights = chosen_weights(weights, weights)
    k_name = body.merge_k()
    page = resume(map(index_named, weights), body, weights)
    options, questions = page.options, {}
    for name, served in page.served.items():
        try:
            questions[name] = question_of(call, options, served.index, k_name)
        except BadInput as error:
            raise (
                error
                if error.field == "facets"
                else BadInput(error.field, f"{name}: {error.unnamed}")
            ) from None
    indexes = {name: served.index for name, served in page.served.items()}
    result = answer_of_many(call, indexes, questions, weights, options.rrf_k or 0)
    first, counts = next(iter(result.indexes.values())), result.counts
    query = query_text(next(iter(questions.values())), first.parsed, first.text)
    each = {
        name: schemas.AskedIndex(
            manifest_id=page.served[name].manifest_id,
            retriever=part.resolved.retriever,
            weight=part.weight,
            note=page.note(part.note, name),
            suggestion=part.suggestion or UNSET,
            total=total_answer(counts.totals[name]) if counts else UNSET,
            facets=facet_answers(counts.of_each[name]) if counts and options.facets else UNSET,
            coverage=part.coverage or UNSET,
            approximate=part.resolved.approximate or UNSET,
        )
        for name, part in result.indexes.items()
    }
    return schemas.SearchManyAnswer(
        request_id=call.request_id,
        qid=UNSET if options.qid is None else options.qid,
        indexes=each,
        rrf_k=result.rrf_k,
        took_ms=result.took,
        hits=result.hits,
        related=result.related,
        absent_words=list(result.absent_words),
        query=query if query.parsed else UNSET,
        cursor=page.cursor(options.offset + len(result.hits)) if result.more else UNSET,
        total=total_answer(counts.total) if counts else UNSET,
        facets=facet_answers(counts.facets) if counts and options.facets else UNSET,
    )


@api.route(
    "POST",
    "/v1/<name>/search/batch",
    {"queries": [{"qid": "1", "text": CLAIM}], "k": 3},
    answer=schemas.BatchAnswer,
    other={NDJSON: _STREAM, TEXT: _RUN},
    headers={"X-Failed-Queries": "for a TREC run: the number of queries that the run lacks"},
)
def search_batch(call: Call, served: ServedIndex, body: schemas.BatchRequest) -> Response:
    """Search for many queries; ``Accept`` selects JSON, NDJSON or a TREC run."""
    batch = Batch(call, served.index, body)
    wanted = request.accept_mimetypes.best_match([JSON, NDJSON, TEXT], JSON)
    if wanted == TEXT:
        run, failed = batch.run()
        return Response(run, mimetype=TEXT, headers={"X-Failed-Queries": str(failed)})
    if wanted == NDJSON:
        request.environ[LAST_LINE] = _line(_end("stopping", "the server is stopping"))
        return Response(_begin(_lines(batch, call.request_id), 1), mimetype=NDJSON)
    head = {
        "request_id": call.request_id,
        "index": served.name,
        "manifest_id": served.manifest_id,
        "retriever": batch.retriever,
    }

    def pieces() -> Generator[bytes]:
        yield msgspec.json.encode(head)[:-1] + b',"results":['
        yield from batch.pieces(
            lambda number, answer: b"," * bool(number) + msgspec.json.encode(answer)
        )
        yield b'],"took_ms":' + msgspec.json.encode(batch.took) + b"}"

    return Response(_begin(pieces(), 2), mimetype=JSON)


def _end(error: str, reason: str) -> schemas.BatchEnd:
    return schemas.BatchEnd(
        error=error, detail=f"{reason}; send the queries that have no line again"
    )


def _line(answer: AnswerPart) -> bytes:
    return msgspec.json.encode(answer) + b"\n"


def _lines(batch: Batch, request_id: str) -> Generator[bytes]:
    """Yield the answers of a batch in lines; if the index fails after the first ones, the last line
    says so.
    """
    has_begun = False
    try:
        for piece in batch.pieces(lambda _, answer: _line(answer)):
            yield piece
            has_begun = True
    except FactseekError as error:
        if not has_begun:
            raise
        _log.error("%s %s", request_id, error.line)
        yield _line(_end("unavailable", "this index cannot be searched at the moment"))


def _begin(pieces: Generator[bytes], number: int) -> Iterator[bytes]:
    """Make the first pieces of an answer, and return all: an error in the first ones can still be
    answered.
    """
    first = list(islice(pieces, number))

    def all_pieces() -> Iterator[bytes]:
        with closing(pieces):
            while first:
                yield first.pop(0)
            yield from pieces

    return all_pieces()


@api.route(
    "GET",
    "/v1/<name>/documents/<docid:docid>",
    tag="Documents",
    answer=schemas.DocumentWithPassages,
    headers=ETAG,
    also=_SAME,
)
def document(call: Call, served: ServedIndex, docid: str) -> Response:
    """Return a document with its passages."""
    body = document_answer(charged_document(call.memory, served.index, docid))
    passages = [
        schemas.PassagePlace(
            number=number, page=page_at(body.metadata, start), start=start, end=end, text=text
        )
        for _, number, start, end, text in served.index.passages(docid)
    ]
    addition = served.index.addition(docid)
    answer = schemas.DocumentWithPassages(
        request_id=call.request_id,
        index=served.name,
        manifest_id=served.manifest_id,
        added=addition.time or UNSET,
        added_by=(key_name() and addition.by) or UNSET,
        document=body,
        passages=passages,
    )
    return _cacheable(json_answer(answer), document_state(served.index, docid))


@api.route(
    "GET",
    "/v1/<name>/doc/<docid:docid>",
    tag="Documents",
    answer=schemas.SimpleDocument,
    headers=ETAG,
    also=_SAME,
)
def document_simply(
    call: Call, served: ServedIndex, body: schemas.DocParameters, docid: str
) -> Response:
    """Return a document in the format of Anserini's and Pyserini's own routes."""
    doc = _doc(call, served.index, docid, body.parse)
    state = hashlib.sha256(msgspec.json.encode(doc)).hexdigest()[:32]
    answer = schemas.SimpleDocument(index=served.name, docid=docid, doc=doc)
    return _cacheable(json_answer(answer), state)


def document_state(index: Index, docid: str) -> str:
    """Return the id of a document's state, which changes with its content and its passages; raise
    NotFoundError.
    """
    spans = [Span(passage.number, passage.start, passage.end) for passage in index.passages(docid)]
    return state_of(checksum(index.document(docid)), spans)


def _doc(call: Call, index: Index, docid: str, parse: bool) -> schemas.DocumentAnswer | str:
    answer = document_answer(charged_document(call.memory, index, docid))
    return answer if parse else msgspec.json.encode(answer).decode()


def _cacheable(response: Response, state: str) -> Response:
    """Add the ETag of a document's state to an answer; answer 304 if the client has that state."""
    # Weak, because two answers with the same document have different request ids.
    response.set_etag(state, weak=True)
    response.cache_control.no_cache = True
    response.make_conditional(request)
    return response


@api.route("GET", "/v1/indexes", tag="Indexes")
def list_indexes(call: Call) -> schemas.IndexList:
    """List the served indexes."""
    summaries = [_summary(served) for served in call.serving.indexes.values()]
    return schemas.IndexList(request_id=call.request_id, indexes=summaries)


@api.route("GET", "/v1/indexes/<name>", tag="Indexes")
def describe_index(call: Call, served: ServedIndex) -> schemas.IndexAnswer:
    """Describe one index with its manifest; the names of keys in it are only for clients with a
    key.
    """
    manifest = served.index.info.published
    if not key_name():
        manifest = _without_key_names(manifest)
    return schemas.IndexAnswer(
        request_id=call.request_id, index=_summary(served), manifest=manifest
    )


def _without_key_names(manifest: Manifest) -> Manifest:
    replaced = msgspec.structs.replace
    segments = [
        replaced(segment, added=tuple(replaced(added, by="") for added in segment.added))
        for segment in manifest.segments
    ]
    return replaced(manifest, segments=tuple(segments))


def _summary(served: ServedIndex) -> schemas.IndexSummary:
    info = served.index.info
    return schemas.IndexSummary(
        name=served.name,
        manifest_id=served.manifest_id,
        documents=info.documents,
        passages=info.passages,
        language=info.language,
        retrievers=list(served.retrievers),
    )


@api.route("GET", "/livez", tag="Operation")
def live() -> schemas.Health:
    """Report that the server is alive."""
    return schemas.Health(status="ok")


@api.route("GET", "/readyz", tag="Operation", also={503: schemas.Health})
def ready() -> schemas.Health | Response:
    """Report whether each index has answered a search.

    The status is 200 if every index has answered, else 503. For shards on a cluster, the answer
    lists the state of each replica.
    """
    states = registry().states()
    shards = {
        name: list(each)
        for name, served in registry().indexes.items()
        if (each := served.index.shards())
    }
    good = set(states.values()) <= {READY}
    health = schemas.Health(
        status="ok" if good else "unavailable", indexes=states, shards=shards or UNSET
    )
    return health if good else json_answer(health, 503)


@api.route(
    "GET",
    "/metrics",
    tag="Operation",
    other={TEXT: "for Prometheus; totals over all workers"},
)
def metrics() -> Response:
    """Return the metrics in the text format of Prometheus."""
    serving = registry()
    lines = serving.counts.lines()

    def gauge(name: str, says: str, values: Iterable[tuple[str, object]]) -> None:
        lines.extend([f"# HELP factseek_{name} {says}", f"# TYPE factseek_{name} gauge"])
        lines.extend(f"factseek_{name}{{{labels}}} {value}" for labels, value in values)

    indexes = [(f'index="{name}"', served) for name, served in serving.indexes.items()]
    ready = [(f'index="{name}"', int(state == READY)) for name, state in serving.states().items()]
    gauge("index_ready", "Whether the index can be searched.", ready)
    for what in ("documents", "passages"):
        gauge(
            f"index_{what}",
            "What the index contains.",
            [(of, getattr(one.index.info, what)) for of, one in indexes],
        )
    bulks = [(of, waiting(one.index.info.place)[1]) for of, one in indexes]
    gauge("jobs_waiting", "Bulks that have not ended.", bulks)
    manifests = [(f'{of},manifest="{one.manifest_id}"', 1) for of, one in indexes]
    gauge("index_manifest", "The manifest that is served.", manifests)
    replicas = [
        (
            f'{of},shard="{shard.name}",generation="{shard.generation}",state="{state}"',
            sum(replica.state == state for replica in shard.replicas),
        )
        for of, one in indexes
        for shard in one.index.shards()
        for state in ("answers", "lost", "unasked")
    ]
    if replicas:
        gauge("shard_replicas", "Replicas by the result of the last request to them.", replicas)
    content = "\n".join([*lines, ""])
    return Response(content, content_type="text/plain; version=0.0.4; charset=utf-8")
