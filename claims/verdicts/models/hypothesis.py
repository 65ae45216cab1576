"""The hypothesis-only baseline: it reads the claim and no evidence.

It can be right only because of the wording of a claim. Another model's gain over it comes from the
evidence.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ....core.records.model_file import State
from ...learning.models import Logistic, fit_logistic, restore_logistic, restore_vocabulary
from ...settings import VerdictSettings
from ...text.words import NgramVocabulary, learn_ngrams
from . import Cases

SUMMARY = "baseline: the words of the claim alone, no evidence"
READS_EVIDENCE = False

_WORD = re.compile(r"\w+")
_STRENGTH = 1.0


class HypothesisModel:
    """Logistic regression on TF-IDF of words and word pairs."""

    def __init__(self, vocabulary: NgramVocabulary, logistic: Logistic) -> None:
        self._vocabulary = vocabulary
        self._logistic = logistic

    def probabilities(self, cases: Cases) -> NDArray[np.float64]:
        return self._logistic.probabilities(self._vocabulary.vectors(cases.texts))

    def state(self) -> State:
        terms = list(self._vocabulary.terms)
        return State({"terms": terms}, {"idf": self._vocabulary.weights, **self._logistic.tensors})


def fit(
    cases: Cases, classes: NDArray[np.int64], labels: Sequence[str], settings: VerdictSettings
) -> HypothesisModel:
    vocabulary = learn_ngrams(cases.texts, _words, sublinear=True)
    logistic = fit_logistic(vocabulary.vectors(cases.texts), classes, _STRENGTH, standardised=False)
    return HypothesisModel(vocabulary, logistic)


def restore(state: State) -> HypothesisModel:
    vocabulary = restore_vocabulary(state, state.settings["terms"], "idf", _words, sublinear=True)
    return HypothesisModel(
        vocabulary, restore_logistic(state, len(vocabulary.terms), standardised=False)
    )


def _words(text: str) -> list[str]:
    words = _WORD.findall(text.lower())
    return words + [f"{first} {second}" for first, second in pairwise(words)]
