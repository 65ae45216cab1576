"""Measures of predicted classes and their probabilities, and the confidence that a verdict needs:
risk and coverage.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_BINS = 10


def figures(
    truth: NDArray[np.int64], probabilities: NDArray[np.float64], labels: Sequence[str]
) -> dict[str, Any]:
    """Return the figures of predicting the most probable class; a class that is never predicted has
    precision 0.

    They are ``macro_f1``, ``accuracy``, ``calibration_error``, which is the mean gap between
    probability and accuracy in ten bins, and under ``labels``, for each label, the number of its
    claims, precision, recall and F1.
    """
    from sklearn.metrics import precision_recall_fscore_support

    predicted, highest = probabilities.argmax(axis=1), probabilities.max(axis=1)
    right, tenth = truth == predicted, np.minimum((highest * _BINS).astype(np.int64), _BINS - 1)
    parts = precision_recall_fscore_support(
        truth, predicted, labels=range(len(labels)), zero_division=0
    )
    each = {
        label: {
            "claims": int(claims),
            "precision": float(precision),
            "recall": float(recall),
            "f1": float(f1),
        }
        for label, precision, recall, f1, claims in zip(labels, *parts, strict=True)
    }
    inside = [tenth == number for number in sorted(set(tenth.tolist()))]
    gaps = [
        int(rows.sum()) * abs(float(highest[rows].mean()) - float(right[rows].mean()))
        for rows in inside
    ]
    return {
        "macro_f1": float(np.mean([of_label["f1"] for of_label in each.values()])),
        "accuracy": float(np.mean(right)),
        "calibration_error": sum(gaps) / max(len(truth), 1),
        "labels": each,
    }


# The number of points of a curve: one for each fiftieth of the claims, the surest verdicts first.
STEPS = 50


class RiskPoint(NamedTuple):
    """The share and the error rate of the verdicts whose label has at least the probability
    ``confidence``.
    """

    confidence: float
    share: float
    wrong: float


def risk_curve(classes: NDArray[np.int64], probabilities: NDArray[np.float64]) -> list[RiskPoint]:
    """Return the error rate of the surest verdicts, for growing shares of the claims.

    ``classes`` are the correct ones; ``probabilities``, shape (claims, classes), come from models
    that did not learn from the claim. Claims whose highest probability is equal enter a share
    together.
    """
    surest = probabilities.max(axis=1)
    order = np.argsort(-surest, kind="stable")
    wrong = np.cumsum((probabilities.argmax(axis=1) != classes)[order])
    ranked, number = surest[order], len(order)
    ends = {-(-number * step // STEPS) for step in range(1, STEPS + 1)}
    # Move the end of a share past all claims with the probability of its last claim.
    counts = sorted({int(np.searchsorted(-ranked, -ranked[end - 1], side="right")) for end in ends})
    # Round probabilities down to four digits, so that each still admits its own claim.
    shortened = np.floor(ranked * 10_000) / 10_000
    return [
        RiskPoint(
            float(shortened[count - 1]),
            round(count / number, 4),
            round(int(wrong[count - 1]) / count, 4),
        )
        for count in counts
    ]


def needed_confidence(curve: Sequence[RiskPoint], max_risk: float) -> float:
    """Return the lowest probability to require so that at most the share ``max_risk`` of the
    verdicts is wrong.

    If no point of the curve is that good, the point with the fewest verdicts counts; an empty curve
    admits all.
    """
    good = [point.confidence for point in curve if point.wrong <= max_risk]
    return good[-1] if good else curve[0].confidence if curve else 0.0
