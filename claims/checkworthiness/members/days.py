"""Member that scores a tweet by the labels of tweets of the same days, since what is worth checking comes in waves."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ....retrieval.domain import Statement
from ....retrieval.records.model_file import State, array, number
from ...learning.models import restore_labels
from ...settings import Config
from ...text.surface import written
from . import Floats, Labels, MemberReader

_DOUBT = 0.5
"""Tweets that the mean of all counts for: tweets of the same moment outvote it, one a while away does not."""
_AT_ONCE = 512
FORWARDS = True
"""It is judged on tweets that are later than those it learned from, as it is used."""


class Moments:
    """The share of tweets of about the same time that are worth checking, as log-odds.

    One that is ``span`` days away counts half of one of the same moment.
    """

    def __init__(self, moments: Floats, labels: Labels, span: float) -> None:
        self._moments = moments
        self._labels = labels
        self._span = span

    def score(self, features: Floats) -> Floats:
        """Return the log-odds for each row; those of all tweets where it is not known when one was written."""
        mean = self._labels.mean()
        scores = np.full(len(features), np.log(mean / (1 - mean)))
        known, dated = np.flatnonzero(~np.isnan(features)), ~np.isnan(self._moments)
        moments, labels = self._moments[dated], self._labels[dated]
        for start in range(0, len(known), _AT_ONCE):
            rows = known[start : start + _AT_ONCE]
            near = 1 / (1 + ((features[rows, None] - moments) / self._span) ** 2)
            # Summed row by row, a score does not depend on its neighbours, as it may in a matrix product.
            worth, all_near = (near * labels).sum(axis=1) + _DOUBT * mean, near.sum(axis=1) + _DOUBT
            scores[rows] = np.log(worth / (all_near - worth))
        return scores

    def state(self) -> State:
        """Return when the labelled tweets were written, and their labels."""
        return State({"span": self._span}, {"moments": self._moments, "labels": self._labels.astype(np.int8)})


def restore_moments(state: State) -> Moments:
    """Return the model of its state.

    Raises ValueError, KeyError or TypeError if it is not one.
    """
    moments = array(state, "moments", np.float64, None, allow_nan=True)
    return Moments(
        moments, restore_labels(state, "labels", len(moments)), number(state, "span", lambda value: value > 0)
    )


class Days:
    """When a tweet was written; decide by what was said of others of about that time."""

    def __init__(self, strengths: tuple[float, ...] = ()) -> None:
        self.strengths = strengths

    def features(self, statements: Sequence[Statement]) -> Floats:
        """Return the moment of each tweet in days, shape (len(statements),); NaN where it is not known."""
        return np.array([written(statement) for statement in statements])

    def fit(self, features: Floats, labels: Labels, weights: Floats, strength: float, seed: int) -> Moments:
        """Keep the moments and their labels; ``strength`` is the span in days."""
        return Moments(features, labels, strength)

    def state(self) -> State:
        """Return nothing: moments are not learned."""
        return State({}, {})


def reads(statements: Sequence[Statement], config: Config) -> bool:
    """Return whether the number of a statement says when it was written."""
    return not all(math.isnan(written(statement)) for statement in statements)


def make(statements: Sequence[Statement], config: Config) -> Days:
    """Return a member with the spans that are configured."""
    return Days(config.claims.best.spans)


def restore(member: State, model: State, config: Config) -> MemberReader:
    """Return the reader of its states."""
    return MemberReader(Days(), restore_moments(model))
