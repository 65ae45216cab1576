"""Sparse retrieval: Lucene's BM25 over all live segments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..config import Config
from ..deadline import Deadline
from ..dense.vectors import Mask
from ..domain import Filter, Hit, ScoredDocids
from ..lucene.index import PassageSearcher, Ranked, Weights
from ..search.order import Rows, first_of_each, hits_of
from ..store.manifest import LUCENE, Manifest
from . import MissingComponent

if TYPE_CHECKING:
    from ..search.snapshot import Snapshot

LABEL = "Sparse"
HELP = "the same words, by BM25"
FUSES = False
WEIGHS_WORDS = True
DEFAULT_WEIGHT = 0.5
PRIORITY = 10
BLOCKING = False
BATCHES = False


def names(manifest: Manifest) -> tuple[str, ...]:
    """Return the retriever's name; it has no variants."""
    return ("bm25",)


def lacks(name: str, manifest: Manifest, config: Config) -> MissingComponent | None:
    """Return None: every index supports a search for words."""
    return None


def views(name: str, manifest: Manifest, config: Config) -> tuple[str, ...]:
    """Return the name of the searched view."""
    return (LUCENE,)


def rankings(name: str, config: Config) -> tuple[str, ...]:
    """Return the name of its only ranking."""
    return (name,)


def open(name: str, snapshot: Snapshot, config: Config, *, group: bool) -> BM25Retriever:
    """Return BM25 over a snapshot."""
    settings = config.bm25
    weights = Weights(settings.k1, settings.b, settings.title_weight, settings.text_weight)
    return BM25Retriever(snapshot.view(LUCENE), snapshot.rows, weights, group=group)


class BM25Retriever:
    """Ranks by BM25; with ``group``, it ranks each document by its best passage. It is safe for threads."""

    def __init__(self, searcher: PassageSearcher, rows: Rows, weights: Weights, *, group: bool = True) -> None:
        self._searcher = searcher
        self._rows = rows
        self._weights = weights
        self._group = group

    def search(
        self, queries: Sequence[str], k: int, where: Filter | None = None, limit: Deadline | None = None
    ) -> list[list[Hit]]:
        """Return at most ``k`` hits per query in the total order; a query without terms has no hits.

        Raises CutOffError if Lucene takes longer than the limit.
        """
        found = (self._best(query, k, where, limit) for query in queries)
        return [hits_of(scores, places, self._rows) for scores, places in found]

    def columns(
        self, queries: Sequence[str], k: int, where: Filter | None = None, limit: Deadline | None = None
    ) -> list[ScoredDocids]:
        """Return the documents of the hits that :meth:`search` returns, with their scores."""
        found = (self._best(query, k, where, limit) for query in queries)
        docids = self._rows.docids
        if self._rows.split and not self._group:
            found = (first_of_each(scores, places, docids) for scores, places in found)
        return [ScoredDocids(list(map(docids.__getitem__, places)), scores) for scores, places in found]

    def matching(self, query: str) -> Mask:
        """Return the passages that contain a word of the query."""
        return self._searcher.having_words(query)

    def _best(self, query: str, k: int, where: Filter | None, limit: Deadline | None) -> Ranked:
        """Return scores and rows of the first ``k`` passages in the total order; if grouped, of ``k`` documents."""
        grouped = self._group and self._rows.split
        n = 3 * k if grouped else k
        while True:
            scores, places = self._ranked(query, n, where, limit)
            if not grouped:
                return scores, places
            first = first_of_each(scores, places, self._rows.docids)
            if len(first[0]) >= k or len(scores) < n:
                return first[0][:k], first[1][:k]
            n *= 2

    def _ranked(self, query: str, n: int, where: Filter | None, limit: Deadline | None) -> Ranked:
        if limit is None:
            return self._searcher.search(query, n, where, self._weights, rows=self._rows)
        seconds = limit.left("bm25")
        ranked = self._searcher.search(query, n, where, self._weights, seconds=seconds, rows=self._rows)
        if ranked is None:
            raise limit.cut_off("bm25")
        return ranked
