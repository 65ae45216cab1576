"""The organisers' n-gram baseline: TF-IDF of single words and a support vector classifier with an
RBF kernel.

Words are runs of two or more word characters in lower case; C = 1, gamma = 0.75. The score is the
distance from the decision surface. Scores equal those of scikit-learn, which only training needs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....core.domain import Statement
from ....core.progress import Progress
from ....core.records.model_file import State, array, number
from ...learning.models import restore_rows, restore_vocabulary, row_tensors
from ...settings import Config
from ...text.words import NgramVocabulary, learn_ngrams
from . import Ranker, Trained

LEARNS = True

_GAMMA = 0.75
_C = 1.0
# The kernel cache of the fit in MB; with scikit-learn's 200 the debates take three times as long.
_CACHE_MB = 1_000
_WORD = re.compile(r"\b\w\w+\b")
# The number of statements scored together; each has a kernel value for every support vector.
_AT_ONCE = 256


class NgramRanker(Ranker):
    """Scores a statement by the weighted sum of its kernel values with the support vectors."""

    explains = True

    def __init__(
        self, vocabulary: NgramVocabulary, supports: Any, weights: NDArray[np.float64], bias: float
    ) -> None:
        self._vocabulary, self._supports, self._weights, self._bias = (
            vocabulary,
            supports,
            weights,
            bias,
        )
        self._norms = np.asarray(supports.multiply(supports).sum(axis=1)).ravel()

    def score(self, statements: Sequence[Statement]) -> NDArray[np.float64]:
        parts = [np.empty(0)]
        for start in range(0, len(statements), _AT_ONCE):
            vectors = self._vocabulary.vectors(
                [statement.text for statement in statements[start : start + _AT_ONCE]]
            )
            norms = np.asarray(vectors.multiply(vectors).sum(axis=1))
            distances = norms + self._norms - 2 * (vectors @ self._supports.T).toarray()
            # Sum row by row: in a matrix product, a score may depend on the other rows.
            parts.append((np.exp(-_GAMMA * distances) * self._weights).sum(axis=1) + self._bias)
        return np.concatenate(parts)

    def state(self) -> State:
        return State(
            {"bias": self._bias, "terms": list(self._vocabulary.terms)},
            {
                "idf": self._vocabulary.weights,
                **row_tensors(self._supports, "supports."),
                "weights": self._weights,
            },
        )


def train(statements: Sequence[Statement], config: Config, progress: Progress) -> Trained:
    from sklearn.svm import SVC

    texts = [statement.text for statement in statements]
    vocabulary = learn_ngrams(texts, _words, sublinear=False)
    machine = SVC(C=_C, gamma=_GAMMA, random_state=0, cache_size=_CACHE_MB)
    machine.fit(vocabulary.vectors(texts), [statement.label for statement in statements])
    weights = np.asarray(machine.dual_coef_.todense()).ravel()
    return Trained(
        NgramRanker(vocabulary, machine.support_vectors_, weights, float(machine.intercept_[0])), {}
    )


def restore(state: State, config: Config) -> NgramRanker:
    vocabulary = restore_vocabulary(state, state.settings["terms"], "idf", _words, sublinear=False)
    supports = restore_rows(state, "supports.", len(vocabulary.terms))
    weights = array(state, "weights", np.float64, supports.shape[0])
    return NgramRanker(vocabulary, supports, weights, number(state, "bias"))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())
