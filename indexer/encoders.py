"""The encoders that make an index's views during a build."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ..retrieval.config import EncoderSettings
from ..retrieval.dense.encoder import Encoder
from ..retrieval.encoders.runtime import open_encoder
from ..retrieval.encoders.sources import MissingModelError, for_language, named, of_index
from ..retrieval.errors import ConfigError, UsageError
from ..retrieval.store.manifest import VECTORS, EncoderInfo
from .settings import Config


class Encoders:
    """Opens the encoder of a view on first use, and keeps it open until ``close``."""

    def __init__(
        self,
        config: Config,
        opened: Mapping[str, Encoder] | None = None,
        *,
        language: str = "en",
        models: Sequence[str] = (),
    ) -> None:
        """Use the encoders that are already ``opened``, by the names of their views. These stay open after ``close``.

        New vectors come from the encoder that is configured for ``language``. If ``models`` are given, they make the
        vectors instead: the first makes the view ``vectors``, the others the views that :func:`further_views` names.
        """
        self._config = config
        self._opened = dict(opened or {})
        self._own: list[Encoder] = []
        asked = [named(config.encoder, model) for model in models] or [config.encoder]
        views = (VECTORS, *further_views(models))
        self._new = {view: for_language(settings, language) for view, settings in zip(views, asked, strict=True)}

    def __call__(self, view: str, made_by: EncoderInfo | None = None) -> Encoder:
        """Return the encoder that made a view's vectors (``made_by``), or else the encoder that will make them.

        Raises MachineError if the encoder is missing, ConfigError if no encoder is configured for the view.
        """
        if view not in self._opened:
            settings = self._settings(view, made_by)
            self._opened[view] = open_encoder(settings) if made_by else _new(settings)
            self._own.append(self._opened[view])
        return self._opened[view]

    def close(self) -> None:
        """Close the encoders that this object opened."""
        while self._own:
            encoder = self._own.pop()
            self._opened = {view: other for view, other in self._opened.items() if other is not encoder}
            encoder.close()

    def _settings(self, view: str, made_by: EncoderInfo | None) -> EncoderSettings:
        if made_by is not None:
            return of_index(made_by, self._config.encoder)
        if view not in self._new:
            raise ConfigError(f"there is no encoder for the view {view} of the index", place="encoder")
        return self._new[view]


def further_views(models: Sequence[str]) -> list[str]:
    """Return the view names of all models but the first, such as ``vectors:multilingual-e5-small``.

    Raises UsageError if two models would have the same name, or if a model's name has no letters or digits.
    """
    views = [f"{VECTORS}:{_variant(model)}" for model in models[1:]]
    if len(set(models)) < len(models) or len(set(views)) < len(views):
        raise UsageError("--encoder gives the same model or the same name twice; leave one of them out")
    return views


def _variant(model: str) -> str:
    words = re.findall("[a-z0-9]+", model.rstrip("/").rpartition("/")[2].lower())
    if not words:
        raise UsageError(f"--encoder {model!r}: give the name of a model or the path of its folder")
    return "-".join(words)


def _new(settings: EncoderSettings) -> Encoder:
    """Open an encoder for new vectors. If it is missing, the error also says how to do without vectors."""
    try:
        return open_encoder(settings)
    except MissingModelError as error:
        remedy = f"{error.remedy}, or build without vectors with --no-dense" if error.remedy else ""
        raise MissingModelError(error.what, place=error.place, remedy=remedy) from None
