"""Export the reviewed claims of an index as schema.org's ClaimReview.

The output is one JSON-LD document: a ``DataFeed`` with one review per line. A review needs a claim, an address and a
rating, because schema.org's validator and Google's documentation of fact checks require them. Documents that lack one
are left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from ..retrieval.domain import Filter
from ..retrieval.errors import SourceError
from ..retrieval.files import replacing, writable
from ..retrieval.records.claim_review import review_of, script_safe
from .export import documents_of

_HEAD = b'{"@context":"https://schema.org","@type":"DataFeed","dataFeedElement":[\n'
_FOOT = b"\n]}\n"
_LACKING = "without a claim, an address or a rating"


def export_reviews(folder: Path, where: Filter | None, left_out: Counter[str]) -> Iterator[bytes]:
    """Yield the pieces of the feed of all documents that are reviews. Count the other documents in ``left_out``.

    Raises IndexStateError if there is no index or its documents cannot be read; SourceError if no document is a review.
    """
    before = _HEAD
    for stored in documents_of(folder, where):
        review = review_of(stored.document)
        if review is None:
            left_out[_LACKING] += 1
        else:
            yield before + script_safe(review).encode()
            before = b",\n"
    if before == _HEAD:
        raise SourceError(
            "contains no review of a claim",
            place=folder,
            remedy="each review needs a text, a web address, and a rating in its metadata",
        )
    yield _FOOT


def export_reviews_to(folder: Path, path: Path, where: Filter | None, left_out: Counter[str]) -> int:
    """Write the feed of :func:`export_reviews` to a file, completely or not at all; return the number of reviews."""
    writable(path)
    reviews = -1  # the last piece, the foot, is not a review
    pieces = export_reviews(folder, where, left_out)
    with replacing(path) as file:
        for piece in pieces:
            file.write(piece)
            reviews += 1
    return reviews
