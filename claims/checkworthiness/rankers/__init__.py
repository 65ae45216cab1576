"""The rankers, one file each, found by name: ``--model ngram`` is ``ngram.py``.

A module has what :class:`RankerKind` declares.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ....core.domain import Statement
from ....core.errors import QueryError
from ....core.plugins import Plugins
from ....core.progress import Progress
from ....core.records.model_file import State
from ...settings import Config


class Ranker(Protocol):
    """Scores statements; a higher score means more worth checking."""

    # Whether the score follows from the words, so that leaving out a word shows its weight.
    explains: bool

    def score(self, statements: Sequence[Statement]) -> NDArray[np.float64]:
        """Return a finite score for each statement, in their order."""

    def probability(self, scores: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Return the probability of being worth checking for each score; ``None`` if it is
        unknown.
        """
        return None

    def state(self) -> State:
        """Return the state from which :func:`restore` makes the same ranker."""


class Trained(NamedTuple):
    """A ranker, and the cross-validated figures of its training by name, for the manifest."""

    ranker: Ranker
    figures: dict[str, Any]


class RankerKind(Protocol):
    """The interface of a module of this package."""

    LEARNS: bool  # whether it needs labelled statements

    def train(self, statements: Sequence[Statement], config: Config, progress: Progress) -> Trained:
        """Return a ranker that learned from labelled statements."""

    def restore(self, state: State, config: Config) -> Ranker:
        """Return the ranker of a saved state, ready to score."""


RANKERS = Plugins[RankerKind](__name__, QueryError, "model", "the models are")
names, kind = RANKERS.names, RANKERS.load
