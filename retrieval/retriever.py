"""The interface of a retriever that is open: a ranking of the passages of an index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from .domain import Columns, Filter, Hit
from .limit import Limit
from .run_writer import best_documents
from .vectors import Mask


class Retriever(Protocol):
    """A ranking of the passages of an index, for a batch of queries."""

    def search(
        self, queries: Sequence[str], k: int, where: Filter | None = None, limit: Limit | None = None
    ) -> list[list[Hit]]:
        """Return at most ``k`` hits a query, in the total order of :mod:`factseek.retrieval.order`.

        Raises CutOffError if nothing is ready within the limit.
        """
        ...

    def columns(
        self, queries: Sequence[str], k: int, where: Filter | None = None, limit: Limit | None = None
    ) -> list[Columns]:
        """Return the documents of what :meth:`search` returns; override it where they can be had without hits."""
        return list(map(best_documents, self.search(queries, k, where, limit)))

    def matching(self, query: str) -> Mask | None:
        """Return the passages, of all rows, that can be found for a query without a filter; None: all of them.

        Override it where not every passage is ranked.
        """
        return None
