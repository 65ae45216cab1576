"""Score pairs of texts: a CrossEncoder of sentence-transformers, exported to ONNX, and run with one
pair per call.

A model raises MachineError when it is opened if it is not installed here or cannot be exported.
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from ...core.files import storable
from ..config import CrossEncoderSettings
from ..dense.encoder import LABELS, Entailment
from .cache import (
    CROSS_ENCODER,
    ENTAILMENT,
    REVISION,
    SCORES,
    ExportKind,
    cache_folder,
    ensure_export,
    model_digest,
)
from .runtime import CHARACTERS_PER_TOKEN, encodable, load_exported
from .sources import find_model


class OnnxCrossEncoder:
    """An exported model that reads two texts together. Any number of threads may use it at once."""

    def __init__(self, settings: CrossEncoderSettings, kind: ExportKind = CROSS_ENCODER) -> None:
        """Open the configured model; export it first if necessary."""
        self._export = ensure_export(settings, kind)
        self._model = load_exported(self._export.folder)
        self._most = CHARACTERS_PER_TOKEN * self._export.description.max_tokens
        self.name = self._export.model.name

    def score(self, query: str, passage: str) -> float:
        """Return how well a passage answers a query, from the model's head: higher is better,
        without bounds.
        """
        return float(self._scores(query, passage)[0])

    def reads_all(self, first: str, second: str) -> bool:
        """Return whether the pair is short enough for the model to read all of it."""
        return (
            max(len(first), len(second)) <= self._most
            and not self._tokens(first, second).overflowing
        )

    def count_tokens(self, first: str, second: str) -> int:
        """Return the number of tokens of the pair that the model reads, including special
        tokens.
        """
        return len(self._tokens(first, second).ids)

    def _scores(self, first: str, second: str) -> Any:
        return self._model.run(self._tokens(first, second), SCORES)

    def _tokens(self, first: str, second: str) -> Any:
        return self._model.tokens(encodable(first[: self._most]), encodable(second[: self._most]))


class EntailmentInfo(msgspec.Struct, frozen=True, kw_only=True):
    """An entailment model: its name and revision, and the settings that locate it again."""

    name: str
    revision: str
    model: str
    precision: str
    max_tokens: int

    def __str__(self) -> str:
        return f"{self.name} ({self.precision}, revision {self.revision})"

    @property
    def settings(self) -> CrossEncoderSettings:
        """The settings that open the model, without its cache."""
        located = {"model": self.model, "precision": self.precision, "max_tokens": self.max_tokens}
        return msgspec.convert(located, CrossEncoderSettings)


def revision_of(settings: CrossEncoderSettings) -> str:
    """Return the current revision of the configured model, without exporting it."""
    return model_digest(find_model(settings.model, ENTAILMENT.noun), cache_folder(settings))[
        :REVISION
    ]


class OnnxEntailment(OnnxCrossEncoder):
    """An exported entailment model. Raises MachineError also if its labels are wrong."""

    def __init__(self, settings: CrossEncoderSettings) -> None:
        super().__init__(settings, ENTAILMENT)
        _, description, model = self._export
        self.name = storable(self.name)
        self.info = EntailmentInfo(
            name=self.name,
            revision=description.revision,
            model=storable(model.setting or model.name),
            precision=settings.precision,
            max_tokens=settings.max_tokens,
        )
        self._columns = [description.labels.index(label) for label in LABELS]

    def judge(self, text: str, claim: str) -> Entailment:
        """Return the probabilities of the three labels for a text and a claim; they add up to 1."""
        scores = np.asarray(self._scores(text, claim), dtype=np.float64)[self._columns]
        powers = np.exp(scores - scores.max())
        return Entailment(*(powers / powers.sum()).tolist())
