"""Dense retrieval: inner products of unit vectors over all live segments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from retrieval.domain import Filter, Hit
from retrieval.encoder import Encoder
from retrieval.order import Rows, best
from retrieval.vectors import VectorIndex

Kept = Callable[[Filter], list[int]]
"""The rows that pass a filter."""


class DenseRetriever:
    """Ranks by the cosine of query and passage; with ``group``, a document by its best passage. Safe for threads."""

    def __init__(self, encoder: Encoder, vectors: VectorIndex, rows: Rows, kept: Kept, *, group: bool = True) -> None:
        self._encoder = encoder
        self._vectors = vectors
        self._rows = rows
        self._kept = kept
        self._group = group

    def search(self, queries: Sequence[str], k: int, where: Filter | None = None) -> list[list[Hit]]:
        """Return at most ``k`` hits a query in the total order."""
        if not queries:
            return []
        keep = self._mask(where)
        return [self._one(vector, k, keep) for vector in self._encoder.encode_query(queries)]

    def _one(self, vector: NDArray[np.float32], k: int, keep: NDArray[np.bool_] | None) -> list[Hit]:
        return best(partial(self._fetch, vector, keep), k, self._rows, group=self._group)

    def _fetch(
        self, vector: NDArray[np.float32], keep: NDArray[np.bool_] | None, n: int
    ) -> tuple[list[float], list[int]]:
        ((scores, rows),) = self._vectors.search(vector[np.newaxis, :], n, keep)
        return scores.tolist(), rows.tolist()

    def _mask(self, where: Filter | None) -> NDArray[np.bool_] | None:
        if where is None:
            return None
        keep = np.zeros(len(self._rows.docids), dtype=np.bool_)
        keep[self._kept(where)] = True
        return keep
