"""Serper's ``POST /search``, which agents use for a search of the web: here it searches an index.

``gl``, ``hl``, ``location``, ``tbs`` and ``autocorrect`` come back and change nothing; a hit without an address is
linked to its document on this server. Fields as in Serper's published examples.
"""

from __future__ import annotations

from calendar import month_abbr
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
from flask import Blueprint, Response, request, url_for
from msgspec import Meta

from ...retrieval.config import Positive
from ...retrieval.search.evidence import Answer, Evidence
from ..api.operations import Operation
from ..errors import Problem
from ..schemas import ForeignFields, SearchOptions, from_body, json_answer
from ..search import check_most
from . import configured_index
from ._shared import hits_of

if TYPE_CHECKING:
    from ...retrieval.search.index import Index

HELP = "Serper's web search: POST /search"
KEY_PARAMETER = ""
STATUSES = MappingProxyType({401: 403, 415: 400})
blueprint = Blueprint("serper", __name__)

_SNIPPET = 300
"""Characters of a snippet, at most; whole words."""


class SerperSearch(ForeignFields):
    """The body of Serper's search."""

    q: Annotated[str, Meta(description="what to search for")]
    gl: str | None = None
    hl: str | None = None
    location: str | None = None
    tbs: Annotated[str | None, Meta(description="a span of time, such as qdr:y")] = None
    autocorrect: bool | None = None
    num: Annotated[Positive, Meta(description="hits a page")] = 10
    page: Annotated[Positive, Meta(description="from 1")] = 1


class SerperParameters(Answer, kw_only=True):
    """What was asked, as Serper repeats it."""

    q: str
    type: Literal["search"] = "search"
    num: int
    page: int
    gl: str | msgspec.UnsetType = msgspec.UNSET
    hl: str | msgspec.UnsetType = msgspec.UNSET
    location: str | msgspec.UnsetType = msgspec.UNSET
    tbs: str | msgspec.UnsetType = msgspec.UNSET
    autocorrect: bool | msgspec.UnsetType = msgspec.UNSET


class SerperHit(Answer):
    """A hit as Serper answers it; its position counts from the first of its page."""

    title: str
    link: str
    snippet: str
    position: int
    date: str | msgspec.UnsetType = msgspec.UNSET


class SerperAnswer(Answer, rename="camel"):
    """The hits of a page as Serper answers them."""

    search_parameters: SerperParameters
    organic: list[SerperHit]


class SerperFailure(Answer, rename="camel"):
    """An error as Serper answers it."""

    message: str
    status_code: int


FAILURE = SerperFailure


def failure(problem: Problem) -> SerperFailure:
    """Return an error as Serper answers it."""
    return SerperFailure(message=problem.detail, status_code=STATUSES.get(problem.status, problem.status))


@blueprint.post("/search")
def serper_search() -> Response:
    """Search as Serper does."""
    asked = from_body(request, SerperSearch)
    served = configured_index()
    _check(asked, served.index)
    begin = (asked.page - 1) * asked.num
    options = SearchOptions(k=begin + asked.num)
    hits = hits_of(served.index, asked.q, options, "num", query_name="q").hits[begin:]
    echoed = {name: value for name, value in msgspec.structs.asdict(asked).items() if value is not None}
    parameters = SerperParameters(**echoed)
    organic = [_hit(position, served.name, hit) for position, hit in enumerate(hits, 1)]
    return json_answer(SerperAnswer(search_parameters=parameters, organic=organic))


def _check(asked: SerperSearch, index: Index) -> None:
    most = index.settings.search.max_k
    check_most("num", asked.num, most)
    check_most("page", asked.page, most // asked.num)


def _hit(position: int, name: str, hit: Evidence) -> SerperHit:
    text = hit.passage.text
    snippet = text if len(text) <= _SNIPPET else f"{text[:_SNIPPET].rpartition(' ')[0] or text[:_SNIPPET]} ..."
    return SerperHit(
        title=hit.title or hit.docid,
        link=hit.url or url_for("api.document", name=name, docid=hit.docid, _external=True),
        snippet=" ".join(snippet.split()),
        position=position,
        date=_date(hit.date) or msgspec.UNSET,
    )


def _date(date: str) -> str:
    """Return a full or partial ISO date as Serper writes one: ``Mar 5, 2020``."""
    year, _, rest = date.partition("-")
    month, _, day = rest.partition("-")
    if not month.isdecimal():
        return year
    return f"{month_abbr[int(month)]} {int(day)}, {year}" if day.isdecimal() else f"{month_abbr[int(month)]} {year}"


OPERATIONS = MappingProxyType(
    {
        "serper_search": Operation(
            "",
            SerperAnswer,
            body=SerperSearch,
            problems=(400, 413, 415),
            example=MappingProxyType({"q": "Is the measles vaccine effective?", "num": 3}),
        )
    }
)
