"""Hybrid retrieval: the sparse and the dense ranking of one query, fused."""

from __future__ import annotations

from collections.abc import Sequence

from retrieval.config import FusionSettings
from retrieval.domain import Filter, Hit, Retriever
from retrieval.fusion import Ranking, fuse


class HybridRetriever:
    """Fuses the first ``depth`` hits (or ``k``, if more are asked) of a sparse and a dense retriever."""

    def __init__(self, sparse: Retriever, dense: Retriever, fusion: FusionSettings, *, group: bool = True) -> None:
        self._sparse = sparse
        self._dense = dense
        self._fusion = fusion
        self._group = group

    def search(self, queries: Sequence[str], k: int, where: Filter | None = None) -> list[list[Hit]]:
        """Return at most ``k`` hits a query in the total order; each says what either retriever made of it."""
        depth = max(k, self._fusion.depth)
        sparse = self._sparse.search(queries, depth, where)
        dense = self._dense.search(queries, depth, where)
        return [self._fused(*pair, k) for pair in zip(sparse, dense, strict=True)]

    def _fused(self, sparse: list[Hit], dense: list[Hit], k: int) -> list[Hit]:
        settings = self._fusion
        rankings = (
            Ranking("bm25", settings.bm25_weight, sparse),
            Ranking("dense", settings.dense_weight, dense),
        )
        return fuse(rankings, settings.kind, settings.rrf_k, k, group=self._group)
