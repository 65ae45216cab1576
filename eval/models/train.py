"""Train a model from candidates to the folder that a setting names, and say on held-out queries what it is worth."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from ...retrieval.domain import Qrels
from ...retrieval.errors import QueryError
from ...retrieval.files import sync_tree
from ...retrieval.progress import Progress, silent
from ...retrieval.searcher import Searcher
from ..scoring.statistics import Values, intervals, paired
from . import checkpoints, lessons
from .candidates import Candidates, read_candidates
from .card import write_card
from .encoder import EncoderTraining
from .judged import TrainingJudged
from .parts import part
from .request import TrainingRequest
from .reranker import RerankerTraining
from .trained import TrainedModel


class HeldBack(NamedTuple):
    """What a model does not learn from: the beds of those that say when to stop, and of those that judge the result.

    ``counts`` are the numbers of queries of each part, ``grouped`` says whether no two parts share a relevant document.
    """

    stopping: Any
    judging: Any
    counts: Mapping[str, int]
    grouped: bool


class Training(Protocol):
    """The training of one kind of model. A bed, of a type of its own, holds what it is measured on."""

    def ranked(self, bed: Any) -> str:
        """Return in words what is ranked there."""
        ...

    def before(self, bed: Any) -> Values:
        """Return the measure of each query without the training."""
        ...

    def values(self, bed: Any) -> Values:
        """Return the measure of each query with the model as it is now."""
        ...

    @property
    def beside(self) -> Mapping[str, float]:
        """The settings that are to stand beside the one that names the model."""
        ...

    def learn(self, learned: Sequence[Any], stopping: Any, progress: Progress) -> None:
        """Train on some queries, stop when others gain no more."""
        ...

    def save(self, folder: str) -> None:
        """Write the model."""
        ...


class RankingTraining(Training, Protocol):
    """The training of what ranks documents for queries."""

    def bed(self, candidates: Sequence[Candidates], qrels: Qrels) -> Any:
        """Return what the model is measured on."""
        ...


TRAININGS: Mapping[str, Callable[[TrainingRequest], RankingTraining]] = {
    "encoder": EncoderTraining,
    "reranker": RerankerTraining,
}
"""The kinds of model that rank and can be trained."""


def train(
    index: Searcher, judged: TrainingJudged, request: TrainingRequest, progress: Progress = silent
) -> TrainedModel:
    """Train, and write the model with its card to the new folder ``request.target``.

    Interrupted, it leaves its checkpoints beside that folder, and the same request goes on from them.

    Raises QueryError if the folder is there, there are too few judged queries or no negatives, MachineError if the
    model is not on this machine or there is no room.
    """
    check_target(request.target)
    lessons.check_installed()
    candidates = read_candidates(index, judged, request.settings.depth, progress)
    parts = part(candidates, judged.qrels, request.settings.seed)
    if not any(candidate.negatives() for candidate in parts.learned):
        raise QueryError(
            f"all of the first {request.settings.depth} hits are relevant: there are no negatives to learn from"
        )
    training = TRAININGS[request.what](request)
    held_back = HeldBack(
        stopping=training.bed(parts.stopping, judged.qrels),
        judging=training.bed(parts.judging, judged.qrels),
        counts={"learned": len(parts.learned), "stopping": len(parts.stopping), "judging": len(parts.judging)},
        grouped=parts.grouped,
    )
    return carried_out(training, request, parts.learned, held_back, progress)


def carried_out(
    training: Training, request: TrainingRequest, learned: Sequence[Any], held_back: HeldBack, progress: Progress
) -> TrainedModel:
    """Train on what is ``learned`` from, judge before and after, and write the model with its card."""
    before = training.before(held_back.judging)
    with checkpoints.kept(request):
        training.learn(learned, held_back.stopping, progress)
        trained = _result(request, held_back, training, before)
        _write(training, trained)
    checkpoints.forget(request)
    return trained


def check_target(target: Path) -> None:
    """Raise QueryError if a model cannot be written to the new folder ``target``."""
    if target.exists():
        raise QueryError("is there already", place=target, remedy="name a new folder")
    if not target.parent.is_dir():
        raise QueryError(f"there is no folder {target.parent}", place=target, remedy="make it first")


def _result(request: TrainingRequest, held_back: HeldBack, training: Training, before: Values) -> TrainedModel:
    seed = request.settings.seed
    after = training.values(held_back.judging)
    of_before, of_after = intervals(_columns(before, after), seed)
    return TrainedModel(
        request=request,
        ranked=training.ranked(held_back.judging),
        beside=training.beside,
        counts=held_back.counts,
        grouped=held_back.grouped,
        before=of_before,
        after=of_after,
        test=paired(before, after, seed),
    )


def _columns(*values: Values) -> Values:
    import numpy as np

    return np.stack(values, axis=1)


def _write(training: Training, trained: TrainedModel) -> None:
    """Write model and card to a folder beside the target, and rename it when it is whole."""
    target = trained.request.target
    with tempfile.TemporaryDirectory(prefix=".train-", dir=target.parent) as scratch:
        made = Path(scratch) / "model"
        training.save(str(made))
        write_card(made, trained)
        sync_tree(made)
        made.rename(target)
