"""Stacking: combine the scores of several members by weights learned from held-out scores, which also calibrate."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .folds import average_precision

_FREEDOM = 3.0
"""The weight of the mean loss against the penalty on large weights; values from 0.3 to 10 work about equally well."""
Scores = Mapping[str, NDArray[np.float64]]
"""The scores of each member, one for each statement."""


class Stack(NamedTuple):
    """A weight for each member's score, and a bias; the weighted sum is the log-odds of being worth checking."""

    weights: dict[str, float]
    bias: float

    def score(self, scores: Scores) -> NDArray[np.float64]:
        """Return the log-odds of each statement."""
        return np.asarray(sum(weight * scores[name] for name, weight in self.weights.items()) + self.bias)


def learn(scores: Scores, labels: NDArray[np.int64]) -> Stack:
    """Return the weights of members, by logistic regression on scores of statements that they did not learn from.

    The weights are kept small, and both classes count equally. Each weight then depends mainly on how well its member
    predicts the labels. If several members give similar scores, their difference has little effect on the weights,
    because few labels measure it. A slope and a bias turn the sum into log-odds. A member with a negative weight is
    left out. If none has a positive weight, or the sum does not predict the labels, the first member gets weight 0.
    """
    from sklearn.linear_model import LogisticRegression

    names = list(scores)
    while True:
        columns, scale = _standardised(np.stack([scores[name] for name in names], axis=1))
        machine = LogisticRegression(C=_FREEDOM / len(labels), class_weight="balanced", max_iter=1000)
        weights = machine.fit(columns, labels).coef_[0] / scale
        kept = [name for name, weight in zip(names, weights, strict=True) if weight > 0]
        if not kept:
            return constant_model(names[0], labels)
        if len(kept) == len(names):
            break
        names = kept
    of_name = dict(zip(names, map(float, weights), strict=True))
    summed = Stack(of_name, 0.0).score(scores)
    column, scale = _standardised(summed[:, None])
    machine = LogisticRegression(C=1.0, max_iter=1000).fit(column, labels)
    slope = float(machine.coef_[0, 0] / scale[0])
    if slope <= 0:
        return constant_model(names[0], labels)
    bias = float(machine.intercept_[0]) - slope * float(summed.mean())
    return Stack({name: slope * weight for name, weight in of_name.items()}, bias)


def constant_model(name: str, labels: NDArray[np.int64]) -> Stack:
    """Return the stack that gives every statement the log-odds of the mean label."""
    share = float(labels.mean())
    return Stack({name: 0.0}, math.log(share / (1 - share)))


def _standardised(columns: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return columns of mean 0 and spread 1, and the divisor of each; a constant column becomes 0."""
    scale = columns.std(axis=0)
    scale[scale == 0] = 1
    return (columns - columns.mean(axis=0)) / scale, scale


def value(scores: Scores, labels: NDArray[np.int64], folds: NDArray[np.int64]) -> float:
    """Return the average precision of a stack whose weights for each fold were learned from the other folds."""
    stacked = np.zeros(len(labels))
    for fold in sorted(set(folds.tolist())):
        tested = folds == fold
        stack = learn({name: values[~tested] for name, values in scores.items()}, labels[~tested])
        stacked[tested] = stack.score({name: values[tested] for name, values in scores.items()})
    return average_precision(labels, stacked)


def chosen(scores: Scores, labels: NDArray[np.int64], folds: NDArray[np.int64]) -> list[str]:
    """Return the members that help: remove one at a time as long as the cross-validated value does not fall."""
    names = list(scores)
    best = value(scores, labels, folds)
    while len(names) > 1:
        without = {
            name: value({other: scores[other] for other in names if other != name}, labels, folds) for name in names
        }
        worst = max(without, key=lambda name: without[name])
        if without[worst] < best:
            break
        best = without[worst]
        names.remove(worst)
    return names


def ablation(
    scores: Scores, kept: Sequence[str], labels: NDArray[np.int64], folds: NDArray[np.int64]
) -> dict[str, Any]:
    """Return the cross-validated average precision of each member alone, of the kept ones, and without each of them."""
    together = {name: scores[name] for name in kept}
    return {
        "AP": value(together, labels, folds),
        "members": list(kept),
        "alone": {name: average_precision(labels, values) for name, values in scores.items()},
        "without": {
            left: value({name: values for name, values in together.items() if name != left}, labels, folds)
            for left in kept
            if len(kept) > 1
        },
    }
