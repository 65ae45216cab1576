"""Trees run by numpy against LightGBM, which grew them; weights against the loss that they minimise."""

from __future__ import annotations

import lightgbm
import numpy as np
import pytest

from factseek.eval.learn.learners import Pool, fit_linear, fit_trees
from factseek.retrieval.search import trees

pytestmark = pytest.mark.inner


def pools_of(queries: int, seed: int = 0) -> list[Pool]:
    """Pools whose relevant documents have a high first feature and, less surely, a high second one."""
    drawn = np.random.default_rng(seed)
    made = []
    for at in range(queries):
        features = drawn.normal(size=(40, 4))
        worth = 2 * features[:, 0] + features[:, 1] + drawn.normal(0, 0.5, 40)
        relevance = (worth > np.sort(worth)[-4]).astype(np.int64) + (worth > np.sort(worth)[-2])
        made.append(Pool(qid=str(at), docids=tuple(map(str, range(40))), features=features, relevance=relevance))
    return made


def test_scores_are_those_of_lightgbm(monkeypatch: pytest.MonkeyPatch) -> None:
    boosters = []
    train = lightgbm.train

    def trained(*arguments, **options):
        boosters.append(train(*arguments, **options))
        return boosters[-1]

    monkeypatch.setattr(lightgbm, "train", trained)
    model = fit_trees(pools_of(60), seed=3)
    asked = np.random.default_rng(1).normal(size=(500, 4))
    assert model.score(asked) == pytest.approx(boosters[0].predict(asked), abs=1e-9)
    assert np.ptp(model.score(asked)) > 1
    restored = trees.restore(model.state(), 4)
    assert (restored.leaves(asked).sum(axis=1) == model.score(asked)).all()
    assert (model.score(asked[7:9]) == model.score(asked)[7:9]).all()


def test_no_slope_is_left_where_the_loss_is_least() -> None:
    pools, penalty = pools_of(30), 0.1
    model = fit_linear(pools, penalty)

    def loss(weights: np.ndarray) -> float:
        total = 0.0
        for pool in pools:
            scores = ((pool.features - model.centre) / model.scale) @ weights
            gains = 2.0**pool.relevance - 1
            total -= gains / gains.sum() @ (scores - np.log(np.exp(scores).sum()))
        return total / len(pools) + penalty * weights @ weights / 2

    least = loss(model.weights)
    for at in range(4):
        for step in (-0.02, 0.02):
            assert loss(model.weights + step * np.eye(4)[at]) > least
