"""The encoder beside a model of verdicts that tells a claim from its opposites: opened, and found again."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from ...retrieval.config import AUTO, EncoderSettings
from ...retrieval.encoders.choice import named, of_index
from ...retrieval.encoders.runtime import OnnxEncoder, open_encoder
from ...retrieval.encoders.sources import MULTILINGUAL, MissingModelError, find_model
from ...retrieval.errors import MachineError, SourceError
from ...retrieval.manifest import EncoderInfo
from ..evidence.contrast import ContrastReader
from ..settings import Config
from ..text.opposites import OPPOSING


class OpenedContrast(NamedTuple):
    """An encoder that is open: what reads with it, and what it is."""

    reader: ContrastReader
    info: EncoderInfo


def opened(config: Config, language: str) -> OpenedContrast | None:
    """Open the encoder of ``verdict.contrast``; None if there is none, or a claim of the language has no opposites.

    ``auto`` is the multilingual one, which was trained on inferences, or none where it is not on this machine.
    Raises MachineError if one that is named is not on this machine.
    """
    name = config.verdict.contrast
    if not name or language not in OPPOSING:
        return None
    if name == AUTO:
        try:
            find_model(MULTILINGUAL)
        except MissingModelError:
            return None
        name = MULTILINGUAL
    encoder = _encoder(named(config.encoder, name))
    return OpenedContrast(ContrastReader(encoder, language), EncoderInfo.of(encoder))


@lru_cache(maxsize=2)
def _encoder(settings: EncoderSettings) -> OnnxEncoder:
    """Open an encoder once for all models of verdicts of a process: it is its memory that costs, and it is lazy."""
    return open_encoder(settings)


def reopened(info: EncoderInfo, config: Config, language: str, place: Path) -> OpenedContrast:
    """Open the encoder that the model of verdicts at ``place`` learned with.

    Raises MachineError if it is not on this machine, SourceError if what is there is another one.
    """
    try:
        encoder = _encoder(of_index(info, config.encoder))
    except MachineError as error:
        why = f"{error.place}: {error.what}" if error.place else error.what
        raise MachineError(f"it learned with {info}: {why}", place=place, remedy=error.remedy) from None
    there = EncoderInfo.of(encoder)
    if there.identity != info.identity:
        raise SourceError(
            f"it learned with {info}, what is found of that name is {there}",
            place=place,
            remedy="bring back the former, or train it again",
        )
    return OpenedContrast(ContrastReader(encoder, language), info)
