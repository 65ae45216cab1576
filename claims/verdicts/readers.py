"""The models that read evidence beside the features of its words: an encoder's contrast, an entailment model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..evidence.contrast import CONTRASTED, ContrastReader
from ..evidence.entailment import ENTAILED, EntailmentReader
from ..evidence.sentences import ClaimEvidence


class Readers(NamedTuple):
    """The readers that a model of verdicts learned with; None for one that it did not."""

    contrast: ContrastReader | None = None
    entailment: EntailmentReader | None = None

    def matrix(self, claims: Sequence[str], evidence: Sequence[ClaimEvidence]) -> NDArray[np.float64]:
        """Return their features side by side, shape (len(claims), columns); no columns without a reader."""
        parts = [reader.matrix(claims, evidence) for reader in self if reader]
        return np.hstack([np.empty((len(claims), 0)), *parts])


NO_READERS = Readers()


def columns(*, contrast: bool, entailment: bool) -> tuple[str, ...]:
    """Return the names of the columns that readers add."""
    return (*(CONTRASTED if contrast else ()), *(ENTAILED if entailment else ()))
