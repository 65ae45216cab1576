"""Train a ranker with its manifest on labelled files, and load saved rankers."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from ... import __version__
from ...retrieval.domain import Statement
from ...retrieval.errors import SourceError
from ...retrieval.files import sha256, storable
from ...retrieval.progress import Progress
from ...retrieval.records.model_file import restored_from
from ..learning.models import ModelManifest, load_for
from ..settings import Config
from .rankers import Ranker, kind, names

_VERSIONED = ("numpy", "scipy", "scikit-learn")


class TrainingFile(msgspec.Struct, frozen=True, kw_only=True):
    """A training file: its name, its checksum, and the numbers of its statements and of those worth checking."""

    name: str
    sha256: str
    statements: int
    positives: int


class RankerManifest(ModelManifest, frozen=True, kw_only=True):
    """The description of a ranker; ``languages`` are those of its training, or empty for any language."""

    languages: tuple[str, ...]
    sources: tuple[TrainingFile, ...]


class TrainedRanker(NamedTuple):
    """A ranker with its manifest."""

    ranker: Ranker
    manifest: RankerManifest


def train(
    task: str, model: str, sources: Sequence[tuple[Path, list[Statement]]], config: Config, progress: Progress
) -> TrainedRanker:
    """Train a ranker on labelled files. Raises SourceError if they do not hold both classes."""
    statements = [statement for _, labelled in sources for statement in labelled]
    positives = sum(bool(statement.label) for statement in statements)
    if statements and positives in (0, len(statements)):
        named = ", ".join(str(path) for path, _ in sources)
        raise SourceError(
            f"{named}: every label is {int(positives > 0)}",
            remedy="add statements with the other label: a ranker learns from both",
        )
    trained = kind(model).train(statements, config, progress)
    manifest = RankerManifest(
        task=task,
        model=model,
        languages=tuple(sorted({statement.language for statement in statements} - {""})),
        sources=tuple(
            TrainingFile(
                name=storable(path.name),
                sha256=sha256(path),
                statements=len(labelled),
                positives=sum(bool(statement.label) for statement in labelled),
            )
            for path, labelled in sources
        ),
        settings=msgspec.json.decode(msgspec.json.encode(config.claims)),
        versions={"factseek": __version__} | {name: metadata.version(name) for name in _VERSIONED},
        figures=trained.figures,
    )
    return TrainedRanker(trained.ranker, manifest)


def load(path: Path, task: str | None, config: Config) -> TrainedRanker:
    """Load a saved ranker of ``task``, or of any task if that is None.

    Raises SourceError if the file is not a ranker or of another version, QueryError if it was trained for another task.
    """
    manifest, state = load_for(path, RankerManifest, task, names())
    with restored_from(path):
        ranker = kind(manifest.model).restore(state, config)
        if state.tensors:  # the random ranker has none, and a trial would advance its sequence
            trials = [Statement("1", "Trying: 2 words.", language=of) for of in manifest.languages or [""]]
            scores = ranker.score(trials)
            probabilities = ranker.probability(scores)
            for numbers in (scores, scores if probabilities is None else probabilities):
                if numbers.shape != (len(trials),) or not np.isfinite(numbers).all():
                    raise ValueError("a score is not a finite number")
    return TrainedRanker(ranker, manifest)
