"""Google's Fact Check Tools: ``GET /v1alpha1/claims:search`` over an index of reviews (``factseek index claimreview``).

Without a query, the newest reviews of a publisher are listed. A page token is the cursor of our own search. Parameters,
answer and errors are those of the discovery document of ``factchecktools`` v1alpha1.

A review is as old as the newer of two days: that of the review, and that of the claim.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from heapq import nlargest
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import msgspec
from flask import Blueprint, Response, request
from msgspec import Meta

from ...retrieval.config import Count
from ...retrieval.deadline import Deadline
from ...retrieval.domain import Document
from ...retrieval.filters import last_day
from ...retrieval.search.evidence import Answer, Evidence
from ...retrieval.search.options import Search
from ..api.operations import Operation
from ..api.paging import Page, resume
from ..errors import BadInput, Problem
from ..schemas import FilterRequest, RequestFields, SearchRequest, from_query, json_answer
from ..search import TimedOutError, limit_of, search_of, whole_evidence
from . import configured_index

if TYPE_CHECKING:
    from ...retrieval.search.index import Index

_FIRST_SLICE = 100
"""Hits whose age is looked at together at first; each time twice as many, until a page is full."""


class ReviewedClaim(NamedTuple):
    """A document with the claim that it reviews: the passage that was found, or its first."""

    claim: str
    document: Evidence | Document


class ReviewPage(NamedTuple):
    """A stretch of a list of reviews, and whether others follow."""

    reviews: list[ReviewedClaim]
    more: bool


def found_reviews(index: Index, query: str, search: Search, oldest: str) -> ReviewPage:
    """Return a page of the reviews that a query finds, best first.

    With a day, it is a page of those of the first ``max_k`` hits that are no older.
    Raises BadInput if the query cannot be searched for, TimedOutError if there was no time.
    """
    if not oldest:
        result = whole_evidence(index, query, search, highlight=False)
        return ReviewPage([ReviewedClaim(hit.passage.text, hit) for hit in result.hits], result.more)
    last = search.offset + (search.k or index.settings.search.k)
    reviews: list[ReviewedClaim] = []
    for hits in _slices(index, query, search):
        reviews += [ReviewedClaim(hit.passage.text, hit) for hit in hits if newest_day(hit) >= oldest]
        if len(reviews) > last:
            break
    return ReviewPage(reviews[search.offset : last], len(reviews) > last)


def newest_reviews(index: Index, search: Search, oldest: str) -> ReviewPage:
    """Return a page of all reviews that pass the filter, the newest first, equally new ones by docid, descending.

    Those without a date come last; with a day, none that is older or has no date comes.
    Raises TimedOutError if there was no time to look at all of them.
    """
    last = search.offset + (search.k or index.settings.search.k)
    limit = limit_of()
    dated = ((newest_day(document), document.docid) for document in _in_time(index.documents(search.where), limit))
    newest = nlargest(last + 1, (pair for pair in dated if pair[0] >= oldest))
    return ReviewPage([_review(index, docid) for _, docid in newest[search.offset : last]], len(newest) > last)


def newest_day(document: Evidence | Document) -> str:
    """Return the day of a review or of its claim, whichever is newer; ``""`` if neither is known."""
    return max(last_day(document.date[:10]), last_day(text_of(document.metadata, "claim_date")[:10]))


def text_of(known: Mapping[str, Any], name: str) -> str:
    """Return a text of the metadata, ``""`` if there is none of this name."""
    value = known.get(name)
    return value if isinstance(value, str) else ""


def _slices(index: Index, query: str, search: Search) -> Iterator[list[Evidence]]:
    """Yield the hits of a query, in slices."""
    begin, size, most = 0, _FIRST_SLICE, index.settings.search.max_k
    while begin < most:
        size = min(size, most - begin)
        result = whole_evidence(index, query, search._replace(k=size, offset=begin), highlight=False)
        yield result.hits
        if not result.more:
            return
        begin, size = begin + size, 2 * size


def _in_time(documents: Iterator[Document], limit: Deadline) -> Iterator[Document]:
    for document in documents:
        if limit.is_over("reviews"):
            raise TimedOutError("there was no time to look at all reviews of this publisher")
        yield document


def _review(index: Index, docid: str) -> ReviewedClaim:
    return ReviewedClaim(index.passages(docid)[0].text, index.document(docid))


HELP = "Google Fact Check Tools: GET /v1alpha1/claims:search"
KEY_PARAMETER = "key"
STATUSES = MappingProxyType({401: 403, 405: 404, 415: 400})
blueprint = Blueprint("google", __name__)

_DEFAULT_PAGE = 10
_WORDS = MappingProxyType(
    {
        400: "INVALID_ARGUMENT", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED",
        500: "INTERNAL", 503: "UNAVAILABLE",
    }
)  # fmt: skip


class GoogleSearch(RequestFields, kw_only=True):
    """The parameters of Google's search for claims; those of any of Google's methods are passed over.

    ``callback`` and ``$.xgafv``, which would change the form of the answer, are refused.
    """

    query: Annotated[str, Meta(description="a claim; needed unless reviewPublisherSiteFilter is given")] = ""
    languageCode: Annotated[str, Meta(description="BCP-47; the region is not considered")] = ""  # noqa: N815  theirs
    reviewPublisherSiteFilter: Annotated[str, Meta(description="a site, such as nytimes.com")] = ""  # noqa: N815
    maxAgeDays: Annotated[  # noqa: N815
        Count, Meta(description="days since the review or the claim, whichever is newer, at most; 0: any")
    ] = 0
    pageSize: Annotated[Count, Meta(description="how many claims; 0: 10")] = 0  # noqa: N815
    pageToken: Annotated[str, Meta(description="nextPageToken of the page before")] = ""  # noqa: N815
    offset: Annotated[Count, Meta(description="how many claims are left out before the first")] = 0
    key: Annotated[str, Meta(description="an API key")] = ""
    alt: Literal["json"] = "json"
    prettyPrint: bool = True  # noqa: N815
    quotaUser: str = ""  # noqa: N815
    fields: Annotated[str, Meta(description="passed over: the whole answer comes")] = ""
    access_token: str = ""
    oauth_token: str = ""
    uploadType: str = ""  # noqa: N815
    upload_protocol: str = ""


class GooglePublisher(Answer):
    """The publisher of a review."""

    name: str
    site: str


class GoogleReview(Answer, rename="camel"):
    """A review of a claim."""

    publisher: GooglePublisher
    url: str
    title: str
    textual_rating: str
    language_code: str
    review_date: str | msgspec.UnsetType = msgspec.UNSET


class GoogleClaim(Answer, rename="camel"):
    """A claim with its reviews; what is not known is left out."""

    text: str
    claim_review: list[GoogleReview]
    claimant: str | msgspec.UnsetType = msgspec.UNSET
    claim_date: str | msgspec.UnsetType = msgspec.UNSET


class GoogleClaims(Answer, rename="camel"):
    """Claims that were reviewed, best first, and the token of the next page; left out where there are none."""

    claims: list[GoogleClaim] | msgspec.UnsetType = msgspec.UNSET
    next_page_token: str | msgspec.UnsetType = msgspec.UNSET


class GoogleStatus(Answer):
    """An error of Google's."""

    code: int
    message: str
    status: str


