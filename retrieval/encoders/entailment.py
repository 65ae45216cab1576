"""Text and claim to probabilities of entailment: a CrossEncoder with three labels, run one pair a call."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np

from ..config import CrossEncoderSettings
from ..dense.encoder import LABELS, Entailment
from ..files import storable
from .cache import ENTAILMENT, REVISION, cache_folder, exported, model_digest
from .cross_encoder import OnnxPairModel
from .sources import find_model


class EntailmentInfo(msgspec.Struct, frozen=True, kw_only=True):
    """An entailment model: its name and revision, and the settings that it is found again by."""

    name: str
    revision: str
    model: str
    precision: str
    max_tokens: int

    def __str__(self) -> str:
        return f"{self.name} ({self.precision}, revision {self.revision})"

    @property
    def settings(self) -> CrossEncoderSettings:
        """The settings that open it, but for the folder of exports."""
        return msgspec.convert(
            {"model": self.model, "precision": self.precision, "max_tokens": self.max_tokens}, CrossEncoderSettings
        )


def open_entailment(settings: CrossEncoderSettings) -> OnnxEntailment:
    """Open the configured model, exporting it first when that was not done before.

    Raises MachineError if it is not on this machine, its labels are others, or it cannot be exported.
    """
    folder, description, model = exported(settings, ENTAILMENT)
    info = EntailmentInfo(
        name=storable(model.name),
        revision=description.revision,
        model=storable(model.setting or model.name),
        precision=settings.precision,
        max_tokens=settings.max_tokens,
    )
    return OnnxEntailment(folder, info, description.labels, description.max_tokens)


def revision_of(settings: CrossEncoderSettings) -> str:
    """Return the revision of the configured model as it is now, without exporting it.

    Raises MachineError if it is not on this machine.
    """
    return model_digest(find_model(settings.model, ENTAILMENT.noun), cache_folder(settings))[:REVISION]


class OnnxEntailment(OnnxPairModel):
    """An exported entailment model."""

    def __init__(self, folder: Path, info: EntailmentInfo, labels: tuple[str, ...], max_tokens: int) -> None:
        super().__init__(folder, name=info.name, max_tokens=max_tokens)
        self.info = info
        self._columns = [labels.index(label) for label in LABELS]

    def judge(self, text: str, claim: str) -> Entailment:
        """Return what a text says of a claim: three probabilities that add up to 1."""
        scores = np.asarray(self.scores(text, claim), dtype=np.float64)[self._columns]
        powers = np.exp(scores - scores.max())
        return Entailment(*(powers / powers.sum()).tolist())
