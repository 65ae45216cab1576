"""The model that reads claim and evidence: logistic regression on the features of both."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ....retrieval.model_file import State
from ...evidence.contrast import CONTRASTED
from ...evidence.entailment import ENTAILED
from ...evidence.features import NAMES
from ...learning.logistic import Logistic
from ...learning.logistic import fit as fit_logistic
from ...learning.logistic import restore as restore_logistic
from ...settings import VerdictSettings
from . import Cases

SUMMARY = "claim and evidence: likeness, words covered, quantities, negation, direction"
READS_EVIDENCE = True


_KNOWN = [[*NAMES, *contrast, *entailment] for contrast in ((), CONTRASTED) for entailment in ((), ENTAILED)]
"""The features that a model may have been learned on: with an encoder's contrast, an entailment model, or without."""


class EvidenceModel:
    """Logistic regression on standardised features; ``names`` are theirs."""

    def __init__(self, logistic: Logistic, names: list[str]) -> None:
        self._logistic = logistic
        self._names = names

    def probabilities(self, cases: Cases) -> NDArray[np.float64]:
        """Return the probability of each class."""
        return self._logistic.probabilities(cases.features)

    def state(self) -> State:
        """Return the weights, and the names of the features that they belong to."""
        return State({"features": self._names}, dict(self._logistic.tensors))


def fit(cases: Cases, classes: NDArray[np.int64], number: int, settings: VerdictSettings) -> EvidenceModel:
    """Learn the weights."""
    (names,) = (names for names in _KNOWN if len(names) == cases.features.shape[1])
    return EvidenceModel(fit_logistic(cases.features, classes, settings.regularisation, standardised=True), names)


def restore(state: State) -> EvidenceModel:
    """Return the model of a saved state.

    Raises ValueError if it was learned on other features than there are now.
    """
    names = state.settings["features"]
    if names not in _KNOWN:
        raise ValueError("the model was learned on other features")
    return EvidenceModel(restore_logistic(state, len(names), standardised=True), names)
