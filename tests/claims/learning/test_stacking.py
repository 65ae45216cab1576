"""Stacking: weights of members from scores that they gave to what they had not learned from."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from factseek.claims.learning import stacking
from factseek.claims.learning.folds import average_precision

pytestmark = pytest.mark.inner

SIZE = 600


def _labels(share: float = 0.3) -> NDArray[np.int64]:
    return (np.random.default_rng(1).random(SIZE) < share).astype(np.int64)


def _member(labels: NDArray[np.int64], gap: float, seed: int, size: float = 1.0) -> NDArray[np.float64]:
    """Return scores whose means of the two classes lie ``gap`` spreads apart."""
    return size * (gap * labels + np.random.default_rng(seed).normal(size=len(labels)))


@pytest.mark.parametrize("share", [0.02, 0.3, 0.7])
def test_the_sum_is_the_log_odds(share: float) -> None:
    labels = _labels(share)
    scores = {"a": _member(labels, 1.0, 2, size=30.0), "b": _member(labels, 1.5, 3, size=0.1)}
    probabilities = 1 / (1 + np.exp(-stacking.learn(scores, labels).score(scores)))
    assert probabilities.mean() == pytest.approx(labels.mean(), abs=0.005)
    high = probabilities > np.quantile(probabilities, 0.9)
    assert probabilities[high].mean() == pytest.approx(labels[high].mean(), abs=0.12)


def test_two_members_rank_better_than_either_and_what_is_of_no_use_is_left_out() -> None:
    labels = _labels()
    folds = np.arange(SIZE) % 5
    scores = {"a": _member(labels, 1.0, 2), "b": _member(labels, 1.0, 3), "against": -_member(labels, 1.0, 4)}
    kept = stacking.chosen(scores, labels, folds)
    assert kept == ["a", "b"]
    together = stacking.value({name: scores[name] for name in kept}, labels, folds)
    assert together > max(average_precision(labels, scores[name]) for name in kept)