class GoogleFailure(Answer):
    """An error as Google's APIs answer it."""

    error: GoogleStatus


FAILURE = GoogleFailure


def failure(problem: Problem) -> GoogleFailure:
    """Return an error as Google's APIs answer it."""
    code = STATUSES.get(problem.status, problem.status)
    return GoogleFailure(error=GoogleStatus(code=code, message=problem.detail, status=_WORDS.get(code, "UNKNOWN")))


@blueprint.get("/v1alpha1/claims:search")
def google_claims_search() -> Response:
    """Search for claims that were reviewed, as Google's Fact Check Tools do."""
    asked = from_query(request.args, GoogleSearch)
    if not (asked.query or asked.reviewPublisherSiteFilter):
        raise BadInput("query", "is needed where there is no reviewPublisherSiteFilter")
    page = _page(asked)
    index = next(iter(page.served.values())).index
    oldest, page_asked = _oldest(asked), msgspec.structs.replace(page.asked, since="")
    search = search_of(page_asked, index, k_name="pageSize", offset=page_asked.offset)
    listed = found_reviews(index, asked.query, search, oldest) if asked.query else newest_reviews(index, search, oldest)
    return json_answer(_answer(listed, page, search.offset))


def _answer(listed: ReviewPage, page: Page[SearchRequest], offset: int) -> GoogleClaims:
    following = page.cursor(offset + len(listed.reviews)) if listed.more else msgspec.UNSET
    return GoogleClaims(claims=list(map(_claim, listed.reviews)) or msgspec.UNSET, next_page_token=following)


def _page(asked: GoogleSearch) -> Page[SearchRequest]:
    """Return the page that is asked for.

    Raises BadInput, naming the page token, if that is not of this search.
    """
    name = configured_index().name
    try:
        return resume({name: 1.0}, _request(asked))
    except BadInput as error:
        if error.field != "cursor":
            raise
        raise BadInput("pageToken", "is not that of this search; send it with what it was given for") from None


def _request(asked: GoogleSearch) -> SearchRequest:
    site = asked.reviewPublisherSiteFilter.strip().lower().removeprefix("www.")
    language = asked.languageCode.partition("-")[0].lower()
    return SearchRequest(
        query=asked.query,
        k=asked.pageSize or _DEFAULT_PAGE,
        offset=0 if asked.pageToken else asked.offset,
        cursor=asked.pageToken,
        filter=FilterRequest(source=[site, f"www.{site}"] if site else [], language=[language] if language else []),
        # The days, and not the day that they lead to: a token must be good after midnight too.
        since=f"{asked.maxAgeDays} days" if asked.maxAgeDays else "",
    )


def _oldest(asked: GoogleSearch) -> str:
    """Return the day of the oldest reviews that are asked for; ``""`` if they may be of any age."""
    if not asked.maxAgeDays:
        return ""
    return (datetime.now(UTC).date() - timedelta(days=min(asked.maxAgeDays, 700_000))).isoformat()


def _claim(review: ReviewedClaim) -> GoogleClaim:
    document = review.document
    known = document.metadata
    rating = next((text for name in ("rating", "label", "verdict") if (text := text_of(known, name))), "")
    return GoogleClaim(
        text=review.claim,
        claimant=text_of(known, "claimant") or msgspec.UNSET,
        claim_date=_time(text_of(known, "claim_date")),
        claim_review=[
            GoogleReview(
                publisher=GooglePublisher(name=text_of(known, "publisher") or document.source, site=document.source),
                url=document.url,
                title=document.title,
                review_date=_time(document.date),
                textual_rating=rating,
                language_code=document.language,
            )
        ],
    )


def _time(day: str) -> str | msgspec.UnsetType:
    """Return a day as Google writes a time; of a month or a year it is the last day, as for a filter."""
    last = last_day(day[:10])
    return f"{last}T00:00:00Z" if last else msgspec.UNSET


OPERATIONS = MappingProxyType(
    {
        "google_claims_search": Operation(
            "",
            GoogleClaims,
            parameters=GoogleSearch,
            problems=(400,),
            example=MappingProxyType({"query": "Nobody ever walked on the moon.", "pageSize": 1}),
        )
    }
)
