"""How sure a verdict has to be so that few of those given are wrong: the curve of risk and coverage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

STEPS = 50
"""Points of a curve: one for each fiftieth of the claims, the surest verdicts first."""


class RiskPoint(NamedTuple):
    """The verdicts whose label has at least this probability: their share of all, and how many of them are wrong."""

    confidence: float
    share: float
    wrong: float


def risk_curve(classes: NDArray[np.int64], probabilities: NDArray[np.float64]) -> list[RiskPoint]:
    """Return the risk at growing shares of the claims, whose classes are counted from 0.

    ``probabilities``, shape (claims, classes), are of models that did not learn from the claim. Claims that are equally
    sure are decided together.
    """
    surest = probabilities.max(axis=1)
    order = np.argsort(-surest, kind="stable")
    wrong = np.cumsum((probabilities.argmax(axis=1) != classes)[order])
    ranked, number = surest[order], len(order)
    ends = {-(-number * step // STEPS) for step in range(1, STEPS + 1)}
    # An end moves behind all claims that are as sure as the last.
    counts = sorted({int(np.searchsorted(-ranked, -ranked[end - 1], side="right")) for end in ends})
    return [
        RiskPoint(_shortened(ranked[count - 1]), round(count / number, 4), round(int(wrong[count - 1]) / count, 4))
        for count in counts
    ]


def needed_confidence(curve: Sequence[RiskPoint], most_wrong: float) -> float:
    """Return the probability from which on most verdicts are given and at most the share ``most_wrong`` is wrong.

    Where no point of the curve is that good, that of the fewest verdicts; without a curve 0, which gives all.
    """
    if not curve:
        return 0.0
    good = [point for point in curve if point.wrong <= most_wrong]
    return (good[-1] if good else curve[0]).confidence


def _shortened(probability: float) -> float:
    """Return a probability to four digits, never more than it was: it has to let its own claim pass."""
    return float(np.floor(probability * 10_000) / 10_000)
