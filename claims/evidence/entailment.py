"""Features of a claim and its evidence that an entailment model adds: how likely each sentence supports or refutes it.

Of each sentence the log-odds that it entails the claim, and that it contradicts it; of these the first sentence's, the
highest and the mean count.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...retrieval.entailment import EntailmentModel
from ...retrieval.remembered import remembered
from .features import OF
from .sentences import ClaimEvidence

ENTAILED = tuple(f"{name}, {which}" for which in OF for name in ("entails", "contradicts"))
"""The columns that are added to a matrix of features."""
_MOST = 8.0
"""Log-odds are cut there: above it a probability says no more."""
_KEPT = 4096
"""Pairs whose log-odds are kept: what judges a claim by all of its sentences is asked for each of them alone, too."""


class EntailmentReader:
    """Reads evidence with an entailment model. It is safe for threads."""

    def __init__(self, model: EntailmentModel) -> None:
        self._model = model
        self._log_odds = remembered(_KEPT, self._asked)

    def matrix(self, claims: Sequence[str], evidence: Sequence[ClaimEvidence]) -> NDArray[np.float64]:
        """Return the features, shape (len(claims), len(ENTAILED)); zeros where there is no sentence."""
        rows = [self._row(claim, of_claim) for claim, of_claim in zip(claims, evidence, strict=True)]
        return np.array(rows, dtype=np.float64).reshape(-1, len(ENTAILED))

    def _row(self, claim: str, evidence: ClaimEvidence) -> list[float]:
        pairs = np.array([self._log_odds(sentence.text, claim) for sentence in evidence.sentences])
        if not len(pairs):
            return [0.0] * len(ENTAILED)
        return [float(value) for part in (pairs[0], pairs.max(axis=0), pairs.mean(axis=0)) for value in part]

    def _asked(self, text: str, claim: str) -> tuple[float, float]:
        """Return the log-odds that a text entails a claim, and that it contradicts it."""
        judged = self._model.judge(text, claim)
        return _log_odds(judged.entails), _log_odds(judged.contradicts)


def _log_odds(probability: float) -> float:
    least = 1 / (1 + math.exp(_MOST))
    probability = min(max(probability, least), 1 - least)
    return math.log(probability / (1 - probability))
