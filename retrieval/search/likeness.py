"""The similarity of each hit to the first hits, and to its nearest other hit, by the vectors of their passages.

Documents that answer the same query are similar (the cluster hypothesis: van Rijsbergen, Information Retrieval, 1979,
chapter 3).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..store.manifest import VECTORS

FIRST = (3, 5, 10)
"""The numbers of first hits to compare a hit with."""
NAMES = (*(f"like the first {count}" for count in FIRST), "like another")
_RANKED_BY_VECTORS = "dense"


def views_of(rankings: Sequence[str]) -> dict[str, str]:
    """Return the view of vectors that each ranking reads; rankings by words are left out."""
    named = ((ranking, *ranking.partition(":")) for ranking in rankings)
    return {
        ranking: f"{VECTORS}{colon}{variant}" for ranking, kind, colon, variant in named if kind == _RANKED_BY_VECTORS
    }


def features(vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the features of hits, best first, shape (hits, NAMES): mean cosines, and the highest with another hit.

    ``vectors`` have unit length, shape (hits, dimension). A hit without another hit to compare gets 0.
    """
    exact = np.ascontiguousarray(vectors, dtype=np.float64)
    # BLAS sums depend on the number of threads, so this does not use BLAS.
    cosines = np.einsum("ij,kj->ik", exact, exact, optimize=False)
    others = ~np.eye(*cosines.shape, dtype=np.bool_)
    means = [_mean(cosines[:, :count], others[:, :count]) for count in FIRST]
    highest = np.where(others, cosines, -np.inf).max(axis=1, initial=-np.inf)
    return np.stack([*means, np.where(np.isfinite(highest), highest, 0.0)], axis=1)


def _mean(cosines: NDArray[np.float64], others: NDArray[np.bool_]) -> NDArray[np.float64]:
    means: NDArray[np.float64] = (cosines * others).sum(axis=1) / np.maximum(others.sum(axis=1), 1)
    return means
