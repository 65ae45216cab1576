"""The majority baseline: every claim gets the most frequent label of the training files."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ....core.records.model_file import State, array
from ...settings import VerdictSettings
from . import Cases

SUMMARY = "baseline: the most frequent label, for every claim"
READS_EVIDENCE = False


class MajorityModel:
    """Gives every claim the same probabilities: the shares of the classes in the training files."""

    def __init__(self, shares: NDArray[np.float64]) -> None:
        self._shares = shares

    def probabilities(self, cases: Cases) -> NDArray[np.float64]:
        return np.tile(self._shares, (len(cases.texts), 1))

    def state(self) -> State:
        return State({}, {"shares": self._shares})


def fit(
    cases: Cases, classes: NDArray[np.int64], labels: Sequence[str], settings: VerdictSettings
) -> MajorityModel:
    return MajorityModel(np.bincount(classes, minlength=len(labels)) / len(classes))


def restore(state: State) -> MajorityModel:
    return MajorityModel(array(state, "shares", np.float64, None))
