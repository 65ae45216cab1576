"""Sparse retrieval: Lucene's BM25 over all live segments."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ..config import Config
from ..domain import Columns, Filter, Hit
from ..limit import Limit
from ..live.snapshot import Snapshot
from ..lucene import PassageSearcher, Weights
from ..manifest import LUCENE, Manifest
from ..order import Rows, best, best_columns
from ..vectors import Mask
from . import Lack

LABEL = "Sparse"
HELP = "the same words, by BM25"
FUSES = False
WEIGHS_WORDS = True
VOTE = 0.4
PREFERENCE = 10
BESIDE = False
BATCHES = False


def names(manifest: Manifest) -> tuple[str, ...]:
    """Return the retriever's name: there are no variants."""
    return ("bm25",)


def lacks(name: str, manifest: Manifest, config: Config) -> Lack | None:
    """Return None: every index can be searched for words."""
    return None


def views(name: str, manifest: Manifest, config: Config) -> tuple[str, ...]:
    """Return the name of the view that is searched."""
    return (LUCENE,)


def rankings(name: str, config: Config) -> tuple[str, ...]:
    """Return the name of the one ranking."""
    return (name,)


def open(name: str, snapshot: Snapshot, config: Config, *, group: bool) -> BM25Retriever:
    """Return BM25 over a snapshot."""
    settings = config.bm25
    weights = Weights(settings.k1, settings.b, settings.title_weight, settings.text_weight)
    return BM25Retriever(snapshot.view(LUCENE), snapshot.rows, weights, group=group)


class BM25Retriever:
    """Ranks by BM25; with ``group``, a document by its best passage. Safe for threads."""

    def __init__(self, searcher: PassageSearcher, rows: Rows, weights: Weights, *, group: bool = True) -> None:
        self._searcher = searcher
        self._rows = rows
        self._weights = weights
        self._group = group

    def search(
        self, queries: Sequence[str], k: int, where: Filter | None = None, limit: Limit | None = None
    ) -> list[list[Hit]]:
        """Return at most ``k`` hits a query in the total order; a query without terms has none.

        Raises CutOffError if Lucene takes longer than the limit.
        """
        return [best(partial(self._fetch, query, where, limit), k, self._rows, group=self._group) for query in queries]

    def columns(
        self, queries: Sequence[str], k: int, where: Filter | None = None, limit: Limit | None = None
    ) -> list[Columns]:
        """Return the documents of what :meth:`search` returns."""
        fetches = (partial(self._fetch, query, where, limit) for query in queries)
        return [best_columns(fetch, k, self._rows, group=self._group) for fetch in fetches]

    def matching(self, query: str) -> Mask:
        """Return the passages that hold a word of the query."""
        return self._searcher.having_words(query)

    def _fetch(self, query: str, where: Filter | None, limit: Limit | None, n: int) -> tuple[list[float], list[int]]:
        if limit is None:
            return self._searcher.search(query, n, where, self._weights)
        ranked = self._searcher.search(query, n, where, self._weights, seconds=limit.left("bm25"))
        if ranked is None:
            raise limit.cut_off("bm25")
        return ranked
