"""The encoders of an index's views while it is written."""

from __future__ import annotations

from collections.abc import Mapping

from ..retrieval.encoder import Encoder
from ..retrieval.encoders.runtime import open_encoder
from ..retrieval.errors import ConfigError
from ..retrieval.manifest import VECTORS
from .settings import Config


class Encoders:
    """Opens the encoder of a view when it is first asked for, and keeps it until all are closed."""

    def __init__(self, config: Config, opened: Mapping[str, Encoder] | None = None) -> None:
        """Use the encoders that are ``opened`` already, by the names of their views; these stay open."""
        self._config = config
        self._opened = dict(opened or {})
        self._own: list[Encoder] = []

    def __call__(self, view: str) -> Encoder:
        """Return the encoder of the view of this name.

        Raises MachineError if it is missing, ConfigError if none is configured for this view.
        """
        if view not in self._opened:
            if view != VECTORS:
                raise ConfigError(f"there is no encoder for the view {view} of the index", place="encoder")
            self._opened[view] = open_encoder(self._config.encoder)
            self._own.append(self._opened[view])
        return self._opened[view]

    def close(self) -> None:
        """Close those that were opened here."""
        while self._own:
            encoder = self._own.pop()
            self._opened = {view: other for view, other in self._opened.items() if other is not encoder}
            encoder.close()
