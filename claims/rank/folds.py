"""Cross-validation that does not flatter: what nearly says the same, or stands in one debate, stays together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from claims.rank.duplicates import groups
from retrieval.domain import Statement


def folds(statements: Sequence[Statement], number: int, seed: int) -> NDArray[np.int64]:
    """Return the fold of each statement, 0 to ``number`` - 1, each with about the same share worth checking.

    Sentences of a debate, which name a speaker, stay together with it; tweets with those that nearly say the same.
    With fewer groups than folds, there are as many folds as groups.
    """
    from sklearn.model_selection import StratifiedGroupKFold

    together = _debates(statements) if any(one.speaker for one in statements) else groups(statements)
    labels = np.array([one.label for one in statements])
    number = max(2, min(number, len(set(together.tolist())), *np.bincount(labels, minlength=2).tolist()))
    splitter = StratifiedGroupKFold(number, shuffle=True, random_state=seed)
    found = np.zeros(len(statements), dtype=np.int64)
    for fold, (_, tested) in enumerate(splitter.split(labels, labels, together)):
        found[tested] = fold
    return found


def _debates(statements: Sequence[Statement]) -> NDArray[np.int64]:
    numbers = {name: number for number, name in enumerate(dict.fromkeys(one.topic for one in statements))}
    return np.array([numbers[one.topic] for one in statements])


def average_precision(labels: NDArray[np.int64], scores: NDArray[np.float64]) -> float:
    """Return the average precision of a ranking; equal scores stay in their order, nothing to find is 0."""
    found = labels[np.argsort(-scores, kind="stable")].astype(bool)
    ranks = np.flatnonzero(found) + 1
    return float(np.mean(np.arange(1, len(ranks) + 1) / ranks)) if len(ranks) else 0.0
