"""The model of claim and evidence: whether there is evidence and what it says are learned apart, and multiplied."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from factseek.claims.evidence.extractors import CONTRASTED
from factseek.claims.evidence.features import CLAIM, NAMES
from factseek.claims.settings import VerdictSettings
from factseek.claims.verdicts.models import Cases, evidence

pytestmark = pytest.mark.inner

SETTINGS = VerdictSettings()
LABELS = ("SUPPORTS", "REFUTES", "NOT ENOUGH INFO")
NOT_BEARING = {*CLAIM, *(f"{n}, {of}" for n in ("negated", "negation differs", "both negated")
                         for of in ("first", "highest", "mean"))}  # fmt: skip


def drawn(rows: int, width: int) -> Cases:
    return Cases([""] * rows, np.random.default_rng(0).normal(size=(rows, width)))


def oracle(
    learned: NDArray[np.float64], classes: NDArray[np.int64], asked: NDArray[np.float64], strength: float
) -> NDArray[np.float64]:
    """Return the probability of the higher of two classes by scikit-learn alone."""
    scaler = StandardScaler().fit(learned)
    machine = LogisticRegression(C=strength, class_weight="balanced", max_iter=5000)
    machine.fit(scaler.transform(learned), classes)
    return np.asarray(machine.predict_proba(scaler.transform(asked))[:, 1])


@pytest.mark.parametrize("undecided", [0, 1, 2])
@pytest.mark.parametrize("names", [NAMES, (*NAMES, *CONTRASTED)])
def test_the_probabilities_of_both_regressions_are_multiplied(undecided: int, names: tuple[str, ...]) -> None:
    labels = list(LABELS[:2])
    labels.insert(undecided, LABELS[2])
    learned, asked = drawn(90, len(names)), drawn(7, len(names))
    classes = np.arange(90) % 3
    model = evidence.fit(learned, classes, labels, SETTINGS)

    columns = [column for column, name in enumerate(names) if name not in NOT_BEARING]
    assert len(columns) == len(names) - len(NOT_BEARING)
    bears = classes != undecided
    bearing = oracle(
        learned.features[:, columns], bears.astype(int), asked.features[:, columns], SETTINGS.bearing_regularisation
    )
    odds = 2 * bearing / (1 - bearing)
    some = odds / (1 + odds)
    second = oracle(learned.features[bears], classes[bears], asked.features, SETTINGS.regularisation)
    expected = np.insert(np.stack([some * (1 - second), some * second], axis=1), undecided, 1 - some, axis=1)

    probabilities = model.probabilities(asked)
    np.testing.assert_allclose(probabilities, expected, atol=1e-4)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert (evidence.restore(model.state()).probabilities(asked) == probabilities).all()
