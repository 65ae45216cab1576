"""Numbers, names, addresses, punctuation and length: what carries from language to language."""

from __future__ import annotations

from collections.abc import Sequence

from ....retrieval.domain import Statement
from ....retrieval.records.model_file import State
from ...learning.models import Forest, grow_forest, restore_forest
from ...settings import Config
from ...text.surface import NAMES, surface_features
from . import Floats, Labels, MemberReader

FORWARDS = False


class Signs:
    """Count the signs; decide by a forest."""

    strengths: tuple[float, ...] = (1.0,)

    def __init__(self, trees: int = 0, leaf: int = 1) -> None:
        self._trees = trees
        self._leaf = leaf

    def features(self, statements: Sequence[Statement]) -> Floats:
        """Return the signs of each statement."""
        return surface_features(statements)

    def fit(self, features: Floats, labels: Labels, weights: Floats, strength: float, seed: int) -> Forest:
        """Grow the forest."""
        return grow_forest(features, labels, weights, trees=self._trees, leaf=self._leaf, seed=seed)

    def state(self) -> State:
        """Return nothing: signs are not learned."""
        return State({}, {})


def reads(statements: Sequence[Statement], config: Config) -> bool:
    """Return True: it reads every language."""
    return True


def make(statements: Sequence[Statement], config: Config) -> Signs:
    """Return a member with as many trees as configured."""
    return Signs(config.claims.best.trees, config.claims.best.leaf)


def restore(member: State, model: State, config: Config) -> MemberReader:
    """Return the reader of its states."""
    return MemberReader(Signs(), restore_forest(model, len(NAMES)))
