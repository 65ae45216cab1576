"""Listings: the hits of one search as a file for other programs. One format a file, found by its name (``ris.py``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ..errors import QueryError
from ..plugins import Plugins
from ..search.evidence import Evidence

JSON = "json"
"""The format of a search's own answer, which is no listing."""


class ListingKind(Protocol):
    """The interface of a module of this package."""

    MEDIA: str
    """Its media type."""
    SUFFIX: str
    """The end of a file's name."""
    HELP: str
    """What it holds, in half a line."""

    def write(self, hits: Sequence[Evidence], qid: str) -> str:
        """Return the hits, best first, in this format; ``qid`` names their query where the format asks for it.

        Raises QueryError if an id cannot stand in it.
        """
        ...


KINDS: Plugins[ListingKind] = Plugins(__name__, QueryError, "format", "there are json,", hyphens=False)


def names() -> list[str]:
    """Return the names of the formats, in alphabetical order."""
    return KINDS.names()


def list_hits(hits: Sequence[Evidence], format: str, qid: str = "1") -> str:
    """Return the hits of a search, best first, as ``csv``, ``tsv``, ``ndjson``, ``ris``, ``bibtex`` or ``trec``.

    ``qid`` is what a TREC run calls the query. Raises QueryError if there is no such format, or an id cannot stand in
    it.
    """
    return KINDS.load(format).write(hits, qid)
