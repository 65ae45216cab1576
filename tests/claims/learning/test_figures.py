"""Figures of predicted classes, held to scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score, precision_recall_fscore_support

from factseek.claims.learning.figures import bins, figures

LABELS = ("A", "B", "C")


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=40))
def test_as_scikit_learn_has_them(pairs: list[tuple[int, int]]) -> None:
    truth = np.array([true for true, _ in pairs])
    predicted = np.array([found for _, found in pairs])
    probabilities = np.where(np.arange(3) == predicted[:, None], 0.6, 0.2)
    found = figures(truth, probabilities, LABELS)
    oracle = precision_recall_fscore_support(truth, predicted, labels=[0, 1, 2], zero_division=0)
    got = [(one.precision, one.recall, one.f1, one.claims) for one in found.labels.values()]
    assert np.allclose(np.array(got).T, oracle)
    assert found.macro_f1 == pytest.approx(
        f1_score(truth, predicted, labels=[0, 1, 2], average="macro", zero_division=0)
    )
    assert found.accuracy == pytest.approx(np.mean(truth == predicted))
    assert found.calibration_error == pytest.approx(abs(found.accuracy - 0.6))


def test_bins_of_calibration() -> None:
    truth = np.array([0, 0, 1, 1])
    probabilities = np.array([[0.95, 0.05], [0.55, 0.45], [0.55, 0.45], [0.0, 1.0]])
    assert bins(truth, probabilities) == [(2, pytest.approx(0.55), 0.5), (2, pytest.approx(0.975), 1.0)]
