"""Scoring of a submission, with a hint if judgements and run were swapped or belong to another task."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from ...retrieval.errors import CheckFailed, FactseekError, SourceError
from ..files.answers import ScoreOptions, Scores
from ..files.tables import unended
from ..tasks import Task, task
from .other_task import other_task_hint


def score(name: str, gold: Sequence[Path], runs: Sequence[Path], options: ScoreOptions) -> Scores:
    """Return the figures of a submission of the task ``name``.

    Raises QueryError if an option is not the task's, CheckFailed if the submission has errors, SourceError if the gold
    cannot be read.
    """
    chosen = task(name)
    with hinting(chosen, gold, [runs], "--gold and --run"):
        scores = chosen.score(gold, runs, options)
    return replace(scores, notes=(*scores.notes, *unended([*gold, *runs])))


@contextmanager
def hinting(chosen: Task, gold: Sequence[Path], runs: Iterable[Sequence[Path]], options: str) -> Iterator[None]:
    """Add a hint to the error about a refused file if ``options`` seem to be swapped, or the file is another task's."""
    try:
        yield
    except (CheckFailed, SourceError) as error:
        runs = list(runs)
        if any(_swapped(chosen, gold, submission) for submission in runs):
            raise type(error)(f"{error}; {options} seem to be swapped") from None
        hint = other_task_hint(chosen, gold, [path for submission in runs for path in submission])
        if hint:
            raise type(error)(f"{error}; {hint}") from None
        raise


def _swapped(chosen: Task, gold: Sequence[Path], runs: Sequence[Path]) -> bool:
    """Return whether the gold can be read as a submission and the submission as gold."""
    if not all(path.is_file() for path in (*gold, *runs)):  # a pipe is used up: to open it again may wait for ever
        return False
    try:
        chosen.read_gold(runs)
        for path in gold:
            chosen.read_submission(path)
    except FactseekError:
        return False
    return True
