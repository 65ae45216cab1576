"""A support vector machine with an RBF kernel: scikit-learn fits it, numpy runs it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...retrieval.model_file import State
from ...retrieval.model_state import array, number

Floats = NDArray[np.float64]


class KernelModel:
    """A row's likeness to each support vector, weighed; rows are shifted by ``centre`` and divided by ``scale``."""

    def __init__(self, tensors: dict[str, Floats], gamma: float, bias: float) -> None:
        self._tensors = tensors
        self._gamma = gamma
        self._bias = bias

    def score(self, features: Floats) -> Floats:
        """Return the distance of each row from the border, positive on the side of label 1."""
        rows = (features - self._tensors["centre"]) / self._tensors["scale"]
        vectors, weights = self._tensors["vectors"], self._tensors["weights"]
        # Row by row, a score does not depend on its neighbours, as it may in a matrix product.
        distances = (((vectors - row) ** 2).sum(axis=1) for row in rows)
        return np.array([float((weights * np.exp(-self._gamma * far)).sum()) + self._bias for far in distances])

    def state(self) -> State:
        """Return support vectors, weights and scales."""
        return State({"gamma": self._gamma, "bias": self._bias}, dict(self._tensors))


def fit(features: Floats, labels: NDArray[np.int64], weights: Floats, strength: float) -> KernelModel:
    """Fit a machine on standardised rows; ``strength`` is scikit-learn's C."""
    from sklearn.svm import SVC

    spread = features.std(axis=0)
    centre, scale = features.mean(axis=0), np.where(spread > 1e-12, spread, 1.0)
    gamma = 1 / (2 * features.shape[1])
    machine = SVC(C=strength, gamma=gamma).fit((features - centre) / scale, labels, sample_weight=weights)
    tensors = {
        "centre": centre,
        "scale": scale,
        "vectors": np.asarray(machine.support_vectors_),
        "weights": np.asarray(machine.dual_coef_[0]),
    }
    return KernelModel(tensors, gamma, float(machine.intercept_[0]))


def restore(state: State, width: int | None) -> KernelModel:
    """Return the machine of its state.

    Raises ValueError, KeyError or TypeError if it is not one of ``width`` features.
    """
    centre = array(state, "centre", np.float64, width)
    vectors = array(state, "vectors", np.float64, None, len(centre))
    tensors = {"centre": centre, "scale": array(state, "scale", np.float64, len(centre)), "vectors": vectors}
    if (tensors["scale"] <= 0).any():
        raise ValueError("rows cannot be divided by what is not positive")
    tensors["weights"] = array(state, "weights", np.float64, len(vectors))
    return KernelModel(tensors, number(state, "gamma", lambda value: value > 0), number(state, "bias"))
