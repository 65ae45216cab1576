"""Trees run by numpy against scikit-learn, which grew them."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier

from factseek.claims.learning import forest

pytestmark = pytest.mark.inner


def test_log_odds_are_those_of_scikit_learn() -> None:
    drawn = np.random.default_rng(0)
    rows = np.log1p(drawn.poisson(2.0, (300, 6)).astype(float))
    labels = (rows[:, 0] + drawn.normal(0, 0.3, 300) > 1).astype(np.int64)
    weights = drawn.uniform(0.5, 2, 300)
    grown = forest.grow(rows, labels, weights, trees=20, leaf=3, seed=1)
    theirs = ExtraTreesClassifier(20, min_samples_leaf=3, random_state=1).fit(rows, labels, sample_weight=weights)
    asked = np.vstack([rows, rows + 0.1, np.zeros((1, 6))])
    expected = np.clip(theirs.predict_proba(asked)[:, 1], 1e-4, 1 - 1e-4)
    assert grown.score(asked) == pytest.approx(np.log(expected / (1 - expected)), abs=1e-9)
    assert (forest.restore(grown.state(), 6).score(asked) == grown.score(asked)).all()
    assert grown.score(np.empty((0, 6))).shape == (0,)
