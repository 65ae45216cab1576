"""Members on trial: the scores that each gives to statements it has not learned from."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....retrieval.domain import Statement
from ....retrieval.encoders.runtime import available_cores
from ...learning.folds import average_precision, forwards
from . import Member, Model

_CLASSES = (0, 1)


class Population(NamedTuple):
    """Statements that a member learns from: those of one language, or of all.

    ``folds`` numbers the fold of each, ``blocks`` its place in time, ``weights`` says how much it counts: both classes
    of a language alike.
    """

    statements: list[Statement]
    labels: NDArray[np.int64]
    folds: NDArray[np.int64]
    blocks: NDArray[np.int64]
    weights: NDArray[np.float64]


class TrialPart(NamedTuple):
    """The statements that a model learns from and those that it is tested on, each a mask over a population."""

    learned: NDArray[np.bool_]
    tested: NDArray[np.bool_]


class Trial(NamedTuple):
    """A member, its rows, the strength that served best, and its scores of held-out statements."""

    member: Member
    rows: Any
    strength: float
    scores: NDArray[np.float64]


def population(statements: Sequence[Statement], folds: NDArray[np.int64]) -> Population:
    """Return the statements with weights by which every language, and in it either class, counts alike."""
    labels = np.array([statement.label for statement in statements], dtype=np.int64)
    languages = np.array([statement.language for statement in statements])
    weights = np.ones(len(statements))
    for language in sorted(set(languages.tolist())):
        for label in (0, 1):
            rows = (languages == language) & (labels == label)
            weights[rows] = (languages == language).sum() / (2 * max(1, rows.sum()))
    return Population(list(statements), labels, folds, forwards(statements, int(folds.max()) + 1), weights)


def trial(member: Member, among: Population, seed: int, *, later: bool = False) -> Trial:
    """Return the trial of a member with the first of its strengths whose held-out scores rank best.

    With ``later`` what is held out is later than what is learned from.
    """
    rows = member.features(among.statements)
    parts = _later(among) if later else _apart(among)

    def held_out(strength: float) -> NDArray[np.float64]:
        def fit(learned: NDArray[np.bool_]) -> Model:
            return member.fit(rows[learned], among.labels[learned], among.weights[learned], strength, seed)

        return _held_out(fit, rows, among.labels, parts)

    tried = [(strength, held_out(strength)) for strength in member.strengths]
    strength, scores = max(tried, key=lambda attempt: average_precision(among.labels, attempt[1]))
    return Trial(member, rows, strength, scores)


def fitted(best: Trial, among: Population, seed: int) -> Model:
    """Return what a member learns from all statements."""
    return best.member.fit(best.rows, among.labels, among.weights, best.strength, seed)


def _apart(among: Population) -> list[TrialPart]:
    """Return each fold with all that is not of it."""
    folds = sorted(set(among.folds.tolist()))
    return [TrialPart(among.folds != fold, among.folds == fold) for fold in folds]


def _later(among: Population) -> list[TrialPart]:
    """Return each block of time but the first with all that is earlier, if that is of both classes."""
    blocks, dated = among.blocks, among.blocks >= 0
    parts = [TrialPart(dated & (blocks < block), blocks == block) for block in range(1, int(blocks.max()) + 1)]
    return [part for part in parts if len(set(among.labels[part.learned].tolist())) == len(_CLASSES)]


def _held_out(
    fit: Callable[[NDArray[np.bool_]], Model], rows: Any, labels: NDArray[np.int64], parts: Sequence[TrialPart]
) -> NDArray[np.float64]:
    """Return scores of each part by what is fitted to its others; each model learns on one thread.

    What is in no part has the log-odds of all.
    """
    mean = float(labels.mean())
    scores = np.full(len(labels), math.log(mean / (1 - mean)))
    if not parts:
        return scores
    with ThreadPoolExecutor(min(available_cores(), len(parts))) as pool:
        each = pool.map(lambda part: fit(part.learned).score(rows[part.tested]), parts)
        for part, part_scores in zip(parts, each, strict=True):
            scores[part.tested] = part_scores
    return scores
