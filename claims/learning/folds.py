"""Cross-validation without leaks: near-duplicates, and statements of one debate, stay in the same
fold.

Training uses only a sample of the statements not worth checking, because more of them would teach
nothing new. A stack combines the scores of several members by weights learned from held-out scores,
and calibrates the sum.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.domain import Statement
from ...core.errors import SourceError
from ..text.surface import decode_time
from ..text.words import groups

_LEAST = 2  # the minimum number of statements of each class, so that some can be held out


def check_enough(statements: Sequence[Statement], language: str) -> None:
    """Raise SourceError if a language has too few statements of a class to hold some out."""
    positives = sum(bool(statement.label) for statement in statements)
    if min(positives, len(statements) - positives) < _LEAST:
        raise SourceError(
            f"language {language!r}: {positives} of {len(statements)} training statements are "
            "worth checking",
            remedy=f"give at least {_LEAST} that are worth checking and as many that are not",
        )


def folds(statements: Sequence[Statement], number: int, seed: int) -> NDArray[np.int64]:
    """Return the fold of each statement, 0 to ``number`` - 1, with about the same share worth
    checking in each.

    Debates, whose sentences name a speaker, stay together; so do topics of tweets or, if they are
    too few, near-duplicates. With too few statements of a class, there are fewer folds; with too
    few groups, none stay together.
    """
    from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

    numbers_of = {
        name: at
        for at, name in enumerate(dict.fromkeys(statement.topic for statement in statements))
    }
    topics = np.array([numbers_of[statement.topic] for statement in statements])
    spoken = any(statement.speaker for statement in statements)
    together = topics if spoken or len(set(topics.tolist())) >= number else groups(statements)
    labels = np.array([statement.label for statement in statements])
    number = max(2, min(number, *np.bincount(labels, minlength=2).tolist()))
    options = {"shuffle": True, "random_state": seed}
    numbers = np.zeros(len(labels), dtype=np.int64)
    if len(set(together.tolist())) >= number:
        for fold, (_, tested) in enumerate(
            StratifiedGroupKFold(number, **options).split(labels, labels, together)
        ):
            numbers[tested] = fold
        if all(len(set(labels[numbers != fold].tolist())) == 2 for fold in range(number)):
            return numbers
    for fold, (_, tested) in enumerate(StratifiedKFold(number, **options).split(labels, labels)):
        numbers[tested] = fold
    return numbers


def forwards(statements: Sequence[Statement], number: int) -> NDArray[np.int64]:
    """Return the block of each statement in the order of time, 0 to ``number`` - 1; -1 if its time
    is unknown.
    """
    moments = np.array([decode_time(statement) for statement in statements])
    blocks = np.full(len(statements), -1, dtype=np.int64)
    dated = np.flatnonzero(~np.isnan(moments))
    order = dated[np.argsort(moments[dated], kind="stable")]
    blocks[order] = np.arange(len(order)) * number // max(len(order), 1)
    return blocks


def average_precision(labels: NDArray[np.int64], scores: NDArray[np.float64]) -> float:
    """Return the average precision of a ranking; equal scores keep their order.

    Without a positive it is 0.
    """
    positive = labels[np.argsort(-scores, kind="stable")].astype(bool)
    ranks = np.flatnonzero(positive) + 1
    return float(np.mean(np.arange(1, len(ranks) + 1) / ranks)) if len(ranks) else 0.0


def sample_statements(
    statements: Sequence[Statement], most: int, seed: int
) -> tuple[list[Statement], float]:
    """Drop statements not worth checking until there are at most ``most`` for each worth checking;
    0 keeps all.

    Add the second value to log-odds learned from the sample; the sum corrects for the sampling.
    """
    labels = np.array([statement.label for statement in statements])
    others = np.flatnonzero(labels == 0)
    limit = most * int((labels == 1).sum())
    if not most or len(others) <= limit:
        return list(statements), 0.0
    drawn = np.random.default_rng(seed).choice(others, limit, replace=False)
    kept = np.sort(np.concatenate([np.flatnonzero(labels == 1), drawn]))
    return [statements[row] for row in kept], math.log(limit / len(others))


_FREEDOM = 3.0
"""The weight of the mean loss against the penalty on large weights; values from 0.3 to 10 work
about equally well.
"""
Scores = Mapping[str, NDArray[np.float64]]  # the scores of each member, one for each statement


class Stack(NamedTuple):
    """A weight for each member's score, and a bias; the weighted sum is the log-odds of being worth
    checking.
    """

    weights: dict[str, float]
    bias: float

    def score(self, scores: Scores) -> NDArray[np.float64]:
        """Return the log-odds of each statement."""
        return np.asarray(
            sum(weight * scores[name] for name, weight in self.weights.items()) + self.bias
        )


def learn_stack(scores: Scores, labels: NDArray[np.int64]) -> Stack:
    """Return the weights of members, by logistic regression on scores of statements that they did
    not learn from.

    The weights are kept small, so that each depends mainly on how well its member predicts the
    labels, not on how similar members differ. A slope and a bias turn the sum into log-odds. A
    member with a negative weight is left out. If none has a positive weight, or the sum does not
    predict the labels, the one member has weight 0.
    """
    from sklearn.linear_model import LogisticRegression

    names = list(scores)
    while True:
        columns, scale = _standardise(np.stack([scores[name] for name in names], axis=1))
        machine = LogisticRegression(
            C=_FREEDOM / len(labels), class_weight="balanced", max_iter=1000
        )
        weights = machine.fit(columns, labels).coef_[0] / scale
        kept = [name for name, weight in zip(names, weights, strict=True) if weight > 0]
        if not kept:
            return _constant_stack(names[0], labels)
        if len(kept) == len(names):
            break
        names = kept
    of_name = dict(zip(names, map(float, weights), strict=True))
    summed = Stack(of_name, 0.0).score(scores)
    column, scale = _standardise(summed[:, None])
    machine = LogisticRegression(C=1.0, max_iter=1000).fit(column, labels)
    slope = float(machine.coef_[0, 0] / scale[0])
    if slope <= 0:
        return _constant_stack(names[0], labels)
    bias = float(machine.intercept_[0]) - slope * float(summed.mean())
    return Stack({name: slope * weight for name, weight in of_name.items()}, bias)


def _constant_stack(name: str, labels: NDArray[np.int64]) -> Stack:
    """Return the stack that gives every statement the log-odds of the mean label."""
    share = float(labels.mean())
    return Stack({name: 0.0}, math.log(share / (1 - share)))


def _standardise(columns: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return columns of mean 0 and spread 1, and the divisor of each; a constant column becomes
    0.
    """
    scale = columns.std(axis=0)
    scale[scale == 0] = 1
    return (columns - columns.mean(axis=0)) / scale, scale


