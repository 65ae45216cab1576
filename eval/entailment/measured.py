"""The balanced accuracy of judgements, claim by claim, so that two models can be compared by a paired test."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..scoring.statistics import Values
from .pairs import EntailmentPair, PairedClaim

MEASURE = "balanced accuracy"


class EntailmentBed:
    """The pairs of some claims."""

    def __init__(self, claims: Sequence[PairedClaim]) -> None:
        self.pairs: list[EntailmentPair] = [pair for claim in claims for pair in claim.pairs]
        self._labels = np.array([pair.label for pair in self.pairs], dtype=np.int64)
        self._claim = np.repeat(np.arange(len(claims)), [len(claim.pairs) for claim in claims])
        self._claims = len(claims)

    def values(self, judged: NDArray[np.int64]) -> Values:
        """Return the part of each claim in the balanced accuracy of the labels ``judged``, one a pair.

        The mean of these values is the mean, over the labels that occur, of the share of its pairs that is right.
        """
        counts = np.bincount(self._labels)
        share = self._claims / (np.count_nonzero(counts) * counts[self._labels])
        right = share * (judged == self._labels)
        values: Values = np.bincount(self._claim, weights=right, minlength=self._claims).astype(np.float64)
        return values

    def commonest(self) -> Values:
        """Return the values of the commonest label."""
        return self.values(np.full(len(self.pairs), np.bincount(self._labels).argmax()))
