"""Export the documents of an index: as JSON lines, which ``factseek index jsonl`` reads back, or as
ClaimReview.

The export as ClaimReview is one JSON-LD document: schema.org's ``DataFeed`` with one review per
line. A review needs a claim, an address and a rating, because schema.org's validator and Google's
documentation of fact checks require them. Documents that lack one of the three are left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing, nullcontext
from pathlib import Path

from ..core.domain import Filter
from ..core.errors import SourceError
from ..core.files import replacing, writable
from ..core.records.claim_review import review_of, script_safe
from ..core.records.gzip_files import is_packed, packing
from ..retrieval.filters import matches
from ..retrieval.search.opening import leased
from ..retrieval.store.documents import StoredDocument
from ..retrieval.store.index_folder import open_documents
from ..retrieval.store.manifest import SegmentInfo
from .collections.jsonl import ADDED, export_document

_HEAD = b'{"@context":"https://schema.org","@type":"DataFeed","dataFeedElement":[\n'
_FOOT = b"\n]}\n"
_LACKING = "without a claim, an address or a rating"


def documents_of(folder: Path, where: Filter | None = None) -> Iterator[StoredDocument]:
    """Yield the documents that match ``where``, segment by segment, from the state that is
    published at the start.
    """
    return (stored for _, stored in _documents_by_segment(folder, where))


def _documents_by_segment(
    folder: Path, where: Filter | None
) -> Iterator[tuple[SegmentInfo, StoredDocument]]:
    """Yield each document of :func:`documents_of` with its segment."""
    with leased(folder) as parts:
        for part, segment in (
            (part, segment) for part, manifest in parts for segment in manifest.segments
        ):
            with closing(open_documents(part, segment)) as documents:
                for stored in documents.each_stored():
                    if where is None or matches(where, stored.document, segment.kind):
                        yield segment, stored


def export(
    folder: Path, where: Filter | None = None, *, with_added: bool = False
) -> Iterator[bytes]:
    """Yield one line of JSON, with the document's checksum, for each document of
    :func:`documents_of`.

    ``with_added`` also writes when each document was added, and the name of the key by which, as
    far as this was recorded.
    """
    for segment, stored in _documents_by_segment(folder, where):
        added = _added_to(segment, stored) if with_added else {}
        yield export_document(stored.document, stored.checksum, added).encode() + b"\n"


def _added_to(segment: SegmentInfo, stored: StoredDocument) -> dict[str, str]:
    added = segment.added_at(stored.row)
    values = (added.time, added.by) if added else ("", "")
    return {name: value for name, value in zip(ADDED, values, strict=True) if value}


def export_reviews(folder: Path, where: Filter | None, left_out: Counter[str]) -> Iterator[bytes]:
    """Yield the feed in pieces, one for each document that is a review.

    Count the other documents in ``left_out``.

    Raises SourceError if no document is a review.
    """
    last = b""
    for stored in documents_of(folder, where):
        review = review_of(stored.document)
        if review is None:
            left_out[_LACKING] += 1
            continue
        if last:
            yield last
        last = (b",\n" if last else _HEAD) + script_safe(review).encode()
    if not last:
        raise SourceError(
            "contains no review of a claim",
            place=folder,
            remedy="add documents with a text, a web address, and a rating in their metadata",
        )
    yield last + _FOOT


def export_to(path: Path, pieces: Iterable[bytes]) -> int:
    """Write an export to a file, completely or not at all, and return its number of documents or
    reviews.

    If the name of the file ends with ``.gz``, the file is packed.
    """
    writable(path)
    count = 0
    with replacing(path) as file, packing(file) if is_packed(path) else nullcontext(file) as target:
        for piece in pieces:
            target.write(piece)
            count += 1
    return count
