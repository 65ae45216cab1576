"""Features of a claim and its evidence by contrast: how much nearer a sentence is to the claim than to its opposites.

An encoder that was trained on inferences holds a sentence and what it contradicts apart. Of each sentence the least
distance counts, that to the opposite which it is nearest to; of these the first sentence's, the highest and the mean.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...retrieval.encoder import Encoder
from ...retrieval.remembered import remembered
from ..text.opposites import opposites
from .features import OF
from .sentences import ClaimEvidence

CONTRASTED = tuple(f"nearer than its opposites, {which}" for which in OF)
"""The columns that are added to a matrix of features."""
_KEPT = 4096
"""Texts whose vectors are kept: what judges a claim by all of its sentences is asked for each of them alone, too."""


class ContrastReader:
    """Reads evidence with an encoder, in one language. It is safe for threads."""

    def __init__(self, encoder: Encoder, language: str) -> None:
        self._encoder = encoder
        self._language = language
        self._vector = remembered(_KEPT, self._encoded)

    def matrix(self, claims: Sequence[str], evidence: Sequence[ClaimEvidence]) -> NDArray[np.float64]:
        """Return the features, shape (len(claims), len(CONTRASTED)); zeros without a sentence or an opposite."""
        rows = [self._row(claim, of_claim) for claim, of_claim in zip(claims, evidence, strict=True)]
        return np.array(rows, dtype=np.float64).reshape(-1, len(CONTRASTED))

    def _row(self, claim: str, evidence: ClaimEvidence) -> list[float]:
        turned = opposites(claim, self._language)
        if not turned or not evidence.sentences:
            return [0.0] * len(CONTRASTED)
        sentences = np.array([self._vector(sentence.text) for sentence in evidence.sentences])
        apart = self._vector(claim) - np.array([self._vector(text) for text in turned])
        nearer = (sentences @ apart.T).min(axis=1)
        return [float(nearer[0]), float(nearer.max()), float(nearer.mean())]

    def _encoded(self, text: str) -> NDArray[np.float64]:
        # As a query, for a claim and a sentence stand side by side here: neither is looked for in the other.
        return np.asarray(self._encoder.encode_query([text])[0], dtype=np.float64)
