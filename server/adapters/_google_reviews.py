"""The reviews that Google's claim search answers: those that a query finds, or the newest of a publisher.

A review is as old as the newer of two days: that of the review, and that of the claim.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from heapq import nlargest
from typing import TYPE_CHECKING, Any, NamedTuple

from ...retrieval.domain import Document
from ...retrieval.evidence import Evidence
from ...retrieval.filters import last_day
from ...retrieval.limit import Limit
from ...retrieval.searcher import Search
from ..contract.search import TimedOutError, limit_of, whole_evidence

if TYPE_CHECKING:
    from ...retrieval.index.local import Index

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


def _in_time(documents: Iterator[Document], limit: Limit) -> Iterator[Document]:
    for document in documents:
        if limit.is_over("reviews"):
            raise TimedOutError("there was no time to look at all reviews of this publisher")
        yield document


def _review(index: Index, docid: str) -> ReviewedClaim:
    return ReviewedClaim(index.passages(docid)[0].text, index.document(docid))
