"""Models that numpy runs, held to scikit-learn's, which fitted them; each is restored as it was."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from factseek.claims.learning.models import fit_kernel, fit_logistic, grow_forest, restore_forest, restore_kernel


@pytest.mark.parametrize("number", [2, 3])
def test_probabilities_are_scikit_learns(number: int) -> None:
    draw = np.random.default_rng(0)
    features = np.c_[draw.normal(3, 5, size=(90, 6)), np.ones(90)]
    classes = np.arange(90) % number
    features[:, 0] += classes
    scaled = StandardScaler().fit_transform(features)
    oracle = LogisticRegression(C=0.1, class_weight="balanced", max_iter=5000).fit(scaled, classes)
    found = fit_logistic(features, classes, 0.1, standardised=True)
    assert np.allclose(found.probabilities(features), oracle.predict_proba(scaled), atol=1e-6)
    assert np.allclose(found.probabilities(features).sum(axis=1), 1)


def test_sparse_features_and_any_number_of_threads_give_the_same() -> None:
    draw = np.random.default_rng(1)
    features = draw.random((40, 5)) * (draw.random((40, 5)) > 0.6)
    found = fit_logistic(csr_matrix(features), np.arange(40) % 3, 1.0, standardised=False)
    assert np.allclose(found.probabilities(csr_matrix(features)), found.probabilities(features))
    fitted = []
    for threads in (1, 4):
        with threadpool_limits(limits=threads):
            fitted.append(fit_logistic(features, np.arange(40) % 3, 1.0, standardised=True).tensors)
    assert all((fitted[0][name] == fitted[1][name]).all() for name in fitted[0])


def test_a_machine_with_a_kernel_says_what_scikit_learns_says() -> None:
    drawn = np.random.default_rng(2)
    rows = drawn.normal(3, 2, (120, 6))
    labels = (((rows - 3) ** 2).sum(axis=1) > 20).astype(np.int64)
    weights = np.where(labels == 1, 2.0, 0.5)
    model = fit_kernel(rows, labels, weights, 2.0)
    centred = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    machine = SVC(C=2.0, gamma=1 / 12).fit(centred, labels, sample_weight=weights)
    assert model.score(rows) == pytest.approx(machine.decision_function(centred), abs=1e-9)
    assert (restore_kernel(model.state(), 6).score(rows) == model.score(rows)).all()
    assert (np.concatenate([model.score(rows[:1]), model.score(rows[1:])]) == model.score(rows)).all()


def test_log_odds_of_trees_are_those_of_scikit_learn() -> None:
    drawn = np.random.default_rng(0)
    rows = np.log1p(drawn.poisson(2.0, (300, 6)).astype(float))
    labels = (rows[:, 0] + drawn.normal(0, 0.3, 300) > 1).astype(np.int64)
    weights = drawn.uniform(0.5, 2, 300)
    grown = grow_forest(rows, labels, weights, trees=20, leaf=3, seed=1)
    theirs = ExtraTreesClassifier(20, min_samples_leaf=3, random_state=1).fit(rows, labels, sample_weight=weights)
    asked = np.vstack([rows, rows + 0.1, np.zeros((1, 6))])
    expected = np.clip(theirs.predict_proba(asked)[:, 1], 1e-4, 1 - 1e-4)
    assert grown.score(asked) == pytest.approx(np.log(expected / (1 - expected)), abs=1e-9)
    assert (restore_forest(grown.state(), 6).score(asked) == grown.score(asked)).all()
    assert grown.score(np.empty((0, 6))).shape == (0,)
