"""Query and passage to a score: a CrossEncoder of sentence-transformers, exported to ONNX, run one pair a call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..config import RerankSettings
from .cache import CROSS_ENCODER, exported
from .exported_model import CHARACTERS_PER_TOKEN, ExportedModel, encodable


def open_cross_encoder(settings: RerankSettings) -> OnnxCrossEncoder:
    """Open the configured re-ranker, exporting its model first when that was not done before.

    Raises MachineError if the model is not on this machine or cannot be exported.
    """
    folder, description, model = exported(settings, CROSS_ENCODER)
    return OnnxCrossEncoder(folder, name=model.name, max_tokens=description.max_tokens)


class OnnxCrossEncoder:
    """An exported re-ranker. The score of a pair depends on the pair alone; any number of threads may ask at once.

    Pairs are run one a call, without padding, because int8 inference takes its scale from the whole batch.
    """

    def __init__(self, folder: Path, *, name: str, max_tokens: int) -> None:
        self._model = ExportedModel(folder)
        self._most = CHARACTERS_PER_TOKEN * max_tokens
        self.name = name

    def score(self, query: str, passage: str) -> float:
        """Return how well a passage answers a query, as the model's head says it: higher is better, without bounds."""
        return float(self._model.run(self._tokens(query, passage))[0])

    def reads_all(self, query: str, passage: str) -> bool:
        """Return whether the pair is short enough for the model to read all of it."""
        return max(len(query), len(passage)) <= self._most and not self._tokens(query, passage).overflowing

    def count_tokens(self, query: str, passage: str) -> int:
        """Return how many tokens of the pair the model reads, its own marks included."""
        return len(self._tokens(query, passage).ids)

    def _tokens(self, query: str, passage: str) -> Any:
        return self._model.tokens(encodable(query[: self._most]), encodable(passage[: self._most]))
