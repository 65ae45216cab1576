"""Models that scikit-learn fits and numpy runs. Restoring a model checks every array of its state.

With numpy, a server needs no scikit-learn, a file can hold neither code nor unchecked indices, and
a score depends neither on other rows nor on the number of threads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from ...core.errors import QueryError, SourceError
from ...core.records.model_file import State, Trees, array, load, number
from ..text.words import NgramVocabulary, Tokenizer

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]  # labels of statements, 0 and 1
_SURE = 1e-4  # the smallest distance of a probability from 0 and 1, which keeps its log-odds finite
_TOLERANCE = 1e-4


class LinearModel:
    """A weight for each feature, learned by logistic regression."""

    def __init__(self, weights: Floats, bias: float) -> None:
        self.weights, self.bias = weights, bias

    def score(self, features: Any) -> Floats:
        """Return the log-odds of each row."""
        if isinstance(features, np.ndarray):
            # Sum row by row: in a matrix product, a score may depend on the other rows.
            return np.asarray((features * self.weights).sum(axis=1) + self.bias)
        return np.asarray(features @ self.weights).ravel() + self.bias

    def state(self) -> State:
        """Return weights and bias."""
        return State({"bias": self.bias}, {"weights": self.weights})


def fit_linear(
    features: Any, labels: Labels, weights: Floats, strength: float, seed: int
) -> LinearModel:
    """Fit a logistic regression; ``strength`` is scikit-learn's C."""
    from sklearn.linear_model import LogisticRegression

    machine = LogisticRegression(C=strength, solver="liblinear", random_state=seed, tol=_TOLERANCE)
    machine.fit(features, labels, sample_weight=weights)
    return LinearModel(machine.coef_[0], float(machine.intercept_[0]))


def restore_linear(state: State, width: int | None) -> LinearModel:
    """Return the model of its state.

    Raises ValueError if it is not a model of ``width`` features.
    """
    return LinearModel(array(state, "weights", np.float64, width), number(state, "bias"))


class KernelModel:
    """A support vector machine with an RBF kernel on rows shifted by ``centre`` and divided by
    ``scale``.
    """

    def __init__(self, tensors: dict[str, Floats], gamma: float, bias: float) -> None:
        self._tensors, self._gamma, self._bias = tensors, gamma, bias

    def score(self, features: Floats) -> Floats:
        """Return the distance of each row from the decision border, positive on the side of label
        1.
        """
        rows = (features - self._tensors["centre"]) / self._tensors["scale"]
        vectors, weights = self._tensors["vectors"], self._tensors["weights"]
        # Score row by row: in a matrix product, a score may depend on the other rows.
        distances = (((vectors - row) ** 2).sum(axis=1) for row in rows)
        return np.array(
            [float((weights * np.exp(-self._gamma * far)).sum()) + self._bias for far in distances]
        )

    def state(self) -> State:
        """Return support vectors, weights and scales."""
        return State({"gamma": self._gamma, "bias": self._bias}, dict(self._tensors))


def fit_kernel(features: Floats, labels: Labels, weights: Floats, strength: float) -> KernelModel:
    """Fit a support vector machine on standardised rows; ``strength`` is scikit-learn's C."""
    from sklearn.svm import SVC

    scales = _fit_scale(features)
    gamma = 1 / (2 * features.shape[1])
    machine = SVC(C=strength, gamma=gamma)
    machine.fit((features - scales["centre"]) / scales["scale"], labels, sample_weight=weights)
    learned = {
        "vectors": np.asarray(machine.support_vectors_),
        "weights": np.asarray(machine.dual_coef_[0]),
    }
    return KernelModel(scales | learned, gamma, float(machine.intercept_[0]))


def restore_kernel(state: State, width: int | None) -> KernelModel:
    """Return the machine of its state; raise ValueError, KeyError or TypeError if it does not fit
    ``width``.
    """
    tensors = _restored_scales(state, width)
    tensors["vectors"] = array(state, "vectors", np.float64, None, len(tensors["centre"]))
    tensors["weights"] = array(state, "weights", np.float64, len(tensors["vectors"]))
    return KernelModel(
        tensors, number(state, "gamma", lambda value: value > 0), number(state, "bias")
    )


