"""The model that reads claim and evidence: two logistic regressions on the features of both.

One decides whether the evidence is relevant to the claim, the other what it says. For two labels,
or without a label for undecided claims, as in CheckThat! 2020, one regression is enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....core.records.model_file import State
from ...evidence.features import CLAIM, CONTRASTED, ENTAILED, NAMES, NEGATION, OF
from ...evidence.sentences import stance_of
from ...learning.models import Logistic, fit_logistic, restore_logistic, within
from ...settings import VerdictSettings
from . import Cases

SUMMARY = "claim and evidence: similarity, words covered, quantities, negation, direction"
READS_EVIDENCE = True

_KNOWN = [
    [*NAMES, *contrast, *entailment]
    for contrast in ((), CONTRASTED)
    for entailment in ((), ENTAILED)
]
"""The possible features of a model: with or without an encoder's contrast, with or without
entailment.
"""
_NOT_BEARING = frozenset({*CLAIM, *(f"{name}, {which}" for which in OF for name in NEGATION)})
"""Features left out of the first regression: the wording of the claim, and which text negates."""
_BEARING = "bearing "  # the prefix of the tensors of the first regression


class Bearing(NamedTuple):
    """The regression that decides whether evidence is relevant, and the class of claims without
    relevant evidence.
    """

    logistic: Logistic
    undecided: int


class EvidenceModel:
    """Logistic regressions on the standardised features ``names``; ``says`` judges what the
    evidence says.
    """

    def __init__(self, says: Logistic, names: list[str], bearing: Bearing | None = None) -> None:
        self._says, self._names, self._bearing = says, names, bearing

    def probabilities(self, cases: Cases) -> NDArray[np.float64]:
        says = self._says.probabilities(cases.features)
        if self._bearing is None:
            return says
        bears = self._bearing.logistic.probabilities(
            cases.features[:, _bearing_columns(self._names)]
        )
        # Training made both answers equally likely; this weight makes every label equally likely
        # instead.
        weighed = bears * [1.0, says.shape[1]]
        weighed /= weighed.sum(axis=1, keepdims=True)
        return np.insert(says * weighed[:, 1:], self._bearing.undecided, weighed[:, 0], axis=1)

    def state(self) -> State:
        tensors = dict(self._says.tensors)
        if self._bearing is not None:
            tensors |= {
                _BEARING + name: tensor for name, tensor in self._bearing.logistic.tensors.items()
            }
        return State(
            {"features": self._names, "undecided": self._bearing and self._bearing.undecided},
            tensors,
        )


def fit(
    cases: Cases, classes: NDArray[np.int64], labels: Sequence[str], settings: VerdictSettings
) -> EvidenceModel:
    """Learn the weights; use two regressions if exactly one of three or more labels is
    undecided.
    """
    (names,) = (names for names in _KNOWN if len(names) == cases.features.shape[1])
    open_labels = [number for number, label in enumerate(labels) if stance_of(label) == "neither"]
    strength = settings.regularisation
    if len(open_labels) != 1 or len(labels) < 3:
        return EvidenceModel(
            fit_logistic(cases.features, classes, strength, standardised=True), names
        )
    (undecided,) = open_labels
    bears = classes != undecided
    says = fit_logistic(cases.features[bears], classes[bears], strength, standardised=True)
    read, answers = cases.features[:, _bearing_columns(names)], bears.astype(np.int64)
    bearing = fit_logistic(read, answers, settings.bearing_regularisation, standardised=True)
    return EvidenceModel(says, names, Bearing(bearing, undecided))


def restore(state: State) -> EvidenceModel:
    names, undecided = state.settings["features"], state.settings["undecided"]
    if names not in _KNOWN:
        raise ValueError("the model was learned on other features")
    says = restore_logistic(state, len(names), standardised=True)
    if undecided is None:
        return EvidenceModel(says, names)
    if type(undecided) is not int or not 0 <= undecided <= len(says.tensors["bias"]):
        raise ValueError("the undecided label is not one of the labels")
    of_bearing = State({}, within(state.tensors, _BEARING))
    bears = restore_logistic(of_bearing, len(_bearing_columns(names)), standardised=True)
    if len(bears.tensors["bias"]) != 2:
        raise ValueError("the first regression does not have two classes")
    return EvidenceModel(says, names, Bearing(bears, undecided))


def _bearing_columns(names: Sequence[str]) -> list[int]:
    return [column for column, name in enumerate(names) if name not in _NOT_BEARING]
