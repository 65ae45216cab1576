"""Member that scores a statement by the labels of similar statements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ....retrieval.domain import Statement
from ....retrieval.records.model_file import State, number
from ...learning.models import restore_labels, restore_rows, restore_vocabulary
from ...settings import Config
from ...text.words import NgramVocabulary, learn_ngrams, words
from . import Floats, Labels, MemberReader
from .lexical import read

_AT_ONCE = 512
_SLIGHT = 1e-6
"""The weight of what is true of all statements, for one that resembles none."""
FORWARDS = False


class Votes:
    """The share of the similarity to labelled statements that falls on those worth checking.

    Similarity is the cosine to the power of ``sharpness``.
    """

    def __init__(self, rows: Any, labels: Labels, sharpness: float) -> None:
        self._rows = rows
        self._labels = labels
        self._sharpness = sharpness

    def score(self, features: Any) -> Floats:
        """Return the share for each row, between 0 and 1."""
        shares = [np.empty(0)]
        for start in range(0, features.shape[0], _AT_ONCE):
            near = (features[start : start + _AT_ONCE] @ self._rows.T).toarray() ** self._sharpness
            prior = _SLIGHT * self._labels.mean()
            shares.append(((near * self._labels).sum(axis=1) + prior) / (near.sum(axis=1) + _SLIGHT))
        return np.concatenate(shares)

    def state(self) -> State:
        """Return the labelled rows."""
        rows = self._rows
        return State(
            {"sharpness": self._sharpness, "width": rows.shape[1]},
            {
                "values": rows.data,
                "columns": rows.indices.astype(np.int32),
                "starts": rows.indptr.astype(np.int64),
                "labels": self._labels.astype(np.int8),
            },
        )


def restore_votes(state: State, width: int) -> Votes:
    """Return the votes of their state.

    Raises ValueError, KeyError or TypeError if it is not one, of rows of this ``width``.
    """
    rows = restore_rows(state, "", width)
    return Votes(
        rows, restore_labels(state, "labels", rows.shape[0]), number(state, "sharpness", lambda value: value > 0)
    )


class Neighbours:
    """TF-IDF of words and pairs of them; decide by votes."""

    def __init__(self, vocabulary: NgramVocabulary, strengths: tuple[float, ...] = ()) -> None:
        self.strengths = strengths
        self._vocabulary = vocabulary

    @property
    def width(self) -> int:
        """The number of columns."""
        return len(self._vocabulary.terms)

    def features(self, statements: Sequence[Statement]) -> Any:
        """Return a scipy CSR matrix with rows of unit length."""
        return self._vocabulary.vectors([read(statement) for statement in statements])

    def fit(self, features: Any, labels: Labels, weights: Floats, strength: float, seed: int) -> Votes:
        """Keep the rows and their labels; ``strength`` is the sharpness."""
        return Votes(features, labels, strength)

    def state(self) -> State:
        """Return the terms and their weights."""
        return State({"terms": list(self._vocabulary.terms)}, {"idf": self._vocabulary.weights})


def reads(statements: Sequence[Statement], config: Config) -> bool:
    """Return True: it reads every language."""
    return True


def make(statements: Sequence[Statement], config: Config) -> Neighbours:
    """Return the member whose terms are those of the statements."""
    vocabulary = learn_ngrams([read(statement) for statement in statements], words, sublinear=True)
    return Neighbours(vocabulary, config.claims.best.sharpnesses)


def restore(member: State, model: State, config: Config) -> MemberReader:
    """Return the reader of its states."""
    near = Neighbours(restore_vocabulary(member, member.settings["terms"], "idf", words, sublinear=True))
    return MemberReader(near, restore_votes(model, near.width))
