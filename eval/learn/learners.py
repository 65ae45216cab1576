"""Learners that order pools of hits: weights by ListNet's loss, LightGBM's trees, and the average of both.

The average is often better than either, because the two make errors on different documents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...retrieval.errors import MachineError
from ...retrieval.records.model_file import Trees
from ...retrieval.search.combiner import Averaged, Boosted, CombinerModel, WeightedSum

SETTINGS: Mapping[str, Any] = {
    "objective": "lambdarank",
    "learning_rate": 0.03,
    "num_leaves": 15,
    "min_data_in_leaf": 50,
    "feature_fraction": 0.5,
    "bagging_fraction": 0.8,
    "bagging_freq": 1,
    "lambdarank_truncation_level": 30,
}
ROUNDS = 150
_MOST_GRADE = 30
"""The largest grade for which LightGBM has a gain; the gain is 2 to the power of the grade, minus 1."""
_STEPS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """The first hits of a query: docids, features (hits, features), relevance of each; and the terms of the query."""

    qid: str
    docids: tuple[str, ...]
    features: NDArray[np.float64]
    relevance: NDArray[np.int64]
    terms: frozenset[str] = frozenset()

    @property
    def teaches(self) -> bool:
        """Whether the pool has documents of different relevance."""
        return bool(len(self.relevance)) and bool(self.relevance.max() > self.relevance.min())


def fit_linear(pools: Sequence[Pool], penalty: float) -> WeightedSum:
    """Learn a linear ranker from the pools that teach; a larger ``penalty`` makes the weights smaller.

    ListNet's loss (Cao et al., ICML 2007) of a list is the cross-entropy between two distributions: the documents'
    shares of the gain, and the softmax of their scores. The loss is convex, so the result depends neither on chance nor
    on the starting point of the search.
    """
    from scipy.optimize import minimize
    from threadpoolctl import threadpool_limits

    teaching = [pool for pool in pools if pool.teaches]
    rows = np.concatenate([pool.features for pool in teaching])
    centre, spread = rows.mean(axis=0), rows.std(axis=0)
    scale = np.where(spread > 1e-9, spread, 1.0)
    standard = (rows - centre) / scale
    starts = np.cumsum([0, *(len(pool.relevance) for pool in teaching)])[:-1]
    lists = np.repeat(np.arange(len(teaching)), [len(pool.relevance) for pool in teaching])
    # The gain of a document is 2 to the power of its grade, minus 1.
    gained = (np.exp2(np.minimum(pool.relevance, _MOST_GRADE).astype(np.float64)) - 1 for pool in teaching)
    gains = np.concatenate([gain / gain.sum() for gain in gained])

    def loss(weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        scores = standard @ weights
        scores -= np.maximum.reduceat(scores, starts)[lists]
        powers = np.exp(scores)
        totals = np.add.reduceat(powers, starts)
        value = float(np.log(totals).sum() - gains @ scores) / len(teaching)
        slope = standard.T @ (powers / totals[lists] - gains) / len(teaching)
        return value + penalty * float(weights @ weights) / 2, slope + penalty * weights

    # One thread keeps the order of additions, and therefore every bit, the same in each run.
    with threadpool_limits(1):
        minimum = minimize(loss, np.zeros(rows.shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": _STEPS})
    return WeightedSum(centre, scale, np.asarray(minimum.x, dtype=np.float64))


def fit_trees(pools: Sequence[Pool], seed: int) -> Boosted:
    """Grow trees on the pools that teach, the same for the same seed; raise MachineError if there is no LightGBM."""
    try:
        import lightgbm
    except (ImportError, OSError) as error:
        reason = " ".join(str(error).split())
        raise MachineError(
            f"LightGBM cannot be loaded: {reason}",
            remedy="it needs the system's OpenMP library: apt-get install libgomp1",
        ) from None
    teaching = [pool for pool in pools if pool.teaches]
    data = lightgbm.Dataset(
        np.concatenate([pool.features for pool in teaching]),
        np.minimum(np.concatenate([pool.relevance for pool in teaching]), _MOST_GRADE),
        group=[len(pool.relevance) for pool in teaching],
    )
    fixed = {"seed": seed, "deterministic": True, "force_row_wise": True, "num_threads": 1, "verbose": -1}
    booster = lightgbm.train({**SETTINGS, **fixed}, data, num_boost_round=ROUNDS)
    features: list[int] = []
    thresholds: list[float] = []
    children: list[tuple[int, int]] = []
    values: list[float] = []
    roots = []
    for tree in booster.dump_model()["tree_info"]:
        # A tree's nodes are numbered level by level, so that every node comes before its children.
        roots.append(first := len(features))
        nodes = [tree["tree_structure"]]
        for place, node in enumerate(nodes, first):
            inner = "split_feature" in node
            if inner:
                nodes += [node["left_child"], node["right_child"]]
            features.append(node["split_feature"] if inner else -1)
            thresholds.append(float(node["threshold"]) if inner else 0.0)
            last = first + len(nodes)
            children.append((last - 2, last - 1) if inner else (place, place))
            values.append(0.0 if inner else float(node["leaf_value"]))
    return Boosted(
        Trees(
            features=np.array(features, dtype=np.int16),
            thresholds=np.array(thresholds, dtype=np.float64),
            children=np.array(children, dtype=np.int32),
            values=np.array(values, dtype=np.float64),
            roots=np.array(roots, dtype=np.int32),
        )
    )


def averaged(weights: CombinerModel, grown: CombinerModel, pools: Sequence[Pool]) -> Averaged:
    """Combine two models that learned from the same pools into one that gives both equal weight."""

    def spread(model: CombinerModel) -> float:
        # The spread of scores within a pool: their standard deviation, averaged over the pools that teach.
        spreads = [float(np.std(model.score(pool.features))) for pool in pools if pool.teaches]
        return float(np.mean(spreads)) or 1.0

    return Averaged(weights, grown, (spread(weights), spread(grown)))