class Forest(Trees):
    """Scores a row by the mean probability of many trees, as log-odds; the value of a leaf is its
    probability.
    """

    def score(self, features: Any) -> Floats:
        """Return the log-odds of each row."""
        # scikit-learn grows and evaluates its trees in float32.
        mean = np.clip(
            self.leaves(np.asarray(features, dtype=np.float32)).mean(axis=1), _SURE, 1 - _SURE
        )
        return np.asarray(np.log(mean / (1 - mean)))


def grow_forest(
    features: Floats, labels: Labels, weights: Floats, *, trees: int, leaf: int, seed: int
) -> Forest:
    """Grow extremely randomised trees whose leaves hold at least ``leaf`` rows."""
    from sklearn.ensemble import ExtraTreesClassifier

    machine = ExtraTreesClassifier(trees, min_samples_leaf=leaf, random_state=seed)
    parts: list[Any] = [
        tree.tree_ for tree in machine.fit(features, labels, sample_weight=weights).estimators_
    ]
    starts = np.cumsum([0, *(part.node_count for part in parts)])[:-1]
    both = (np.stack([part.children_left, part.children_right], axis=1) for part in parts)
    children = [of_tree + start for of_tree, start in zip(both, starts, strict=True)]
    counts = np.concatenate([part.value[:, 0, :] for part in parts])
    return Forest(
        features=np.maximum(np.concatenate([part.feature for part in parts]), -1).astype(np.int16),
        thresholds=np.concatenate([part.threshold for part in parts]),
        children=np.concatenate(children).astype(np.int32),
        values=counts[:, 1] / counts.sum(axis=1),
        roots=starts.astype(np.int32),
    )


class Logistic:
    """Multinomial logistic regression with a weight for every feature and class; features may be
    standardised.
    """

    def __init__(self, tensors: dict[str, Floats]) -> None:
        self.tensors = tensors

    def probabilities(self, features: Any) -> Floats:
        """Return probabilities, shape (n, classes), of features, shape (n, d), dense or sparse."""
        if "centre" in self.tensors:
            features = (features - self.tensors["centre"]) / self.tensors["scale"]
        logits = np.asarray(features @ self.tensors["weights"].T) + self.tensors["bias"]
        powers = np.exp(logits - logits.max(axis=1, keepdims=True))
        return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def fit_logistic(
    features: Any, classes: NDArray[np.int64], strength: float, *, standardised: bool
) -> Logistic:
    """Fit the weights; all classes count equally, however rare.

    ``strength`` is the inverse of the penalty.
    """
    from sklearn.linear_model import LogisticRegression
    from threadpoolctl import threadpool_limits

    tensors: dict[str, Floats] = {}
    if standardised:
        tensors = _fit_scale(features)
        features = (features - tensors["centre"]) / tensors["scale"]
    # So that the order of additions, and every bit, is the same in each run.
    with threadpool_limits(limits=1):
        learned = LogisticRegression(C=strength, class_weight="balanced", max_iter=5000).fit(
            features, classes
        )
    weights, bias = np.asarray(learned.coef_), np.asarray(learned.intercept_)
    if len(weights) == 1:  # for two classes, scikit-learn keeps only the weights of the second
        weights, bias = np.vstack([np.zeros_like(weights), weights]), np.array([0.0, *bias])
    return Logistic({**tensors, "weights": weights, "bias": bias})


def restore_logistic(state: State, width: int, *, standardised: bool) -> Logistic:
    """Return the regression of a saved state.

    Raises ValueError or KeyError if it is not one of ``width`` features.
    """
    weights = array(state, "weights", np.float64, None, width)
    tensors = {"weights": weights, "bias": array(state, "bias", np.float64, len(weights))}
    return Logistic(tensors | _restored_scales(state, width) if standardised else tensors)


