"""The operations of the API, from which the OpenAPI document and ``/docs`` are made.

Types say the rest: their fields, limits and descriptions are those that requests are checked by.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from flask import Flask

from .. import schemas

JSON, NDJSON, TEXT = "application/json", "application/x-ndjson", "text/plain"
_HEADERS = MappingProxyType({"ETag": "names this state of the document; send it back as If-None-Match"})


class Operation(NamedTuple):
    """A route's requests and answers; its address, method and summary are the view's own."""

    tag: str
    answer: type | None = None
    """Of ``status``, as JSON; none where nothing is answered or ``other`` says what."""
    parameters: type[schemas.RequestFields] | None = None
    body: type[schemas.RequestFields] | None = None
    many: bool = False
    """Whether the body is a list of ``body``, or a line of JSON each."""
    status: int = 200
    """Of what is answered when all goes well."""
    conditions: MappingProxyType[str, str] = MappingProxyType({})
    """Headers of the request that say when it is to be made at all."""
    problems: tuple[int, ...] = ()
    """Statuses of errors beside those that any route may answer."""
    other: MappingProxyType[str, str] = MappingProxyType({})
    """What is answered that is no JSON, by media type: what ``Accept`` asks for, or all that there is."""
    headers: MappingProxyType[str, str] = MappingProxyType({})
    """Headers of the answer, and what they say."""
    also: MappingProxyType[int, type | str] = MappingProxyType({})
    """Other statuses that are no errors: the type of the answer, or why there is none."""
    example: MappingProxyType[str, Any] = MappingProxyType({})
    """A body, one of a list of them, or the parameters of a query string, to begin with."""
    failure: type | None = None
    """The shape of errors where it is not ours: that of the protocol which an adapter speaks."""
    statuses: Mapping[int, int] = MappingProxyType({})
    """What that protocol answers in the place of our statuses, where they differ."""
    answers_list: bool = False
    """Whether what is answered is a list of ``answer``."""


LISTINGS = MappingProxyType(
    {
        "text/csv": "the hits as comma-separated values; formulas are made harmless",
        "text/tab-separated-values": "the hits as tab-separated values",
        NDJSON: "one hit per line",
        TEXT: "a TREC run: qid Q0 docid rank score tag",
        "application/x-research-info-systems": "the hits as RIS, for reference managers",
        "application/ld+json": "the hits as JSON-LD of schema.org: reviews of claims, and what a review cites",
        "application/x-bibtex": "the hits as BibTeX, for LaTeX",
    }
)
"""What a search answers that is no JSON, by media type."""
_LISTING_HEADERS = MappingProxyType({"X-Cut-Off": "for answers that are not JSON: the rankings that took too long"})
_ADDED = "factseek.operations"
_CLAIM = "Two doses of the measles vaccine are 97 percent effective."
_BODY = (400, 404, 413, 415)
WRITING = "Writing"
"""The tag of what is answered only where changes are allowed, and only with a key."""
_DOCUMENT = MappingProxyType({"title": "Measles vaccine", "text": _CLAIM, "date": "2025-03", "topic": "health"})
_IF_MATCH = {"If-Match": "an ETag of the document, or *: only if the document is in that state"}

OPERATIONS: MappingProxyType[str, Operation] = MappingProxyType(
    {
        "api.search_simply": Operation(
            "Search",
            schemas.SimpleAnswer,
            parameters=schemas.SimpleSearch,
            problems=(400, 404),
            other=LISTINGS,
            headers=_LISTING_HEADERS,
            example=MappingProxyType({"query": _CLAIM, "hits": 3}),
        ),
        "api.search": Operation(
            "Search",
            schemas.SearchAnswer,
            body=schemas.SearchRequest,
            problems=_BODY,
            other=LISTINGS,
            headers=_LISTING_HEADERS,
            example=MappingProxyType({"query": _CLAIM, "k": 3, "as_of": "2025", "undated": "keep", "explain": True}),
        ),
        "many.search_many": Operation(
            "Search",
            schemas.SearchManyAnswer,
            body=schemas.SearchManyRequest,
            problems=_BODY,
            example=MappingProxyType({"query": _CLAIM, "k": 3}),
        ),
        "api.search_batch": Operation(
            "Search",
            schemas.BatchAnswer,
            body=schemas.BatchRequest,
            problems=_BODY,
            other=MappingProxyType(
                {
                    NDJSON: "one query per line, in order, each sent as soon as it is answered",
                    TEXT: "a TREC run: qid Q0 docid rank score tag",
                }
            ),
            headers=MappingProxyType({"X-Failed-Queries": "for a TREC run: the number of queries that it lacks"}),
            example=MappingProxyType({"queries": [{"qid": "1", "text": _CLAIM}], "k": 3}),
        ),
        "api.document": Operation(
            "Documents",
            schemas.DocumentWithPassages,
            problems=(404,),
            headers=_HEADERS,
            also=MappingProxyType({304: "The document is still what If-None-Match names."}),
        ),
        "api.document_simply": Operation(
            "Documents",
            schemas.SimpleDocument,
            parameters=schemas.DocParameters,
            problems=(400, 404),
            headers=_HEADERS,
            also=MappingProxyType({304: "The document is still what If-None-Match names."}),
        ),
        "writing.point_alias": Operation(
            WRITING,
            schemas.AliasAnswer,
            body=schemas.AliasRequest,
            problems=(*_BODY, 403),
            example=MappingProxyType({"index": "monday"}),
        ),
        "writing.put_document": Operation(
            WRITING,
            schemas.DocumentWritten,
            body=schemas.DocumentRequest,
            problems=(*_BODY, 403, 412),
            conditions=MappingProxyType({**_IF_MATCH, "If-None-Match": "*: only if there is no such document"}),
            headers=_HEADERS,
            also=MappingProxyType({201: schemas.DocumentWritten}),
            example=_DOCUMENT,
        ),
        "writing.delete_document": Operation(
            WRITING, problems=(400, 403, 404, 412), status=204, conditions=MappingProxyType(_IF_MATCH)
        ),
        "writing.post_documents": Operation(
            WRITING,
            schemas.JobAnswer,
            parameters=schemas.BulkParameters,
            body=schemas.DocumentRequest,
            many=True,
            problems=(*_BODY, 403),
            status=202,
            headers=MappingProxyType({"Location": "the address of the job's status"}),
            example=MappingProxyType({"docid": "measles-1", **_DOCUMENT}),
        ),
        "writing.job_state": Operation(WRITING, schemas.JobAnswer, problems=(404,)),
        "claims.rank_claims": Operation(
            "Claims",
            schemas.RankAnswer,
            body=schemas.RankRequest,
            problems=_BODY,
            example=MappingProxyType({"claims": [{"id": "1", "text": _CLAIM}, {"id": "2", "text": "Good morning!"}]}),
        ),
        "api.list_indexes": Operation("Indexes", schemas.IndexList),
        "api.describe_index": Operation("Indexes", schemas.IndexAnswer, problems=(404,)),
        "api.live": Operation("Operation", schemas.Health),
        "api.ready": Operation("Operation", schemas.Health, also=MappingProxyType({503: schemas.Health})),
        "metrics": Operation("Operation", other=MappingProxyType({TEXT: "for Prometheus; totals over all workers"})),
    }
)
"""By endpoint, in the order in which they are read."""


def add(app: Flask, operations: Mapping[str, Operation]) -> None:
    """Describe operations of ``app`` beside its own."""
    app.extensions.setdefault(_ADDED, {}).update(operations)


def operations_of(app: Flask) -> Mapping[str, Operation]:
    """Return all operations of ``app`` by endpoint, its own first."""
    return {**OPERATIONS, **app.extensions.get(_ADDED, {})}
