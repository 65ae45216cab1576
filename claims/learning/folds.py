"""Cross-validation without leaks: near-duplicates, and statements of one debate, stay in the same fold.

Training uses only a sample of the statements not worth checking, because more of them would teach nothing new.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...retrieval.domain import Statement
from ...retrieval.errors import SourceError
from ..text.surface import written
from ..text.words import groups

_LEAST = 2
"""The minimum number of statements of each class, so that some can be held out."""


def check_enough(statements: Sequence[Statement], language: str) -> None:
    """Raise SourceError if a language has too few statements of a class to hold some out."""
    positives = sum(bool(statement.label) for statement in statements)
    if min(positives, len(statements) - positives) < _LEAST:
        raise SourceError(
            f"language {language!r}: {positives} of {len(statements)} training statements are worth checking",
            remedy=f"give at least {_LEAST} that are worth checking and as many that are not",
        )


def folds(statements: Sequence[Statement], number: int, seed: int) -> NDArray[np.int64]:
    """Return the fold of each statement, 0 to ``number`` - 1, with about the same share worth checking in each.

    Sentences of a debate, which name a speaker, stay together. Tweets of one topic stay together if there are enough
    topics; otherwise near-duplicates do. If a class has fewer statements, there are fewer folds. If there are too few
    groups, statements are split one by one.
    """
    from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

    numbers_of = {name: at for at, name in enumerate(dict.fromkeys(statement.topic for statement in statements))}
    topics = np.array([numbers_of[statement.topic] for statement in statements])
    spoken = any(statement.speaker for statement in statements)
    together = topics if spoken or len(set(topics.tolist())) >= number else groups(statements)
    labels = np.array([statement.label for statement in statements])
    number = max(2, min(number, *np.bincount(labels, minlength=2).tolist()))
    options = {"shuffle": True, "random_state": seed}
    if len(set(together.tolist())) >= number:
        numbers = _numbered(StratifiedGroupKFold(number, **options).split(labels, labels, together), len(labels))
        if all(len(set(labels[numbers != fold].tolist())) == 2 for fold in range(number)):
            return numbers
    return _numbered(StratifiedKFold(number, **options).split(labels, labels), len(labels))


def forwards(statements: Sequence[Statement], number: int) -> NDArray[np.int64]:
    """Return the block of each statement in the order of time, 0 to ``number`` - 1; -1 if its time is unknown."""
    moments = np.array([written(statement) for statement in statements])
    blocks = np.full(len(statements), -1, dtype=np.int64)
    dated = np.flatnonzero(~np.isnan(moments))
    order = dated[np.argsort(moments[dated], kind="stable")]
    blocks[order] = np.arange(len(order)) * number // max(len(order), 1)
    return blocks


def _numbered(splits: Iterable[tuple[Any, NDArray[np.intp]]], size: int) -> NDArray[np.int64]:
    numbers = np.zeros(size, dtype=np.int64)
    for fold, (_, tested) in enumerate(splits):
        numbers[tested] = fold
    return numbers


def average_precision(labels: NDArray[np.int64], scores: NDArray[np.float64]) -> float:
    """Return the average precision of a ranking; equal scores keep their order. Without a positive it is 0."""
    positive = labels[np.argsort(-scores, kind="stable")].astype(bool)
    ranks = np.flatnonzero(positive) + 1
    return float(np.mean(np.arange(1, len(ranks) + 1) / ranks)) if len(ranks) else 0.0


def sampled(statements: Sequence[Statement], most: int, seed: int) -> tuple[list[Statement], float]:
    """Drop statements not worth checking until there are at most ``most`` for each worth checking; 0 keeps all.

    The second value corrects log-odds learned from the sample: add it.
    """
    labels = np.array([statement.label for statement in statements])
    others = np.flatnonzero(labels == 0)
    limit = most * int((labels == 1).sum())
    if not most or len(others) <= limit:
        return list(statements), 0.0
    drawn = np.random.default_rng(seed).choice(others, limit, replace=False)
    kept = np.sort(np.concatenate([np.flatnonzero(labels == 1), drawn]))
    return [statements[row] for row in kept], math.log(limit / len(others))
