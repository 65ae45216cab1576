"""What each route of the API takes and answers, said once: the OpenAPI document and ``/docs`` are made from it.

Types say the rest: their fields, limits and descriptions are those that requests are checked by.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, NamedTuple

from server import answers, requests

JSON, NDJSON, TEXT = "application/json", "application/x-ndjson", "text/plain"
_HEADERS = MappingProxyType({"ETag": "names this state of the document; send it back as If-None-Match"})


class Operation(NamedTuple):
    """What a route takes and answers; its address, method and summary are the view's own."""

    tag: str
    answer: type | None = None
    """Of status 200, as JSON."""
    parameters: type[requests.Asked] | None = None
    body: type[requests.Asked] | None = None
    problems: tuple[int, ...] = ()
    """Statuses of errors beside those that any route may answer."""
    other: MappingProxyType[str, str] = MappingProxyType({})
    """What is answered that is no JSON, by media type: what ``Accept`` asks for, or all that there is."""
    headers: MappingProxyType[str, str] = MappingProxyType({})
    """Headers of the answer, and what they say."""
    also: MappingProxyType[int, type | str] = MappingProxyType({})
    """Other statuses that are no errors: the type of the answer, or why there is none."""
    example: MappingProxyType[str, Any] = MappingProxyType({})
    """A body, or the parameters of a query string, to begin with."""


_CLAIM = "Two doses of the measles vaccine are 97 percent effective."
_BODY = (400, 404, 413, 415)

OPERATIONS: MappingProxyType[str, Operation] = MappingProxyType(
    {
        "api.search_simply": Operation(
            "Search",
            answers.SimpleAnswer,
            parameters=requests.SimpleSearch,
            problems=(400, 404),
            example=MappingProxyType({"query": _CLAIM, "hits": 3}),
        ),
        "api.search": Operation(
            "Search",
            answers.SearchAnswer,
            body=requests.SearchRequest,
            problems=_BODY,
            example=MappingProxyType({"query": _CLAIM, "k": 3, "as_of": "2025", "undated": "keep", "explain": True}),
        ),
        "api.search_batch": Operation(
            "Search",
            answers.BatchAnswer,
            body=requests.BatchRequest,
            problems=_BODY,
            other=MappingProxyType(
                {
                    NDJSON: "one query a line, in order, each sent as soon as it is answered",
                    TEXT: "a TREC run: qid Q0 docid rank score tag",
                }
            ),
            headers=MappingProxyType({"X-Failed-Queries": "of a TREC run: how many queries are not in it"}),
            example=MappingProxyType({"queries": [{"qid": "1", "text": _CLAIM}], "k": 3}),
        ),
        "api.document": Operation(
            "Documents",
            answers.DocumentWithPassages,
            problems=(404,),
            headers=_HEADERS,
            also=MappingProxyType({304: "The document is still what If-None-Match names."}),
        ),
        "api.document_simply": Operation(
            "Documents",
            answers.SimpleDocument,
            parameters=requests.DocParameters,
            problems=(400, 404),
            headers=_HEADERS,
            also=MappingProxyType({304: "The document is still what If-None-Match names."}),
        ),
        "claims.rank_claims": Operation(
            "Claims",
            answers.RankAnswer,
            body=requests.RankRequest,
            problems=_BODY,
            example=MappingProxyType({"claims": [{"id": "1", "text": _CLAIM}, {"id": "2", "text": "Good morning!"}]}),
        ),
        "api.list_indexes": Operation("Indexes", answers.IndexList),
        "api.describe_index": Operation("Indexes", answers.IndexAnswer, problems=(404,)),
        "api.live": Operation("Operation", answers.Health),
        "api.ready": Operation("Operation", answers.Health, also=MappingProxyType({503: answers.Health})),
        "metrics": Operation("Operation", other=MappingProxyType({TEXT: "for Prometheus; totals over all workers"})),
    }
)
"""By endpoint, in the order in which they are read."""
