"""The request for a training of a model: what is trained, on what, with which settings."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from ...retrieval.files import sha256, storable


class ModelTraining(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a training.

    ``base`` is the model that is trained further; ``depth`` how many hits of each query are looked at, ``negatives``
    how many of them are learned from beside each relevant passage; ``rate`` the highest learning rate; ``patience``
    how many looks at the stopping queries may bring nothing before the training ends.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingRequest:
    """What is trained (``encoder``, ``reranker``), how, on which files of which index, to what."""

    what: str
    settings: ModelTraining
    files: tuple[Path, ...]
    index: str
    target: Path

    @property
    def checkpoints(self) -> Path:
        """The folder of what is trained so far, beside the result."""
        return self.target.with_name(f".{self.target.name}.training")

    def sources(self) -> list[dict[str, str]]:
        """Return the names of the files with their SHA-256."""
        return [{"name": storable(path.name), "sha256": sha256(path)} for path in self.files]

    def digest(self) -> str:
        """Return what tells this training from any other: only the same one may go on from its checkpoints."""
        facts: list[Any] = [self.what, msgspec.to_builtins(self.settings), self.sources(), self.index]
        return hashlib.sha256(msgspec.json.encode(facts)).hexdigest()
