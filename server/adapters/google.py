"""Google's Fact Check Tools: ``GET /v1alpha1/claims:search`` over an index of reviews (``factseek
index claimreview``).

Without a query, the route lists the newest reviews of a publisher. A page token is the cursor of a
factseek search. Parameters, answers and errors follow the discovery document of ``factchecktools``
v1alpha1. The age of a review counts from the later of two days: that of the review and that of the
claim.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from heapq import nlargest
from typing import TYPE_CHECKING, Annotated, Literal, Self

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from ...core.domain import Document
from ...core.settings import Count
from ...retrieval.filters import last_day
from ...retrieval.search.evidence import AnswerPart, Evidence, claim_of
from ...retrieval.search.options import FilterRequest, Search
from ..api.routes import resume
from ..call import current_call
from ..errors import BadInput, Problem
from ..schemas import RequestFields, SearchRequest, says
from ..search import TimedOutError, search_of, whole_answer
from . import Adapter, configured_index

if TYPE_CHECKING:
    from ...retrieval.search.index import Index

_FIRST_SLICE = 100  # the number of hits whose age is checked first; it doubles until a page is full
_DEFAULT_PAGE = 10
_WORDS = {
    400: "INVALID_ARGUMENT",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
}
Reviews = list[tuple[str, Evidence | Document]]
"""Claims, each with its review.

A claim is the text of the review's matching passage, else of its first passage.
"""


class GoogleStatus(AnswerPart):
    """The code, the message and the status word of an error."""

    code: int
    message: str
    status: str


class GoogleFailure(AnswerPart):
    """An error in the format of Google's APIs."""

    error: GoogleStatus

    @classmethod
    def of(cls, problem: Problem) -> Self:
        """Return an error in this shape."""
        word = _WORDS.get(problem.status, "UNKNOWN")
        return cls(error=GoogleStatus(code=problem.status, message=problem.detail, status=word))


adapter = Adapter(__name__, GoogleFailure, {401: 403, 405: 404, 415: 400}, key_parameter="key")


class GoogleSearch(RequestFields, kw_only=True):
    """The parameters of Google's search for claims.

    Parameters that all of Google's methods have are ignored, except ``key``. ``callback`` and
    ``$.xgafv`` are refused, because they would change the format of the answer.
    """

    query: Annotated[str, says("a claim; required without reviewPublisherSiteFilter")] = ""
    # theirs
    languageCode: Annotated[str, says("BCP-47 code; the region is ignored")] = ""  # noqa: N815
    reviewPublisherSiteFilter: Annotated[str, says("a site, such as nytimes.com")] = ""  # noqa: N815
    maxAgeDays: Annotated[  # noqa: N815
        Count, says("the maximum number of days since the later of review and claim (0: any age)")
    ] = 0
    pageSize: Annotated[Count, says("the number of claims per page (0: 10)")] = 0  # noqa: N815
    pageToken: Annotated[str, says("nextPageToken of the previous page")] = ""  # noqa: N815
    offset: Annotated[Count, says("how many of the first claims to skip")] = 0
    key: Annotated[str, says("an API key")] = ""
    alt: Literal["json"] = "json"
    prettyPrint: bool = True  # noqa: N815
    quotaUser: str = ""  # noqa: N815
    fields: Annotated[str, says("ignored: the answer is always complete")] = ""
    access_token: str = ""
    oauth_token: str = ""
    uploadType: str = ""  # noqa: N815
    upload_protocol: str = ""


class GooglePublisher(AnswerPart):
    """The publisher of a review."""

    name: str
    site: str


class GoogleReview(AnswerPart, rename="camel"):
    """A review of a claim."""

    publisher: GooglePublisher
    url: str
    title: str
    textual_rating: str
    language_code: str
    review_date: str | UnsetType = UNSET


class GoogleClaim(AnswerPart, rename="camel"):
    """A claim with its reviews; unknown fields are left out."""

    text: str
    claim_review: list[GoogleReview]
    claimant: str | UnsetType = UNSET
    claim_date: str | UnsetType = UNSET


class GoogleClaims(AnswerPart, rename="camel"):
    """Reviewed claims, best first, and the token of the next page; a field is left out if it would
    be empty.
    """

    claims: list[GoogleClaim] | UnsetType = UNSET
    next_page_token: str | UnsetType = UNSET


