"""Serper's ``POST /search``, with which agents search the web; here it searches an index.

``gl``, ``hl``, ``location``, ``tbs`` and ``autocorrect`` are repeated in the answer and have no
effect. A hit without an address links to its document on this server. Fields follow Serper's
published examples.
"""

from __future__ import annotations

from calendar import month_abbr
from typing import Annotated, Literal, Self

from flask import url_for
from msgspec import UNSET, UnsetType, structs

from ...core.settings import Positive
from ...retrieval.search.evidence import AnswerPart
from ..errors import Problem
from ..schemas import ForeignFields, SearchOptions, says
from ..search import check_most
from . import Adapter, configured_index
from ._shared import EXAMPLE, hits_of, title_of

_SNIPPET = 300  # the maximum number of characters of a snippet, which is cut between words


class SerperFailure(AnswerPart, rename="camel"):
    """An error in Serper's format."""

    message: str
    status_code: int

    @classmethod
    def of(cls, problem: Problem) -> Self:
        """Return an error in this shape."""
        return cls(message=problem.detail, status_code=problem.status)


adapter = Adapter(__name__, SerperFailure, {401: 403, 415: 400})


class SerperSearch(ForeignFields):
    """The body of Serper's search."""

    q: Annotated[str, says("the query")]
    gl: str | None = None
    hl: str | None = None
    location: str | None = None
    tbs: Annotated[str | None, says("a time span, such as qdr:y; it has no effect")] = None
    autocorrect: bool | None = None
    num: Annotated[Positive, says("the number of hits per page")] = 10
    page: Annotated[Positive, says("the number of the page, from 1")] = 1


class SerperParameters(AnswerPart, kw_only=True):
    """The parameters of the request, as Serper repeats them."""

    q: str
    type: Literal["search"] = "search"
    num: int
    page: int
    gl: str | UnsetType = UNSET
    hl: str | UnsetType = UNSET
    location: str | UnsetType = UNSET
    tbs: str | UnsetType = UNSET
    autocorrect: bool | UnsetType = UNSET


class SerperHit(AnswerPart):
    """A hit in Serper's format; ``position`` is its rank on its page, from 1."""

    title: str
    link: str
    snippet: str
    position: int
    date: str | UnsetType = UNSET


class SerperAnswer(AnswerPart, rename="camel"):
    """The hits of a page in Serper's format."""

    search_parameters: SerperParameters
    organic: list[SerperHit]


@adapter.route("POST", "/search", {"q": EXAMPLE, "num": 3})
def serper_search(body: SerperSearch) -> SerperAnswer:
    """Search as Serper does."""
    served = configured_index()
    most = served.index.settings.search.max_k
    check_most("num", body.num, most)
    check_most("page", body.page, most // body.num)
    begin = (body.page - 1) * body.num
    hits = hits_of(served.index, body.q, SearchOptions(k=begin + body.num), "num", query_name="q")[
        begin:
    ]
    organic = []
    for position, hit in enumerate(hits, 1):
        text = hit.passage.text
        snippet = (
            text
            if len(text) <= _SNIPPET
            else f"{text[:_SNIPPET].rpartition(' ')[0] or text[:_SNIPPET]} ..."
        )
        organic.append(
            SerperHit(
                title=title_of(hit),
                link=hit.url
                or url_for("api.document", name=served.name, docid=hit.docid, _external=True),
                snippet=" ".join(snippet.split()),
                position=position,
                date=_date(hit.date) or UNSET,
            )
        )
    echoed = {name: value for name, value in structs.asdict(body).items() if value is not None}
    return SerperAnswer(search_parameters=SerperParameters(**echoed), organic=organic)


def _date(date: str) -> str:
    year, _, rest = date.partition("-")
    month, _, day = rest.partition("-")
    if not month.isdecimal():
        return year
    return (
        f"{month_abbr[int(month)]} {int(day)}, {year}"
        if day.isdecimal()
        else f"{month_abbr[int(month)]} {year}"
    )
