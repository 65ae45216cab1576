"""Logistic regression in numpy, held to scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from factseek.claims.learning.logistic import Logistic, fit

pytestmark = pytest.mark.inner


@pytest.mark.parametrize("number", [2, 3])
def test_probabilities_are_scikit_learns(number: int) -> None:
    draw = np.random.default_rng(0)
    features = np.c_[draw.normal(3, 5, size=(90, 6)), np.ones(90)]
    classes = np.arange(90) % number
    features[:, 0] += classes
    scaled = StandardScaler().fit_transform(features)
    oracle = LogisticRegression(C=0.1, class_weight="balanced", max_iter=5000).fit(scaled, classes)
    found = fit(features, classes, 0.1, standardised=True)
    assert np.allclose(found.probabilities(features), oracle.predict_proba(scaled), atol=1e-6)
    assert np.allclose(found.probabilities(features).sum(axis=1), 1)


def test_sparse_features_give_what_dense_ones_give() -> None:
    draw = np.random.default_rng(1)
    features = draw.random((40, 5)) * (draw.random((40, 5)) > 0.6)
    found = fit(csr_matrix(features), np.arange(40) % 3, 1.0, standardised=False)
    assert np.allclose(found.probabilities(csr_matrix(features)), found.probabilities(features))


def test_the_number_of_threads_changes_no_bit() -> None:
    draw = np.random.default_rng(2)
    features, classes = draw.normal(size=(300, 50)), np.arange(300) % 3
    states = []
    for threads in (1, 2):
        with threadpool_limits(limits=threads):
            states.append(fit(features, classes, 0.01, standardised=True).tensors)
    assert all(states[0][name].tobytes() == states[1][name].tobytes() for name in states[0])


def test_large_numbers_stay_finite() -> None:
    model = Logistic({"weights": np.array([[1e4], [-1e4]]), "bias": np.zeros(2)})
    assert model.probabilities(np.array([[1e3], [-1e3]])).tolist() == [[1.0, 0.0], [0.0, 1.0]]
