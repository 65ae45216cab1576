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


class OnnxPairModel:
    """An exported model that reads two texts together. Any number of threads may ask at once.

    Pairs are run one a call, without padding, because int8 inference takes its scale from the whole batch.
    """

    def __init__(self, folder: Path, *, name: str, max_tokens: int) -> None:
        self._model = ExportedModel(folder)
        self._most = CHARACTERS_PER_TOKEN * max_tokens
        self.name = name

    def scores(self, first: str, second: str) -> Any:
        """Return the scores of a pair, as the model's head gives them; they depend on the pair alone."""
        return self._model.run(self._tokens(first, second))

    def reads_all(self, first: str, second: str) -> bool:
        """Return whether the pair is short enough for the model to read all of it."""
        return max(len(first), len(second)) <= self._most and not self._tokens(first, second).overflowing

    def count_tokens(self, first: str, second: str) -> int:
        """Return how many tokens of the pair the model reads, its own marks included."""
        return len(self._tokens(first, second).ids)

    def _tokens(self, first: str, second: str) -> Any:
        return self._model.tokens(encodable(first[: self._most]), encodable(second[: self._most]))


class OnnxCrossEncoder(OnnxPairModel):
    """An exported re-ranker."""

    def score(self, query: str, passage: str) -> float:
        """Return how well a passage answers a query, as the model's head says it: higher is better, without bounds."""
        return float(self.scores(query, passage)[0])
