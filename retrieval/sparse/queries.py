"""Weigh the terms of queries: by the sparse model, or without it.

Without the model, a query consists of its word pieces, each once, with its idf in the whole index:
``ln((N + 1) / (n + 1))`` if ``n`` of ``N`` passages have the piece. Only passages then need the
model.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...core.caching import OpenedOnce, cache_method
from ..config import ImpactSettings
from ..store.manifest import ImpactsInfo
from .encoder import SparseEncoder, WordPieces, open_sparse_encoder_of, settings_of
from .impacts import SparseVector, TermCounts

CountTerms = Callable[[NDArray[np.int32]], TermCounts]
"""A function that counts the passages of the whole index that have terms."""


MARKED_TERMS = 10
"""The number of the heaviest terms of a query that are highlighted. A model expects some dozen more
with lower weights, which would mark every second word of a passage.
"""
_CACHED = 64
# How the tokenizers of other models than BERT mark the beginning of a word.
_WORD_BEGINS = ("Ġ", "▁")


class QueryWeights:
    """Weighs the terms of queries for one view of impacts. It is safe for threads."""

    def __init__(
        self, info: ImpactsInfo, settings: ImpactSettings, place: Path, count: CountTerms
    ) -> None:
        """Weigh for the impacts of the index in ``place``; ``count`` counts its passages."""
        self._info, self._settings, self._place = info, settings, place
        self._count = count
        self._by_model = settings_of(info, settings).queries == "model"
        self._opened = OpenedOnce()
        # A search, its count, its explanation and its highlights ask for the same query.
        self._weigh_by_model = cache_method(_CACHED, self._weigh)

    def __call__(self, text: str) -> SparseVector:
        """Return the terms of a query with their weights.

        Raises MachineError if the model is not on this machine, IndexStateError if it has changed.
        """
        if self._by_model:
            return self._weigh_by_model(text)
        terms = self._pieces(text)
        counts = self._count(terms)
        weights = np.log((counts.passages + 1) / (counts.having + 1)).astype(np.float32)
        kept = weights > 0
        return SparseVector(terms[kept], weights[kept])

    def name(self, term: int) -> str:
        """Return a term as the model writes it: a piece inside a word begins with ``##``."""
        return self._pieces.name(term)

    def expected_words(self, text: str) -> list[str]:
        """Return the heaviest terms of a query that are words, heaviest first; none if no model
        weighs queries, because the terms are then in the query itself.
        """
        if not self._by_model:
            return []
        vector = self(text)
        heaviest = np.argsort(-vector.weights, kind="stable")[:MARKED_TERMS]
        names = (self.name(term) for term in vector.terms[heaviest].tolist())
        words = (name[1:] if name.startswith(_WORD_BEGINS) else name for name in names)
        return [word for word in words if word.isalnum()]

    def _weigh(self, text: str) -> SparseVector:
        return self._encoder.weigh_query(text)

    @property
    def _pieces(self) -> WordPieces:
        return self._opened.get("pieces", self._encoder.word_pieces)

    @property
    def _encoder(self) -> SparseEncoder:
        return self._opened.get(
            "encoder", lambda: open_sparse_encoder_of(self._info, self._settings, self._place)
        )

    def close(self) -> None:
        """Release the model."""
        encoder = self._opened.let_go().get("encoder")
        if encoder is not None:
            encoder.close()
