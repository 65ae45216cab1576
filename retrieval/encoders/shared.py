"""The encoders of several indexes, each opened once."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from ..caching import OpenedOnce
from ..config import EncoderSettings
from ..dense.encoder import Encoder
from ..errors import MachineError
from ..store.manifest import EncoderInfo
from .choice import of_index
from .runtime import open_encoder


class SharedEncoders:
    """Opens the encoder that a manifest names when it is first asked for. Safe for threads."""

    def __init__(self, settings: EncoderSettings) -> None:
        self._settings = settings
        self._opened = OpenedOnce()

    def __call__(self, made_by: EncoderInfo, place: Path) -> Encoder:
        """Return the encoder that made the vectors of the index at ``place``.

        Raises MachineError if it is not on this machine, IndexStateError if what is there is another one.
        """
        asked = of_index(made_by, self._settings)
        encoder = self._opened.get(asked, partial(_opened, made_by, asked, place))
        made_by.check(EncoderInfo.of(encoder), place, "bring back the former, or rebuild the index with --overwrite")
        return encoder

    def close(self) -> None:
        """Close all that were opened."""
        for encoder in self._opened.let_go().values():
            encoder.close()


def _opened(made_by: EncoderInfo, asked: EncoderSettings, place: Path) -> Encoder:
    try:
        return open_encoder(asked)
    except MachineError as error:
        why = f"{error.place}: {error.what}" if error.place else error.what
        raise MachineError(f"its vectors were made by {made_by}: {why}", place=place, remedy=error.remedy) from None
