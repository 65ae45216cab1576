"""Weights and trees as one model, which is often better than either: they are wrong about different documents."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...retrieval.combiner import Averaged, CombinerModel
from .pools import Pool


def averaged(weights: CombinerModel, grown: CombinerModel, pools: Sequence[Pool]) -> Averaged:
    """Return two models that learned from the same pools as one in which both count alike."""
    return Averaged(weights, grown, (_spread(weights, pools), _spread(grown, pools)))


def _spread(model: CombinerModel, pools: Sequence[Pool]) -> float:
    """Return by how much scores differ within a pool: their standard deviation, the mean over the pools that teach."""
    spreads = [float(np.std(model.score(pool.features))) for pool in pools if pool.teaches]
    return float(np.mean(spreads)) or 1.0
