"""The JSON API."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, cast

import msgspec
from flask import Blueprint, Response, g, request
from flask.globals import request_ctx

from ...retrieval.domain import Span
from ...retrieval.errors import QueryError
from ...retrieval.search import listings
from ...retrieval.search.answer import Answer
from ...retrieval.search.counting import facet_answers, total_answer
from ...retrieval.search.evidence import Evidence
from ...retrieval.store.documents import checksum, state_of
from ..errors import BadInput
from ..memory import charged_document
from ..runtime import READY, ServedIndex, index_named, registry, suited_indexes
from ..schemas import (
    BatchRequest,
    Candidate,
    DocParameters,
    DocumentAnswer,
    DocumentWithPassages,
    Health,
    IndexAnswer,
    IndexList,
    IndexSummary,
    ReplicaHealth,
    SearchAnswer,
    SearchRequest,
    ShardHealth,
    SimpleAnswer,
    SimpleDocument,
    SimpleSearch,
    document_answer,
    from_body,
    from_query,
    json_answer,
    passage_place,
    query_text,
)
from ..search import answer, question_of
from .batch import Batch, json_pieces, ndjson_pieces
from .operations import JSON, NDJSON, TEXT
from .paging import Page, resume

if TYPE_CHECKING:
    from ...retrieval.search.index import Index

blueprint = Blueprint("api", __name__)
_ANYTHING = "*/*"


@blueprint.get("/v1/indexes")
def list_indexes() -> Response:
    """List the served indexes."""
    summaries = [_summary(served) for served in registry().indexes.values()]
    return json_answer(IndexList(request_id=g.request_id, indexes=summaries))


@blueprint.get("/v1/indexes/<name>")
def describe_index(name: str) -> Response:
    """Describe one index with its manifest."""
    served = index_named(name)
    return json_answer(
        IndexAnswer(request_id=g.request_id, index=_summary(served), manifest=served.index.info.published)
    )


@blueprint.get("/v1/<name>/search")
def search_simply(name: str) -> Response:
    """Search with a query string; the answer has ``hits`` and Anserini's ``candidates``."""
    index_named(name)
    parameters = from_query(request.args, SimpleSearch)
    page = resume({name: 1.0}, cast(SearchRequest, parameters.with_one_query()))
    index = page.served[name].index
    question = question_of(page.asked, index, "hits" if parameters.k is None else "k")
    wanted = _format_of(page.asked)
    result = answer(index, question)
    if wanted != listings.JSON:
        return _listing(result, wanted, page.asked.qid)
    candidates = [_candidate(index, hit, parameters.parse) for hit in result.hits]
    query = query_text(question, result.parsed, result.text)
    return json_answer(SimpleAnswer(**_fields(page, name, result), query=query, candidates=candidates))


@blueprint.post("/v1/<name>/search")
def search(name: str) -> Response:
    """Search with a JSON body."""
    index_named(name)
    body = from_body(request_ctx.request, SearchRequest)
    page = resume({name: 1.0}, body.with_one_query())
    index = page.served[name].index
    question = question_of(page.asked, index, "k" if body.hits is None else "hits")
    wanted = _format_of(page.asked)
    result = answer(index, question)
    if wanted != listings.JSON:
        return _listing(result, wanted, page.asked.qid)
    query = query_text(question, result.parsed, result.text)
    return json_answer(SearchAnswer(**_fields(page, name, result), query=query if query.tells else msgspec.UNSET))


def _fields(page: Page[SearchRequest], name: str, result: Answer) -> dict[str, Any]:
    """Return the fields that both kinds of search answer."""
    asked, served, unset = page.asked, page.served[name], msgspec.UNSET
    return {
        "request_id": g.request_id,
        "qid": unset if asked.qid is None else asked.qid,
        "index": name,
        "manifest_id": served.manifest_id,
        "retriever": result.retriever,
        "took_ms": result.took,
        "note": page.note(result.note, name),
        "hits": result.hits,
        "explanation": result.explanation or unset,
        "suited_indexes": suited_indexes(served, result.text) or unset,
        "suggestion": result.suggestion or unset,
        "coverage": result.coverage or unset,
        "approximate": result.approximate or unset,
        "depth": result.depth or unset,
        "cursor": page.cursor(asked.offset + len(result.hits)) if result.more else unset,
        "total": total_answer(result.total) if result.total else unset,
        "facets": facet_answers(result.facets) if asked.facets else unset,
    }


@blueprint.post("/v1/<name>/search/batch")
def search_batch(name: str) -> Response:
    """Search for many queries; ``Accept`` selects JSON, NDJSON or a TREC run."""
    served = index_named(name)
    index = served.index
    asked = from_body(request, BatchRequest)
    batch = Batch(index, asked)
    wanted = request.accept_mimetypes.best_match([JSON, NDJSON, TEXT], JSON)
    if wanted == TEXT:
        run, failed = batch.run()
        return Response(run, mimetype=TEXT, headers={"X-Failed-Queries": str(failed)})
    if wanted == NDJSON:
        return Response(ndjson_pieces(batch), mimetype=NDJSON)
    head = {
        "request_id": g.request_id,
        "index": name,
        "manifest_id": served.manifest_id,
        "retriever": index.resolve(batch.search).retriever,
    }
    return Response(json_pieces(head, batch), mimetype=JSON)


