"""Sparse retrieval: Lucene's BM25 over all live segments."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ..domain import Columns, Filter, Hit
from ..limit import Limit
from ..lucene import PassageSearcher, Weights
from ..order import Rows, best, best_columns


class BM25Retriever:
    """Ranks by BM25; with ``group``, a document by its best passage. Safe for threads."""

    def __init__(
        self, searcher: PassageSearcher, rows: Rows, weights: Weights, *, group: bool = True, limit: Limit | None = None
    ) -> None:
        self._searcher = searcher
        self._rows = rows
        self._weights = weights
        self._group = group
        self._limit = limit

    def search(self, queries: Sequence[str], k: int, where: Filter | None = None) -> list[list[Hit]]:
        """Return at most ``k`` hits a query in the total order; a query without terms has none."""
        return [best(partial(self._fetch, query, where), k, self._rows, group=self._group) for query in queries]

    def columns(self, queries: Sequence[str], k: int, where: Filter | None = None) -> list[Columns]:
        """Return the documents of what :meth:`search` returns."""
        return [best_columns(partial(self._fetch, query, where), k, self._rows, group=self._group) for query in queries]

    def _fetch(self, query: str, where: Filter | None, n: int) -> tuple[list[float], list[int]]:
        if self._limit is None:
            return self._searcher.search(query, n, where, self._weights)
        found = self._searcher.search(query, n, where, self._weights, seconds=self._limit.left("bm25"))
        if found is None:
            raise self._limit.cut_off("bm25")
        return found
