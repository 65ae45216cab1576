"""The models of verdicts, one file each, found by name: ``--model evidence`` is ``evidence.py``.

A module has what :class:`VerdictModelKind` declares.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ....core.errors import QueryError
from ....core.plugins import Plugins
from ....core.records.model_file import State
from ...settings import VerdictSettings


class Cases(NamedTuple):
    """Claims with the features of their evidence, shape (len(texts), number of features)."""

    texts: Sequence[str]
    features: NDArray[np.float64]

    def subset(self, rows: NDArray[np.int64]) -> Cases:
        """Return the cases of these rows."""
        return Cases([self.texts[row] for row in rows], self.features[rows])


class VerdictModel(Protocol):
    """A model that gives the probability of each class."""

    def probabilities(self, cases: Cases) -> NDArray[np.float64]:
        """Return probabilities, shape (len(cases.texts), number of classes); each row adds up
        to 1.
        """

    def state(self) -> State:
        """Return the state from which ``restore`` makes the same model."""


class VerdictModelKind(Protocol):
    """The interface of a module of this package."""

    SUMMARY: str  # one line for ``--help``
    READS_EVIDENCE: bool  # whether it decides by evidence, and so abstains if the evidence is weak

    def fit(
        self,
        cases: Cases,
        classes: NDArray[np.int64],
        labels: Sequence[str],
        settings: VerdictSettings,
    ) -> VerdictModel:
        """Return a model trained on cases; ``classes`` are positions in ``labels``, and every label
        occurs.
        """

    def restore(self, state: State) -> VerdictModel:
        """Return the model of a saved state."""


MODELS = Plugins[VerdictModelKind](__name__, QueryError, "model", "the models are")
names, kind = MODELS.names, MODELS.load
