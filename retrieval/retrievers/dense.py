"""Dense retrieval: inner products of unit vectors over all live segments."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..domain import Filter, Hit
from ..encoder import Encoder
from ..order import Rows, best, first_fetch
from ..vectors import Found, Mask, VectorIndex, Vectors

Kept = Callable[[Filter | None], Mask | None]
"""Say which rows may be found under a filter; None is all of them."""


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
        keep = self._kept(where)
        vectors = self._encoder.encode_query(queries)
        # One scan for all queries costs half as much a query as a scan for each.
        first = self._vectors.search(vectors, first_fetch(k, self._rows, group=self._group), keep)
        return [self._one(*pair, k, keep) for pair in zip(vectors, first, strict=True)]

    def _one(self, vector: Vectors, first: Found, k: int, keep: Mask | None) -> list[Hit]:
        asked = first_fetch(k, self._rows, group=self._group)

        def fetch(n: int) -> tuple[list[float], list[int]]:
            found = first if n == asked else self._vectors.search(vector[np.newaxis, :], n, keep)[0]
            return found.scores.tolist(), found.rows.tolist()

        return best(fetch, k, self._rows, group=self._group)