def _fit_scale(features: Floats) -> dict[str, Floats]:
    """Return the shift and scale that give every feature mean 0 and spread 1; a constant feature
    becomes 0.
    """
    spread = features.std(axis=0)
    return {"centre": features.mean(axis=0), "scale": np.where(spread > 1e-12, spread, 1.0)}


def _restored_scales(state: State, width: int | None) -> dict[str, Floats]:
    centre = array(state, "centre", np.float64, width)
    scale = array(state, "scale", np.float64, len(centre))
    if (scale <= 0).any():
        raise ValueError("a scale is not positive")
    return {"centre": centre, "scale": scale}


class ModelManifest(msgspec.Struct, frozen=True, kw_only=True):
    """The description of a saved model; ``figures`` are cross-validated on the training files."""

    task: str
    model: str
    settings: dict[str, Any]
    versions: dict[str, str]
    figures: dict[str, Any] = {}


M = TypeVar("M", bound=ModelManifest)


def load_for(path: Path, kind: type[M], task: str | None, models: Sequence[str]) -> tuple[M, State]:
    """Return the manifest and the state of a model saved for ``task`` (None: any task) by one of
    ``models``.

    Raises SourceError if the file is not such a model, QueryError if it was trained for another
    task.
    """
    manifest, state = load(path, kind)
    if task and manifest.task != task:
        reason = f"was trained for {manifest.task}, not for {task}"
        raise QueryError(reason, place=path, remedy="load another or train one")
    if manifest.model not in models:
        reason = f"is a model named {manifest.model}, which this factseek does not have"
        raise SourceError(reason, place=path, remedy="train it again")
    return manifest, state


def restore_vocabulary(
    state: State, names: Any, weights: str, tokenize: Tokenizer, *, sublinear: bool
) -> NgramVocabulary:
    """Return a saved vocabulary; ``names`` are its terms, ``weights`` is the name of the array of
    their weights.

    Raises TypeError if ``names`` is not a list of strings, ValueError if a term is repeated or the
    weights do not fit.
    """
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise TypeError("terms are not a list of strings")
    if len(set(names)) != len(names):
        raise ValueError("a term is repeated")
    return NgramVocabulary(
        names, array(state, weights, np.float64, len(names)), tokenize, sublinear=sublinear
    )


def restore_labels(state: State, name: str, count: int | None) -> Labels:
    """Return saved labels, each 0 or 1; raise ValueError if there is another label, or if only one
    occurs.
    """
    values = array(state, name, np.int8, count)
    if set(values.tolist()) != {0, 1}:
        raise ValueError("the labels are not 0 and 1")
    return values.astype(np.int64)


def within(tensors: Mapping[str, NDArray[Any]], prefix: str) -> dict[str, NDArray[Any]]:
    """Return the arrays whose names begin with ``prefix``, by the rest of their names."""
    return {
        name.removeprefix(prefix): part for name, part in tensors.items() if name.startswith(prefix)
    }


def row_tensors(rows: Any, prefix: str = "") -> dict[str, NDArray[Any]]:
    """Return the three arrays of a scipy CSR matrix: values, columns in ascending order, and the
    start of each row.
    """
    starts = rows.indptr.astype(np.int64)
    return {
        f"{prefix}values": rows.data,
        f"{prefix}columns": rows.indices.astype(np.int32),
        f"{prefix}starts": starts,
    }


def restore_rows(state: State, prefix: str, width: int) -> Any:
    """Return the scipy CSR matrix of the arrays of :func:`row_tensors`.

    Raises ValueError if one of them does not fit the others, or a column is not below ``width``.
    """
    from scipy.sparse import csr_matrix

    values = array(state, f"{prefix}values", np.float64, None)
    columns = array(state, f"{prefix}columns", np.int32, len(values))
    starts = array(state, f"{prefix}starts", np.int64, None)
    if (np.diff(starts) < 0).any():  # scipy would read beyond the arrays
        raise ValueError("the starts of the rows do not ascend")
    rows = csr_matrix((values, columns, starts), shape=(len(starts) - 1, width))
    rows.check_format(full_check=True)
    if starts[-1] != len(values) or not rows.has_canonical_format:
        raise ValueError("columns of a row are not in ascending order")
    return rows