@blueprint.get("/v1/<name>/documents/<docid:docid>")
def document(name: str, docid: str) -> Response:
    """Return a document with its passages."""
    served = index_named(name)
    index = served.index
    body = document_answer(charged_document(index, docid))
    passages = [passage_place(passage, body.metadata) for passage in index.passages(docid)]
    answer = DocumentWithPassages(
        request_id=g.request_id,
        index=name,
        manifest_id=served.manifest_id,
        document=body,
        passages=passages,
    )
    return _cacheable(json_answer(answer), document_state(index, docid))


@blueprint.get("/v1/<name>/doc/<docid:docid>")
def document_simply(name: str, docid: str) -> Response:
    """Return a document in the format of Anserini's and Pyserini's own route."""
    index = index_named(name).index
    parse = from_query(request.args, DocParameters).parse
    doc = _doc(index, docid, parse)
    state = hashlib.sha256(msgspec.json.encode(doc)).hexdigest()[:32]
    return _cacheable(json_answer(SimpleDocument(index=name, docid=docid, doc=doc)), state)


def document_state(index: Index, docid: str) -> str:
    """Return the id of a document's state, which changes with its content and its passages.

    Raises NotFoundError if there is no such document.
    """
    spans = [Span(passage.number, passage.start, passage.end) for passage in index.passages(docid)]
    return state_of(checksum(index.document(docid)), spans)


@blueprint.get("/livez")
def live() -> Response:
    """Report that the server is alive."""
    return json_answer(Health(status="ok"))


@blueprint.get("/readyz")
def ready() -> Response:
    """Report whether each index has answered a search.

    The status is 200 if every index has, else 503. For shards on a cluster, the answer lists the state of each replica.
    """
    states = registry().states()
    good = all(state == READY for state in states.values())
    health = Health(status="ok" if good else "unavailable", indexes=states, shards=_shards() or msgspec.UNSET)
    return json_answer(health, 200 if good else 503)


def _format_of(asked: SearchRequest) -> str:
    """Return the format of an answer: the one in the request, else the one that ``Accept`` prefers, else ``json``.

    Raises BadInput if the format cannot express the requested options.
    """
    name = asked.format or _preferred()
    if name != listings.JSON and (asked.explain or asked.passages or asked.count or asked.facets):
        raise BadInput(
            "format", f"{name} cannot contain explain, passages, count or facets; leave them out, or ask for json"
        )
    return name


def _preferred() -> str:
    """Return the format that ``Accept`` prefers; most clients accept anything, which means JSON."""
    if request.environ.get("HTTP_ACCEPT", _ANYTHING) in (_ANYTHING, JSON):
        return listings.JSON
    by_media = {listings.kind(name).media: name for name in listings.KINDS}
    wanted = request.accept_mimetypes.best_match([JSON, *by_media], JSON)
    return by_media.get(wanted or JSON, listings.JSON)


def _listing(result: Answer, name: str, qid: str | None) -> Response:
    """Return the hits as a file; name rankings that were cut off in a header, because a file cannot.

    Raises BadInput if the format cannot express an id.
    """
    kind = listings.kind(name)
    try:
        content = kind.write(result.hits, qid or "1")
    except QueryError as error:
        raise BadInput("format", error.line) from None
    response = Response(content, mimetype=kind.media)
    response.headers["Content-Disposition"] = f'attachment; filename="evidence.{kind.suffix}"'
    if result.missing:
        response.headers["X-Cut-Off"] = ", ".join(dict.fromkeys(result.missing))
    return response


def _shards() -> dict[str, list[ShardHealth]]:
    of_indexes = {name: served.index.shards() for name, served in registry().indexes.items()}
    return {
        name: [
            ShardHealth(shard.name, shard.generation, [ReplicaHealth(*replica) for replica in shard.replicas])
            for shard in shards
        ]
        for name, shards in of_indexes.items()
        if shards
    }


def _summary(served: ServedIndex) -> IndexSummary:
    info = served.index.info
    return IndexSummary(
        name=served.name,
        manifest_id=served.manifest_id,
        documents=info.documents,
        passages=info.passages,
        language=info.language,
        retrievers=list(served.retrievers),
    )


def _candidate(index: Index, hit: Evidence, parse: bool) -> Candidate:
    return Candidate(docid=hit.docid, score=hit.score, rank=hit.rank, doc=_doc(index, hit.docid, parse))


def _cacheable(response: Response, state: str) -> Response:
    """Add the ETag of a document's state to an answer; answer 304 if the client has that state.

    The ETag is weak, because two answers with the same document have different request ids.
    """
    response.set_etag(state, weak=True)
    response.cache_control.no_cache = True
    response.make_conditional(request)
    return response


def _doc(index: Index, docid: str, parse: bool) -> DocumentAnswer | str:
    answer = document_answer(charged_document(index, docid))
    return answer if parse else msgspec.json.encode(answer).decode()