@adapter.route(
    "GET", "/v1alpha1/claims:search", {"query": "Nobody ever walked on the moon.", "pageSize": 1}
)
def google_claims_search(body: GoogleSearch) -> GoogleClaims:
    """Search for reviewed claims as Google's Fact Check Tools do."""
    site = body.reviewPublisherSiteFilter.strip().lower().removeprefix("www.")
    language = body.languageCode.partition("-")[0].lower()
    if not (body.query or body.reviewPublisherSiteFilter):
        raise BadInput("query", "is required without reviewPublisherSiteFilter")
    wanted = SearchRequest(
        query=body.query,
        k=body.pageSize or _DEFAULT_PAGE,
        offset=0 if body.pageToken else body.offset,
        cursor=body.pageToken,
        filter=FilterRequest(
            source=[site, f"www.{site}"] if site else [], language=[language] if language else []
        ),
        # Pass the number of days, not the oldest day: a token must stay valid after midnight.
        since=f"{body.maxAgeDays} days" if body.maxAgeDays else "",
    )
    try:
        page = resume([configured_index()], wanted)
    except BadInput as error:
        if error.field != "cursor":
            raise
        raise BadInput(
            "pageToken", "belongs to another search; send it with the parameters of that search"
        ) from None
    index, oldest = next(iter(page.served.values())).index, ""
    if body.maxAgeDays:
        oldest = (
            datetime.now(UTC).date() - timedelta(days=min(body.maxAgeDays, 700_000))
        ).isoformat()
    undated = msgspec.structs.replace(page.options, since="")
    search = search_of(
        current_call(), undated, index, k_name="pageSize", offset=page.options.offset
    )
    reviews, more = (
        _find_reviews(index, body.query, search, oldest)
        if body.query
        else _newest(index, search, oldest)
    )
    return GoogleClaims(
        claims=[_claim(*review) for review in reviews] or UNSET,
        next_page_token=page.cursor(search.offset + len(reviews)) if more else UNSET,
    )


def _find_reviews(index: Index, query: str, search: Search, oldest: str) -> tuple[Reviews, bool]:
    call = current_call()
    if not oldest:
        result = whole_answer(call, index, query, search)
        return [(claim_of(hit), hit) for hit in result.hits], result.more
    most, last = index.settings.search.max_k, search.offset + (search.k or index.settings.search.k)
    reviews: Reviews = []
    begin, size, more = 0, _FIRST_SLICE, True
    while more and begin < most and len(reviews) <= last:
        size = min(size, most - begin)
        result = whole_answer(call, index, query, replace(search, k=size, offset=begin))
        reviews += [(claim_of(hit), hit) for hit in result.hits if _day(hit) >= oldest]
        begin, size, more = begin + size, 2 * size, result.more
    return reviews[search.offset : last], len(reviews) > last


def _newest(index: Index, search: Search, oldest: str) -> tuple[Reviews, bool]:
    """Return a page of all reviews, and whether more follow: newest first, undated last, ties by
    docid descending.
    """
    last, limit = search.offset + (search.k or index.settings.search.k), current_call().limit()

    def days() -> Iterator[tuple[str, str]]:
        for document in index.documents(search.where):
            if limit.is_over("reviews"):
                raise TimedOutError(
                    "the time was too short to check all reviews of this publisher: add a query"
                )
            if (day := _day(document)) >= oldest:
                yield day, document.docid

    newest = nlargest(last + 1, days())
    docids = [docid for _, docid in newest[search.offset : last]]
    return [(index.passages(docid)[0].text, index.document(docid)) for docid in docids], len(
        newest
    ) > last


def _day(document: Evidence | Document) -> str:
    return max(last_day(document.date[:10]), last_day(_text(document, "claim_date")[:10]))


def _text(document: Evidence | Document, name: str) -> str:
    value = document.metadata.get(name)
    return value if isinstance(value, str) else ""


def _claim(text: str, document: Evidence | Document) -> GoogleClaim:
    review = GoogleReview(
        publisher=GooglePublisher(
            name=_text(document, "publisher") or document.source, site=document.source
        ),
        url=document.url,
        title=document.title,
        review_date=_time(document.date),
        textual_rating=next(
            filter(None, (_text(document, name) for name in ("rating", "label", "verdict"))), ""
        ),
        language_code=document.language,
    )
    claimant, date = _text(document, "claimant") or UNSET, _time(_text(document, "claim_date"))
    return GoogleClaim(text=text, claimant=claimant, claim_date=date, claim_review=[review])


def _time(day: str) -> str | UnsetType:
    """Return a day as Google writes a time; for a month or a year, its last day, as for a
    filter.
    """
    last = last_day(day[:10])
    return f"{last}T00:00:00Z" if last else UNSET
