"""One search as adapters ask for it: a text and how many hits, everything else as configured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...retrieval.domain import Document
from ..contract.requests import SearchOptions
from ..contract.search import RankedEvidence, search_of, whole_evidence

if TYPE_CHECKING:
    from ...retrieval.index.local import Index


def hits_of(
    index: Index, query: str, options: SearchOptions, k_name: str = "k", *, query_name: str = "query"
) -> RankedEvidence:
    """Return the evidence for a query, without highlights; the names are what the client calls ``k`` and the query.

    Raises BadInput, naming the client's own field, or TimedOutError.
    """
    search = search_of(options, index, k_name=k_name)
    return whole_evidence(index, query, search, highlight=False, query_name=query_name)


def whole_text(title: str, text: str) -> str:
    """Return what is indexed of a document: the title, where there is one, and the text on the next line."""
    return f"{title}\n{text}" if title else text


def text_of(document: Document) -> str:
    """Return the whole text of a document."""
    return whole_text(document.title, document.text)
