"""The hits that the page offers for download, in each of its formats."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
from flask import Response

from ...retrieval.search import listings
from ...retrieval.search.evidence import Evidence
from ..api.routes import name_late, write_listing
from ..downloads import download
from ..errors import BadInput
from .state import FORMATS

_CSV = "csv"


class ExportedHits(msgspec.Struct, frozen=True):
    """Hits to download, with the query that found them, and what the search says of them.

    ``about`` begins the name of the file. ``late`` names rankings that were cut off.
    """

    query: str
    about: str
    hits: Sequence[Evidence]
    related: bool | None
    absent_words: Sequence[str]
    late: Iterable[str] = ()


def check_format(format: str) -> None:
    """Raise BadInput if the page offers no such format."""
    if format not in FORMATS:
        raise BadInput(
            "format", f"there is no format {format[:20]!r}; the formats are {', '.join(FORMATS)}"
        )


def export_hits(exported: ExportedHits, format: str) -> Response:
    """Return hits as a file in one of :data:`FORMATS`; a CSV is for Excel."""
    if format == _CSV:
        content = listings.list_for_excel(exported.hits).encode()
        kind = listings.kind(format)
        return name_late(download(content, kind.media, exported.about, kind.suffix), exported.late)
    if format != listings.JSON:
        return write_listing(exported.hits, format, exported.about, exported.late)
    answer = {
        "query": {"text": exported.query},
        "hits": exported.hits,
        "related": exported.related,
        "absent_words": exported.absent_words,
    }
    content = msgspec.json.encode(answer)
    response = download(content, "application/json", exported.about, listings.JSON)
    return name_late(response, exported.late)
