"""The entailment model beside a model of verdicts: opened, and found again."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import msgspec

from ...retrieval.config import CrossEncoderSettings
from ...retrieval.encoders.entailment import EntailmentInfo, open_entailment, revision_of
from ...retrieval.errors import MachineError, SourceError
from ..evidence.entailment import EntailmentReader


class OpenedEntailment(NamedTuple):
    """An entailment model that is open: what reads with it, and what it is."""

    reader: EntailmentReader
    info: EntailmentInfo


def opened(settings: CrossEncoderSettings) -> OpenedEntailment | None:
    """Open the configured entailment model; None if there is none.

    Raises MachineError if it is not on this machine, or is no model of entailment.
    """
    if not settings.model:
        return None
    model = open_entailment(settings)
    return OpenedEntailment(EntailmentReader(model), model.info)


def reopened(info: EntailmentInfo, cache: str, place: Path) -> OpenedEntailment:
    """Open the entailment model that the model of verdicts at ``place`` learned with; ``cache`` holds exports.

    Raises MachineError if it is not on this machine, SourceError if what is there is another one.
    """
    settings = msgspec.structs.replace(info.settings, cache=cache)
    try:
        revision = revision_of(settings)
        model = open_entailment(settings) if revision == info.revision else None
    except MachineError as error:
        why = f"{error.place}: {error.what}" if error.place else error.what
        raise MachineError(f"it learned with {info}: {why}", place=place, remedy=error.remedy) from None
    if model is None:
        raise SourceError(
            f"it learned with {info}, what is found of that name has revision {revision}",
            place=place,
            remedy="bring back the former, or train it again",
        )
    return OpenedEntailment(EntailmentReader(model), info)
