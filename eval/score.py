"""Score a submission: check it first, and say when judgements and run were given for one another."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from eval.scores import ScoreOptions, Scores
from eval.tasks import Task, task
from retrieval.errors import CheckFailed, FactseekError, SourceError


def score(name: str, gold: Sequence[Path], runs: Sequence[Path], options: ScoreOptions) -> Scores:
    """Return the figures of a submission of the task ``name``.

    Raises CheckFailed if the submission has errors, SourceError if the gold cannot be read.
    """
    chosen = task(name)
    try:
        return chosen.score(gold, runs, options)
    except (CheckFailed, SourceError) as error:
        if _swapped(chosen, gold, runs):
            raise type(error)(f"{error}; --gold and --run seem to be swapped") from None
        raise


def _swapped(chosen: Task, gold: Sequence[Path], runs: Sequence[Path]) -> bool:
    """Tell whether the gold reads as a submission and the submission as gold."""
    try:
        chosen.read_gold(runs)
        for path in gold:
            chosen.read_submission(path)
    except FactseekError:
        return False
    return True
