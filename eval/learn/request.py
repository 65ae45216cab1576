"""The request to train a model: the kind of model, the training files, and the settings."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from ...retrieval.files import sha256, storable


class ModelTraining(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a training.

    ``base`` is the model to train further. ``depth`` is the number of hits of each query to read, and ``negatives`` the
    number of them to learn from with each relevant passage. ``rate`` is the highest learning rate. ``patience`` is the
    number of evaluations on the stopping queries without a gain after which the training ends. With 0, the training
    never ends early, its last model is kept, and the stopping queries also judge it.
    """

    base: str
    epochs: int = 3
    batch: int = 16
    rate: float = 2e-5
    negatives: int = 4
    depth: int = 50
    max_tokens: int = 192
    looks: int = 2
    patience: int = 2
    measure: str = "nDCG@10"
    teacher: str = ""
    seed: int = 0


ALONE = ModelTraining(base="")
"""The default settings of an encoder or a re-ranker."""
ADDED = ModelTraining(base="", epochs=6, rate=5e-5, negatives=2, depth=20, max_tokens=128, patience=0)
"""The settings of an encoder whose ranking is fused: its training continues after the encoder alone ranks best."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingRequest:
    """The kind of model (``encoder``, ``reranker``), the settings, the training files, the index, the new folder."""

    what: str
    settings: ModelTraining
    files: tuple[Path, ...]
    index: str
    target: Path

    @property
    def checkpoints(self) -> Path:
        """The folder of the training's checkpoints, next to the result."""
        return self.target.with_name(f".{self.target.name}.training")

    def sources(self) -> list[dict[str, str]]:
        """Return the names of the files with their SHA-256."""
        return [{"name": storable(path.name), "sha256": sha256(path)} for path in self.files]

    def digest(self) -> str:
        """Return a digest that identifies this training; only the same training may resume from its checkpoints."""
        facts: list[Any] = [self.what, msgspec.to_builtins(self.settings), self.sources(), self.index]
        return hashlib.sha256(msgspec.json.encode(facts)).hexdigest()
