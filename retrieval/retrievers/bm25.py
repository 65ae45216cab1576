"""Sparse retrieval: Lucene's BM25 over all live segments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from ...core.deadline import Deadline
from ...core.domain import Filter, Hit, ScoredDocids
from ..config import BM25Settings, Config
from ..dense.vectors import Mask
from ..lucene.index import PassageSearcher, Ranked
from ..search.cut import first_of_each, hits_of
from ..search.prepared_query import PreparedQuery
from ..store.manifest import LUCENE, Manifest
from . import Retriever, RetrieverKind

if TYPE_CHECKING:
    from ..search.snapshot import Snapshot


class BM25Kind(RetrieverKind):
    """BM25 over the words of the passages; every index has it."""

    name = "bm25"
    label = "Words"
    help = "the same words"
    weighs_words = True
    default_weight = 0.5
    priority = 10

    def views(self, name: str, manifest: Manifest, config: Config) -> tuple[str, ...]:
        return (LUCENE,)

    def open(self, name: str, snapshot: Snapshot, config: Config, *, group: bool) -> BM25Retriever:
        return BM25Retriever(snapshot, config.bm25, group=group)


class BM25Retriever(Retriever):
    """Ranks by BM25; with ``group``, it ranks each document by its best passage.

    It is safe for threads.
    """

    def __init__(self, snapshot: Snapshot, settings: BM25Settings, *, group: bool) -> None:
        self._searcher: PassageSearcher = snapshot.view(LUCENE)
        self._rows = snapshot.rows
        self._weights = settings
        self._group = group

    def search(
        self,
        queries: Sequence[PreparedQuery],
        k: int,
        where: Filter | None = None,
        limit: Deadline | None = None,
    ) -> list[list[Hit]]:
        found = (self._best(query, k, where, limit) for query in queries)
        return [hits_of(scores, places, self._rows) for scores, places in found]

    def columns(
        self,
        queries: Sequence[PreparedQuery],
        k: int,
        where: Filter | None = None,
        limit: Deadline | None = None,
    ) -> list[ScoredDocids]:
        found = (self._best(query, k, where, limit) for query in queries)
        docids = self._rows.docids
        if self._rows.split and not self._group:
            found = (first_of_each(scores, places, docids) for scores, places in found)
        return [
            ScoredDocids(list(map(docids.__getitem__, places)), scores) for scores, places in found
        ]

    def matching(self, query: PreparedQuery) -> Mask:
        return self._searcher.having_words(query)

    def _best(
        self, query: PreparedQuery, k: int, where: Filter | None, limit: Deadline | None
    ) -> Ranked:
        """Return scores and rows of the first ``k`` passages in the total order; if grouped, of
        ``k`` documents.
        """
        grouped = self._group and self._rows.split
        n = 3 * k if grouped else k
        while True:
            seconds = limit.require_seconds("bm25") if limit else None
            ranked = self._searcher.search(
                query, n, where, self._weights, seconds=seconds, rows=self._rows
            )
            if ranked is None:
                raise cast(Deadline, limit).cut_off("bm25")
            if not grouped:
                return ranked
            scores, places = first_of_each(*ranked, self._rows.docids)
            if len(scores) >= k or len(ranked[0]) < n:
                return scores[:k], places[:k]
            n *= 2


KIND = BM25Kind()
