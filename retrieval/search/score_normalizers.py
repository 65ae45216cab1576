"""The kinds of fusion: each gives a hit a value by its rank or by its score in a ranking.

Reciprocal rank fusion is Cormack, Clarke and Büttcher's (SIGIR 2009). The normalised sums follow
Fox and Shaw's CombSUM (TREC-2).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

Scorer = Callable[[Sequence[float]], list[float]]
"""A function that returns the value of each hit from the scores of a ranking, best first."""


def scorer_of(kind: str, rrf_k: int) -> Scorer:
    """Return the fusion function of ``kind``: it takes a ranking's scores, best first, and returns
    each hit's value.
    """
    if kind == RRF:
        return lambda scores: [1.0 / (rrf_k + rank) for rank in range(1, len(scores) + 1)]
    return BY_SCORE[kind]


def _minmax(scores: Sequence[float]) -> list[float]:
    """Scale scores to 0..1 within the ranking; equal scores all become 1."""
    if not scores:
        return []
    low, high = min(scores), max(scores)
    return [(score - low) / (high - low) if high > low else 1.0 for score in scores]


def _zscore(scores: Sequence[float]) -> list[float]:
    """Return each score in standard deviations above the ranking's mean, shifted so that the lowest
    is 0.

    Without the shift, a document below the mean of a ranking would get a lower value than a
    document that the ranking lacks.
    """
    if not scores:
        return []
    mean, low = math.fsum(scores) / len(scores), min(scores)
    spread = math.sqrt(math.fsum((score - mean) ** 2 for score in scores) / len(scores))
    return [(score - low) / spread if spread > 0 else 1.0 for score in scores]


def mix_scores(before: Sequence[float], after: Sequence[float], weight: float) -> list[float]:
    """Return the weighted sum of two lists of scores, each scaled to 0..1; ``weight`` is the share
    of ``after``.

    With a weight of 1, ``after`` is returned unscaled.
    """
    if weight >= 1:
        return list(after)
    pairs = zip(_minmax(before), _minmax(after), strict=True)
    return [(1 - weight) * first + weight * second for first, second in pairs]


RRF = "rrf"
AUTO = "auto"
"""The kind that depends on the query's language: ``minmax`` in the language of the index,
``zscore`` in another.
"""
BY_SCORE: dict[str, Scorer] = {"minmax": _minmax, "zscore": _zscore}
"""The kinds of fusion that use scores, not ranks, each with its function."""
FUSION_KINDS = (AUTO, RRF, *BY_SCORE)

if TYPE_CHECKING:
    FusionKind = str
else:
    FusionKind = Literal[FUSION_KINDS]
    """The name of a kind of fusion, for the validation of settings and requests."""
