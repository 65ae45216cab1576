"""The total order of hits, which retrieval, fusion, re-ranking, merging and runs all use.

Hits are sorted by float32 score descending, then by docid descending by code point, as trec_eval
sorts them. Passages of one document with equal scores are sorted by number.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter

import numpy as np

from .domain import Hit


def float32(values: Iterable[float]) -> list[float]:
    """Return the scores rounded to the nearest float32."""
    rounded: list[float] = np.asarray(list(values), dtype=np.float32).astype(np.float64).tolist()
    return rounded


def sort_hits(hits: Iterable[Hit]) -> list[Hit]:
    """Return the hits in the total order."""
    by_number = sorted(hits, key=attrgetter("passage"))
    by_docid = sorted(by_number, key=attrgetter("docid"), reverse=True)
    return sorted(by_docid, key=attrgetter("score"), reverse=True)


def scores_below(floor: float, count: int) -> list[float]:
    """Return ``count`` float32 scores, each lower than the one before, and the first lower than
    ``floor``.

    They are ``floor`` minus 1, 2, 3 and so on, if float32 can tell these apart. Their only purpose
    is to keep later hits of a ranking in the total order. A larger ``count`` returns the same first
    scores.
    """
    descending = (floor - np.arange(count + 1)).astype(np.float32)
    if np.all(descending[1:] < descending[:-1]):
        scores: list[float] = descending[1:].astype(np.float64).tolist()
        return scores
    lower, stepped = np.float32(floor), []
    for place in range(1, count + 1):
        lower = min(np.float32(floor - place), np.nextafter(lower, np.float32("-inf")))
        stepped.append(float(lower))
    return stepped
