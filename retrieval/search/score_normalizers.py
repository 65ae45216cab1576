"""The kinds of fusion: what a hit of a ranking is worth, by its rank or by its score.

Reciprocal rank fusion is Cormack, Clarke and Büttcher's (SIGIR 2009); the normalised sums follow Fox and Shaw's
CombSUM (TREC-2).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

Scorer = Callable[[Sequence[float]], list[float]]
"""From the scores of a ranking, best first, to what each hit is worth."""


class FusionRule(NamedTuple):
    """A kind of fusion: how ``rrf_k`` makes its scorer, and whether the scorer depends on ``rrf_k`` at all."""

    scorer: Callable[[int], Scorer]
    by_rank: bool


def scorer_of(kind: str, rrf_k: int) -> Scorer:
    """Return what turns a ranking's scores, best first, into what each hit is worth."""
    return RULES[kind].scorer(rrf_k)


def _reciprocal(rrf_k: int) -> Scorer:
    return lambda scores: [1.0 / (rrf_k + rank) for rank in range(1, len(scores) + 1)]


def _minmax(scores: Sequence[float]) -> list[float]:
    """Stretch scores to 0..1 within the ranking; equal scores are all worth 1."""
    if not scores:
        return []
    low, high = min(scores), max(scores)
    return [(score - low) / (high - low) if high > low else 1.0 for score in scores]


def _zscore(scores: Sequence[float]) -> list[float]:
    """Count each score in standard deviations above the ranking's mean, shifted so that the last is worth 0.

    Without the shift a document that a ranking ranks below its mean would be worth less than one that it lacks.
    """
    if not scores:
        return []
    mean, low = math.fsum(scores) / len(scores), min(scores)
    spread = math.sqrt(math.fsum((score - mean) ** 2 for score in scores) / len(scores))
    return [(score - low) / spread if spread > 0 else 1.0 for score in scores]


def mixed(before: Sequence[float], after: Sequence[float], weight: float) -> list[float]:
    """Return scores of which ``after`` makes the share ``weight`` and ``before`` the rest, each stretched to 0..1.

    With a weight of 1 they are ``after`` as it is.
    """
    if weight >= 1:
        return list(after)
    pairs = zip(_minmax(before), _minmax(after), strict=True)
    return [(1 - weight) * first + weight * second for first, second in pairs]


RULES = {
    "rrf": FusionRule(_reciprocal, by_rank=True),
    "minmax": FusionRule(lambda _: _minmax, by_rank=False),
    "zscore": FusionRule(lambda _: _zscore, by_rank=False),
}
"""The kinds of fusion by name."""

AUTO = "auto"
"""The kind that depends on the language of the query: ``minmax`` in that of the index, ``zscore`` in another."""
FUSION_KINDS = (AUTO, *RULES)

if TYPE_CHECKING:
    FusionKind = str
else:
    FusionKind = Literal[FUSION_KINDS]
    """The name of a kind of fusion, as settings and requests are checked."""
