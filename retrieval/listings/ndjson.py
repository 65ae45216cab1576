"""JSON, a hit a line, each as the search answers it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ..search.evidence import Evidence

MEDIA, SUFFIX = "application/x-ndjson", "ndjson"
HELP = "JSON, a hit a line"


def write(hits: Sequence[Evidence], qid: str) -> str:
    """Return a line a hit."""
    return "".join(msgspec.json.encode(hit).decode() + "\n" for hit in hits)
