"""The machine with a kernel: it says what scikit-learn's says, and is restored as it was."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.svm import SVC

from factseek.claims.learning import kernel
from factseek.retrieval.model_file import State

pytestmark = pytest.mark.inner


def _rows(number: int) -> tuple[np.ndarray, np.ndarray]:
    drawn = np.random.default_rng(2)
    rows = drawn.normal(3, 2, (number, 6))
    return rows, (((rows - 3) ** 2).sum(axis=1) > 20).astype(np.int64)


def test_it_says_what_scikit_learn_says() -> None:
    rows, labels = _rows(120)
    weights = np.where(labels == 1, 2.0, 0.5)
    model = kernel.fit(rows, labels, weights, 2.0)
    centred = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    machine = SVC(C=2.0, gamma=1 / 12).fit(centred, labels, sample_weight=weights)
    assert model.score(rows) == pytest.approx(machine.decision_function(centred), abs=1e-9)
    assert ((model.score(rows) > 0) == labels).mean() > 0.85, "a ball is no half of a space"
    again = kernel.restore(model.state(), 6)
    assert (again.score(rows) == model.score(rows)).all()
    assert (np.concatenate([model.score(rows[:1]), model.score(rows[1:])]) == model.score(rows)).all()


def test_a_state_that_is_none() -> None:
    rows, labels = _rows(40)
    settings, tensors = kernel.fit(rows, labels, np.ones(40), 1.0).state()
    with pytest.raises(ValueError, match="what is not positive"):
        kernel.restore(State(settings, {**tensors, "scale": np.zeros(6)}), 6)
    with pytest.raises(ValueError):
        kernel.restore(State(settings, {**tensors, "weights": np.zeros(2)}), 6)
    with pytest.raises(ValueError):
        kernel.restore(State({**settings, "gamma": -1.0}, tensors), 6)