def stacked_precision(
    scores: Scores, labels: NDArray[np.int64], of_folds: NDArray[np.int64]
) -> float:
    """Return the average precision of a stack whose weights for each fold were learned from the
    other folds.
    """
    stacked = np.zeros(len(labels))
    for fold in sorted(set(of_folds.tolist())):
        tested = of_folds == fold
        stack = learn_stack(
            {name: values[~tested] for name, values in scores.items()}, labels[~tested]
        )
        stacked[tested] = stack.score({name: values[tested] for name, values in scores.items()})
    return average_precision(labels, stacked)


def _without_each(
    scores: Scores, labels: NDArray[np.int64], of_folds: NDArray[np.int64]
) -> dict[str, float]:
    return {
        left: stacked_precision(
            {name: scores[name] for name in scores if name != left}, labels, of_folds
        )
        for left in scores
    }


def chosen_members(
    scores: Scores, labels: NDArray[np.int64], of_folds: NDArray[np.int64]
) -> list[str]:
    """Return the members that help: remove one at a time as long as the cross-validated AP does not
    fall.
    """
    kept, best = dict(scores), stacked_precision(scores, labels, of_folds)
    while len(kept) > 1:
        without = _without_each(kept, labels, of_folds)
        worst = max(without, key=lambda name: without[name])
        if without[worst] < best:
            break
        best = without[worst]
        del kept[worst]
    return list(kept)


def ablation(
    scores: Scores, kept: Sequence[str], labels: NDArray[np.int64], of_folds: NDArray[np.int64]
) -> dict[str, Any]:
    """Return the cross-validated average precision of each member alone, of the kept ones, and
    without each of them.
    """
    together = {name: scores[name] for name in kept}
    return {
        "AP": stacked_precision(together, labels, of_folds),
        "members": list(kept),
        "alone": {name: average_precision(labels, values) for name, values in scores.items()},
        "without": _without_each(together, labels, of_folds) if len(kept) > 1 else {},
    }
