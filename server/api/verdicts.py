"""The models that judge claims, by their served names."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from flask import Flask, current_app

from ...claims import settings as claims
from ...claims.evidence.sentences import Finder
from ...claims.verdicts import training
from ...claims.verdicts.training import TrainedVerdicts
from ...claims.verdicts.verdict import Verifier
from ...retrieval.config import view
from ...retrieval.domain import Filter
from ...retrieval.errors import ConfigError, FactseekError, QueryError, SourceError
from ..settings import Config

if TYPE_CHECKING:
    from ...retrieval.search.index import Index

_KEY = "factseek.verdicts"
_log = logging.getLogger("factseek.server")


class ServedVerdicts(NamedTuple):
    """A trained model of verdicts under its name."""

    name: str
    learned: TrainedVerdicts


class Judge(NamedTuple):
    """A model of verdicts, with a verifier that uses it on the evidence of one index."""

    served: ServedVerdicts
    verifier: Verifier


def check(config: Config) -> None:
    """Load every model of verdicts, so that an error is reported once, before workers start.

    Raises ConfigError, with the setting, if a model cannot be loaded, or if it does not use a model of entailment: its
    verdicts are wrong too often to show to people.
    """
    for name, path in config.server.verdicts.items():
        try:
            learned = training.load(Path(path), view(config, claims.Config))
            if learned.manifest.entailment is None:
                what = "it learned without a model of entailment; the page shows no verdicts of such a model"
                raise SourceError(what, place=path, remedy="train it with --entailment MODEL, or leave it out")
        except FactseekError as error:
            what = f"{error.place}: {error.what}" if error.place else error.what
            raise ConfigError(what, place=f"server.verdicts.{name}", remedy=error.remedy) from None


def opened(config: Config) -> dict[str, ServedVerdicts]:
    """Load the configured models. If one cannot be loaded, log it and continue without it."""
    models = {}
    for name, path in config.server.verdicts.items():
        try:
            models[name] = ServedVerdicts(name, training.load(Path(path), view(config, claims.Config)))
        except FactseekError as error:
            _log.error("model of verdicts %s is not ready: %s", name, error.line)
    return models


def install(app: Flask, models: Mapping[str, ServedVerdicts]) -> None:
    """Give ``app`` its models of verdicts."""
    app.extensions[_KEY] = models


def served_verdicts() -> Mapping[str, ServedVerdicts]:
    """Return the models of verdicts of the current application by name."""
    models: Mapping[str, ServedVerdicts] = current_app.extensions[_KEY]
    return models


def judge_of(index: Index, config: Config, where: Filter | None) -> Judge | None:
    """Return the first model that was trained with an index like this one, or None."""
    if not served_verdicts():
        return None
    finder = Finder(index, config.verdict, where)
    for served in served_verdicts().values():
        try:
            return Judge(served, served.learned.verifier(finder, config.verdict, for_people=True))
        except QueryError:
            continue
    return None
