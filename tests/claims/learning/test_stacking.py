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


def test_twins_share_their_weight() -> None:
    labels = _labels()
    one, other = _member(labels, 1.0, 2), _member(labels, 1.0, 3)
    alone = stacking.learn({"one": one, "other": other}, labels)
    twins = stacking.learn({"one": one, "twin": one, "other": other}, labels)
    assert twins.weights["one"] == pytest.approx(twins.weights["twin"])
    assert twins.weights["one"] + twins.weights["twin"] > alone.weights["one"]


def test_the_scale_of_a_members_scores_changes_nothing() -> None:
    labels = _labels()
    scores = {"a": _member(labels, 1.0, 2), "b": _member(labels, 0.5, 3)}
    large = {"a": 1_000 * scores["a"] + 7, "b": scores["b"]}
    expected = stacking.learn(scores, labels).score(scores)
    assert stacking.learn(large, labels).score(large) == pytest.approx(expected, abs=1e-3)


def test_few_labels_do_not_set_members_against_each_other() -> None:
    """Two members that say the same but for noise count alike, though ten labels would have one of them count alone."""
    drawn = np.random.default_rng(5)
    labels = np.array([1] * 5 + [0] * 45)
    common = 1.5 * labels + drawn.normal(size=50)
    scores = {name: common + 0.3 * drawn.normal(size=50) for name in ("a", "b", "c")}
    weights = stacking.learn(scores, labels).weights
    assert max(weights.values()) < 1.6 * min(weights.values())
    assert len(weights) == 3


@pytest.mark.parametrize("share", [0.02, 0.3, 0.7])
def test_the_sum_is_the_log_odds(share: float) -> None:
    labels = _labels(share)
    scores = {"a": _member(labels, 1.0, 2, size=30.0), "b": _member(labels, 1.5, 3, size=0.1)}
    probabilities = 1 / (1 + np.exp(-stacking.learn(scores, labels).score(scores)))
    assert probabilities.mean() == pytest.approx(labels.mean(), abs=0.005)
    high = probabilities > np.quantile(probabilities, 0.9)
    assert probabilities[high].mean() == pytest.approx(labels[high].mean(), abs=0.12)


def test_a_member_that_counts_against_itself_is_left_out() -> None:
    labels = _labels()
    scores = {"good": _member(labels, 1.0, 2), "against": -_member(labels, 1.0, 3)}
    assert stacking.learn(scores, labels).weights.keys() == {"good"}
    ignorant = stacking.learn({"against": scores["against"]}, labels)
    assert ignorant.weights == {"against": 0.0}
    assert ignorant.bias == pytest.approx(np.log(labels.mean() / (1 - labels.mean())))


def test_a_member_that_never_varies_does_no_harm() -> None:
    labels = _labels()
    scores = {"good": _member(labels, 1.0, 2), "same": np.full(SIZE, 4.0)}
    stack = stacking.learn(scores, labels)
    assert np.isfinite(stack.score(scores)).all()
    assert average_precision(labels, stack.score(scores)) == average_precision(labels, scores["good"])


def test_two_members_rank_better_than_either_and_what_is_of_no_use_is_left_out() -> None:
    labels = _labels()
    folds = np.arange(SIZE) % 5
    scores = {"a": _member(labels, 1.0, 2), "b": _member(labels, 1.0, 3), "against": -_member(labels, 1.0, 4)}
    kept = stacking.chosen(scores, labels, folds)
    assert kept == ["a", "b"]
    together = stacking.value({name: scores[name] for name in kept}, labels, folds)
    assert together > max(average_precision(labels, scores[name]) for name in kept)
