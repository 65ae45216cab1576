"""The models that judge claims, by their served names."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from flask import current_app

from ...claims import settings as claims
from ...claims.evidence.sentences import Finder
from ...claims.verdicts import training
from ...claims.verdicts.verdict import TrainedVerdicts, Verifier
from ...retrieval.config import view
from ...retrieval.domain import Filter
from ...retrieval.errors import QueryError, SourceError
from ..search import limit_of
from ..settings import Config
from .rankers import open_models

if TYPE_CHECKING:
    from ...retrieval.search.index import Index

VERDICTS = "factseek.verdicts"


class ServedVerdicts(NamedTuple):
    """A trained verdict model under its name."""

    name: str
    learned: TrainedVerdicts


def open_verdicts(config: Config, *, strict: bool = False) -> dict[str, ServedVerdicts]:
    """Load the configured models, as :func:`factseek.server.api.rankers.open_models` does.

    With ``strict``, a model must have been trained with an entailment model: other models are wrong too often.
    """

    def load(name: str, path: str) -> ServedVerdicts:
        learned = training.load(Path(path), view(config, claims.Config))
        if strict and learned.manifest.entailment is None:
            what = "was trained without an entailment model, so the page cannot show its verdicts"
            raise SourceError(what, place=path, remedy="train it with --entailment MODEL, or do not serve it")
        return ServedVerdicts(name, learned)

    return open_models(config, "verdicts", load, "verdict model", strict=strict)


def judge_of(index: Index, config: Config, where: Filter | None) -> tuple[ServedVerdicts, Verifier] | None:
    """Return the first model that was trained with an index like ``index``, and its verifier for ``index``; or None."""
    models: Mapping[str, ServedVerdicts] = current_app.extensions[VERDICTS]
    if not models:
        return None
    finder = Finder(index, config.verdict, where, limit_of())
    for served in models.values():
        try:
            return served, served.learned.verifier(finder, config.verdict, for_people=True)
        except QueryError:
            continue
    return None
