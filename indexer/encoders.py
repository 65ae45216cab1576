"""The encoders that make an index's vectors during a build."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ..core.errors import ConfigError, UsageError
from ..retrieval.encoders.given import GivenVectors
from ..retrieval.encoders.opening import open_encoder, open_encoder_of
from ..retrieval.encoders.sources import MissingModelError, choose_models, for_language
from ..retrieval.store.manifest import VECTORS, EncoderInfo
from .settings import Config

if TYPE_CHECKING:
    from ..retrieval.encoders.encoder import Encoder


class Encoders:
    """Opens the encoder of a view on first use, and keeps it open until ``close``."""

    def __init__(
        self,
        config: Config,
        *,
        language: str = "en",
        models: Sequence[str] = (),
        given: Mapping[str, GivenVectors] | None = None,
    ) -> None:
        """New vectors come from ``models``.

        The first makes the view ``vectors``, the others those that :func:`further_views` names.
        Without models, they come from the encoder that is configured for ``language``. ``given``
        has the vectors that the user brought, by view.
        """
        self._config = config
        self.given: Mapping[str, GivenVectors] = given or {}
        self._opened: dict[str, Encoder] = {}
        settings = choose_models(config.encoder, models) or [config.encoder]
        views = (VECTORS, *further_views(models))
        self._new = {
            view: for_language(each, language) for view, each in zip(views, settings, strict=True)
        }

    def __call__(self, view: str, made_by: EncoderInfo | None = None) -> Encoder:
        """Return the encoder of a view: the one that ``made_by`` describes, else the one that makes
        new vectors.
        """
        if view in self.given:
            return self.given[view]
        if view not in self._opened:
            if made_by:
                self._opened[view] = open_encoder_of(made_by, self._config.encoder)
            elif view not in self._new:
                raise ConfigError(
                    f"no model is given for {view}; name one with --encoder (in Python: encoders)",
                    place="encoder",
                )
            else:
                try:
                    self._opened[view] = open_encoder(self._new[view])
                except MissingModelError as error:
                    remedy = (
                        f"{error.remedy}, or use --no-dense to build no vectors"
                        if error.remedy
                        else ""
                    )
                    raise MissingModelError(error.what, place=error.place, remedy=remedy) from None
        return self._opened[view]

    def close(self) -> None:
        """Close the encoders that this object opened."""
        while self._opened:
            self._opened.popitem()[1].close()


def further_views(models: Sequence[str]) -> list[str]:
    """Return the view names of all models but the first, such as ``vectors:multilingual-e5-small``.

    Raises UsageError if two models would have the same name, or if a model's name has no letters or
    digits.
    """
    views = []
    for model in models[1:]:
        words = re.findall("[a-z0-9]+", model.rstrip("/").rpartition("/")[2].lower())
        if not words:
            raise UsageError(
                f"--encoder {model!r}: give the name of a model or the path of its folder"
            )
        views.append(f"{VECTORS}:{'-'.join(words)}")
    if len(set(models)) < len(models) or len(set(views)) < len(views):
        raise UsageError(
            "--encoder gives the same model or the same name twice; leave one of them out"
        )
    return views
