"""The operations of the API, the source of its description.

Types of requests add fields, limits and descriptions.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from flask import Flask

from .. import schemas

JSON, NDJSON, TEXT = "application/json", "application/x-ndjson", "text/plain"
_NONE: Mapping[Any, Any] = MappingProxyType({})


class Operation(NamedTuple):
    """A route's requests and answers.

    The address, the method and the summary come from the route itself.
    """

    tag: str
    answer: type | None = None  # the type of the JSON answer with status, if there is one
    parameters: type[schemas.RequestFields] | None = None
    body: type[schemas.RequestFields] | None = None
    # Whether the request has several objects of the type body: as a JSON array, or one per line.
    many: bool = False
    status: int = 200  # the status of a successful answer
    conditions: Mapping[str, str] = _NONE  # request headers that make the request conditional
    problems: tuple[int, ...] = ()  # error statuses in addition to those that any route may answer
    # Answers that are not JSON, by media type: chosen by Accept, or the only one.
    other: Mapping[str, str] = _NONE
    headers: Mapping[str, str] = _NONE  # headers of the answer, and their meaning
    # Other statuses that are no errors: the answer's type, or why there is none.
    also: Mapping[int, type | str] = _NONE
    example: Mapping[str, Any] = _NONE  # of a body, of an item of a list of them, or of parameters
    # The shape of errors in an adapter's protocol; None for factseek's own shape.
    failure: type | None = None
    # The protocol's status for each of factseek's statuses, if they differ.
    statuses: Mapping[int, int] = _NONE
    answers_list: bool = False  # whether the answer is a list of answer


WRITING = "Writing"  # the tag of operations that need a key and a server that allows changes
# The key in app.extensions for the operations of adapters, by endpoint.
ADDED = "factseek.operations"
_CLAIM = "Two doses of the measles vaccine are 97 percent effective."
_BODY = (400, 404, 413, 415)
_LINES = (
    "one query per line, in order, each sent as soon as it is answered; if the server stops or the "
    "index fails before "
    "all are answered, the last line has an error (`stopping` or `unavailable`) and no qid"
)
_RUN = "a TREC run: qid Q0 docid rank score tag"
_DOCUMENT = {"title": "Measles vaccine", "text": _CLAIM, "date": "2025-03", "topic": "health"}
_IF_MATCH = {
    "If-Match": "an ETag: change the document only if it is in this state; *: only if it exists"
}
_ETAG = {"ETag": "names this state of the document; send it back as If-None-Match"}
_SAME = {304: "The document is still in the state that If-None-Match names."}
_CUT_OFF = {"X-Cut-Off": "for answers that are not JSON: the rankings that took too long"}
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

OPERATIONS: Mapping[str, Operation] = MappingProxyType(
    {
        "api.search_simply": Operation(
            "Search",
            schemas.SimpleAnswer,
            parameters=schemas.SimpleSearch,
            problems=(400, 404),
            other=_LISTINGS,
            headers=_CUT_OFF,
            example={"query": _CLAIM, "hits": 3},
        ),
        "api.search": Operation(
            "Search",
            schemas.SearchAnswer,
            body=schemas.SearchRequest,
            problems=_BODY,
            other=_LISTINGS,
            headers=_CUT_OFF,
            example={"query": _CLAIM, "k": 3, "as_of": "2025", "undated": "keep", "explain": True},
        ),
        "api.search_many": Operation(
            "Search",
            schemas.SearchManyAnswer,
            body=schemas.SearchManyRequest,
            problems=_BODY,
            example={"query": _CLAIM, "k": 3},
        ),
        "api.search_batch": Operation(
            "Search",
            schemas.BatchAnswer,
            body=schemas.BatchRequest,
            problems=_BODY,
            other={NDJSON: _LINES, TEXT: _RUN},
            headers={
                "X-Failed-Queries": "for a TREC run: the number of queries that the run lacks"
            },
            example={"queries": [{"qid": "1", "text": _CLAIM}], "k": 3},
        ),
        "api.document": Operation(
            "Documents", schemas.DocumentWithPassages, problems=(404,), headers=_ETAG, also=_SAME
        ),
        "api.document_simply": Operation(
            "Documents",
            schemas.SimpleDocument,
            parameters=schemas.DocParameters,
            problems=(400, 404),
            headers=_ETAG,
            also=_SAME,
        ),
        "writing.point_alias": Operation(
            WRITING,
            schemas.AliasAnswer,
            body=schemas.AliasRequest,
            problems=(*_BODY, 403),
            example={"index": "monday"},
        ),
        "writing.put_document": Operation(
            WRITING,
            schemas.DocumentWritten,
            body=schemas.DocumentRequest,
            problems=(*_BODY, 403, 412),
            conditions={**_IF_MATCH, "If-None-Match": "*: write only if there is no such document"},
            headers=_ETAG,
            also={201: schemas.DocumentWritten},
            example=_DOCUMENT,
        ),
        "writing.delete_document": Operation(
            WRITING, problems=(400, 403, 404, 412), status=204, conditions=_IF_MATCH
        ),
        "writing.post_documents": Operation(
            WRITING,
            schemas.JobAnswer,
            parameters=schemas.BulkParameters,
            body=schemas.DocumentRequest,
            many=True,
            problems=(*_BODY, 403),
            status=202,
            headers={"Location": "the address of the job's status"},
            example={"docid": "measles-1", **_DOCUMENT},
        ),
        "writing.job_state": Operation(WRITING, schemas.JobAnswer, problems=(404,)),
        "claims.rank_claims": Operation(
            "Claims",
            schemas.RankAnswer,
            body=schemas.RankRequest,
            problems=_BODY,
            example={"claims": [{"id": "1", "text": _CLAIM}, {"id": "2", "text": "Good morning!"}]},
        ),
        "api.list_indexes": Operation("Indexes", schemas.IndexList),
        "api.describe_index": Operation("Indexes", schemas.IndexAnswer, problems=(404,)),
        "api.live": Operation("Operation", schemas.Health),
        "api.ready": Operation("Operation", schemas.Health, also={503: schemas.Health}),
        "api.metrics": Operation(
            "Operation", other={TEXT: "for Prometheus; totals over all workers"}
        ),
    }
)
"""The operations by endpoint, in the order of the OpenAPI document."""


def operations_of(app: Flask) -> Mapping[str, Operation]:
    """Return all operations of ``app`` by endpoint, the operations of the API first."""
    return {**OPERATIONS, **app.extensions.get(ADDED, {})}
