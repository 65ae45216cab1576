"""Hybrid retrieval: the sparse and the dense ranking of one query, fused."""

from __future__ import annotations

from collections.abc import Sequence

from ..config import FusionSettings
from ..domain import Filter, Hit, Retriever
from ..fusion import Ranking, fuse
from ..limit import CutOffError, LimitedRetriever


class HybridRetriever:
    """Fuses the first ``depth`` hits (or ``k``, if more are asked) of a sparse and a dense retriever."""

    def __init__(self, sparse: Retriever, dense: Retriever, fusion: FusionSettings, *, group: bool = True) -> None:
        self._sparse = sparse
        self._dense = dense
        self._fusion = fusion
        self._group = group

    def search(self, queries: Sequence[str], k: int, where: Filter | None = None) -> list[list[Hit]]:
        """Return at most ``k`` hits a query in the total order; each says what either retriever made of it.

        Under a time limit both work at the same time, and the one that comes in time is enough. Raises CutOffError if
        neither does.
        """
        depth = max(k, self._fusion.depth)
        if isinstance(self._dense, LimitedRetriever):
            sparse, dense = self._in_time(self._dense, queries, depth, where)
        else:
            sparse = self._sparse.search(queries, depth, where)
            dense = self._dense.search(queries, depth, where)
        return [self._fused(*pair, k) for pair in zip(sparse, dense, strict=True)]

    def _in_time(
        self, limited: LimitedRetriever, queries: Sequence[str], depth: int, where: Filter | None
    ) -> tuple[list[list[Hit]], list[list[Hit]]]:
        begun = limited.begin(queries, depth, where)
        nothing: list[list[Hit]] = [[] for _ in queries]
        try:
            sparse = self._sparse.search(queries, depth, where)
        except CutOffError:
            return nothing, limited.end(begun)
        try:
            return sparse, limited.end(begun)
        except CutOffError:
            return sparse, nothing

    def _fused(self, sparse: list[Hit], dense: list[Hit], k: int) -> list[Hit]:
        settings = self._fusion
        rankings = (
            Ranking("bm25", settings.bm25_weight, sparse),
            Ranking("dense", settings.dense_weight, dense),
        )
        return fuse(rankings, settings.kind, settings.rrf_k, k, group=self._group)
