"""The organisers' random baseline: it shows the figures of a ranking without any knowledge."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ....core.domain import Statement
from ....core.progress import Progress
from ....core.records.model_file import State
from ...settings import Config
from . import Ranker, Trained

LEARNS = False


class RandomRanker(Ranker):
    """Numbers between 0 and 1 from one seeded sequence, in the order of the statements."""

    explains = False

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._source = random.Random(seed)  # noqa: S311 (a baseline, no secret)

    def score(self, statements: Sequence[Statement]) -> NDArray[np.float64]:
        """Return the next numbers of the sequence."""
        return np.array([self._source.random() for _ in statements])

    def state(self) -> State:
        return State({"seed": self._seed}, {})


def train(statements: Sequence[Statement], config: Config, progress: Progress) -> Trained:
    return Trained(RandomRanker(config.claims.seed), {})


def restore(state: State, config: Config) -> RandomRanker:
    return RandomRanker(int(state.settings["seed"]))
