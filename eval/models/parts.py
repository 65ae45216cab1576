"""Three parts of the judged queries: those learned from, those that say when to stop, those that judge the result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...retrieval.domain import Qrels
from ...retrieval.errors import QueryError
from ..training.folds import parted
from .candidates import Candidates

FOLDS = 10
"""One of so many folds says when to stop, and two judge."""


class TrainingParts(NamedTuple):
    """The queries of each part. ``grouped`` says whether no two parts share a relevant document."""

    learned: Sequence[Candidates]
    stopping: Sequence[Candidates]
    judging: Sequence[Candidates]
    grouped: bool


def part(candidates: Sequence[Candidates], qrels: Qrels, seed: int) -> TrainingParts:
    """Part the queries that have a relevant document, drawn with ``seed``.

    Raises QueryError if there are fewer than ten.
    """
    teaching = [candidate for candidate in candidates if candidate.relevant]
    if len(teaching) < FOLDS:
        raise QueryError(
            f"queries with a relevant document in the index: {len(teaching)}; {FOLDS} are needed: "
            "to learn from, to stop by and to judge by"
        )
    folds, grouped = parted({candidate.qid: qrels[candidate.qid] for candidate in teaching}, FOLDS, seed)
    stopping, first, second, *learned = ([teaching[row] for row in fold.tolist()] for fold in folds)
    return TrainingParts([query for fold in learned for query in fold], stopping, first + second, grouped)
