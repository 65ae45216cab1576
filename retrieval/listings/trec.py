"""A TREC run: ``qid Q0 docid rank score tag``."""

from __future__ import annotations

from collections.abc import Sequence

from ..domain import Hit
from ..records.runs import run_lines
from ..search.evidence import Evidence

MEDIA, SUFFIX = "text/plain", "run"
HELP = "a TREC run of one query"
TAG = "factseek"


def write(hits: Sequence[Evidence], qid: str) -> str:
    """Return a line a document.

    Raises QueryError if an id cannot stand in a column.
    """
    return run_lines(qid, [Hit(hit.docid, hit.score) for hit in hits], TAG)
