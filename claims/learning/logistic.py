"""Multinomial logistic regression: scikit-learn fits it, numpy runs it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...retrieval.model_file import State
from ...retrieval.model_state import array


class Logistic:
    """A weight for every feature and class; features are first shifted by ``centre`` and divided by ``scale``."""

    def __init__(self, tensors: dict[str, NDArray[np.float64]]) -> None:
        self.tensors = tensors

    def probabilities(self, features: Any) -> NDArray[np.float64]:
        """Return probabilities, shape (n, classes), of features, shape (n, d), dense or sparse."""
        if "centre" in self.tensors:
            features = (features - self.tensors["centre"]) / self.tensors["scale"]
        logits = np.asarray(features @ self.tensors["weights"].T) + self.tensors["bias"]
        powers = np.exp(logits - logits.max(axis=1, keepdims=True))
        return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def fit(features: Any, classes: NDArray[np.int64], strength: float, *, standardised: bool) -> Logistic:
    """Fit the weights; every class counts the same, however rare. ``strength`` is the inverse of the penalty's.

    On one thread, so that the order of additions, and with it every bit, is the same each time.
    """
    from sklearn.linear_model import LogisticRegression
    from threadpoolctl import threadpool_limits

    tensors: dict[str, NDArray[np.float64]] = {}
    if standardised:
        spread = features.std(axis=0)
        tensors = {"centre": features.mean(axis=0), "scale": np.where(spread > 1e-12, spread, 1.0)}
        features = (features - tensors["centre"]) / tensors["scale"]
    with threadpool_limits(limits=1):
        learned = LogisticRegression(C=strength, class_weight="balanced", max_iter=5000).fit(features, classes)
    weights, bias = np.asarray(learned.coef_), np.asarray(learned.intercept_)
    if len(weights) == 1:  # of two classes scikit-learn keeps the second's weights only
        weights, bias = np.vstack([np.zeros_like(weights), weights]), np.array([0.0, *bias])
    return Logistic({**tensors, "weights": weights, "bias": bias})


def restore(state: State, width: int, *, standardised: bool) -> Logistic:
    """Return the regression of a saved state.

    Raises ValueError or KeyError if it is not one on ``width`` features.
    """
    weights = array(state, "weights", np.float64, None, width)
    tensors = {"weights": weights, "bias": array(state, "bias", np.float64, len(weights))}
    if standardised:
        tensors |= {name: array(state, name, np.float64, width) for name in ("centre", "scale")}
        if (tensors["scale"] <= 0).any():
            raise ValueError("features cannot be divided by what is not positive")
    return Logistic(tensors)
