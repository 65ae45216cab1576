"""Models, folds and figures agree with scikit-learn's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, precision_recall_fscore_support
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from factseek.claims.learning.figures import figures
from factseek.claims.learning.folds import folds
from factseek.claims.learning.models import (
    Forest,
    fit_kernel,
    fit_logistic,
    grow_forest,
    restore_kernel,
)
from factseek.core.domain import Statement
from factseek.core.records.model_file import restore_trees


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
    assert (
        np.concatenate([model.score(rows[:1]), model.score(rows[1:])]) == model.score(rows)
    ).all()


def test_log_odds_of_trees_are_those_of_scikit_learn() -> None:
    drawn = np.random.default_rng(0)
    rows = np.log1p(drawn.poisson(2.0, (300, 6)).astype(float))
    labels = (rows[:, 0] + drawn.normal(0, 0.3, 300) > 1).astype(np.int64)
    weights = drawn.uniform(0.5, 2, 300)
    grown = grow_forest(rows, labels, weights, trees=20, leaf=3, seed=1)
    theirs = ExtraTreesClassifier(20, min_samples_leaf=3, random_state=1).fit(
        rows, labels, sample_weight=weights
    )
    asked = np.vstack([rows, rows + 0.1, np.zeros((1, 6))])
    expected = np.clip(theirs.predict_proba(asked)[:, 1], 1e-4, 1 - 1e-4)
    assert grown.score(asked) == pytest.approx(np.log(expected / (1 - expected)), abs=1e-9)
    assert (Forest(*restore_trees(grown.state(), 6)).score(asked) == grown.score(asked)).all()
    assert grown.score(np.empty((0, 6))).shape == (0,)


def _statements(labels: list[int], speaker: str = "") -> list[Statement]:
    drawn = np.random.default_rng(3)
    words = ["".join(drawn.choice(list("abcdefghij"), 7)) for _ in range(400)]
    return [
        Statement(
            str(n),
            " ".join(drawn.choice(words, 8)),
            topic=f"d{n % 7}",
            speaker=speaker,
            label=label,
        )
        for n, label in enumerate(labels)
    ]


@pytest.mark.inner
def test_folds_keep_groups_together_and_share_out_what_is_worth_checking() -> None:
    statements = _statements([int(n % 4 == 0) for n in range(200)])
    statements += [
        one._replace(qid=f"again {one.qid}", text=f"{one.text} !") for one in statements[:20]
    ]
    found = folds(statements, 5, seed=0)
    assert (found == folds(statements, 5, seed=0)).all()
    assert (found[:20] == found[200:]).all()
    labels = np.array([one.label for one in statements])
    assert [abs(labels[found == fold].mean() - 0.25) < 0.05 for fold in range(5)] == [True] * 5


LABELS = ("A", "B", "C")


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=40))
def test_as_scikit_learn_has_them(pairs: list[tuple[int, int]]) -> None:
    truth = np.array([true for true, _ in pairs])
    predicted = np.array([found for _, found in pairs])
    probabilities = np.where(np.arange(3) == predicted[:, None], 0.6, 0.2)
    found = figures(truth, probabilities, LABELS)
    oracle = precision_recall_fscore_support(truth, predicted, labels=[0, 1, 2], zero_division=0)
    names = ("precision", "recall", "f1", "claims")
    got = [[of_label[name] for name in names] for of_label in found["labels"].values()]
    assert np.allclose(np.array(got).T, oracle)
    assert found["macro_f1"] == pytest.approx(
        f1_score(truth, predicted, labels=[0, 1, 2], average="macro", zero_division=0)
    )
    assert found["accuracy"] == pytest.approx(np.mean(truth == predicted))
    assert found["calibration_error"] == pytest.approx(abs(found["accuracy"] - 0.6))
