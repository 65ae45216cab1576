"""Cross-validation of verdicts: every claim is judged by a model that saw neither it nor a near-duplicate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..settings import VerdictSettings
from .models import Cases, kind


class Split(NamedTuple):
    """Claims by their classes, counted among ``labels``, and the rows of each fold; no folds if there are too few."""

    labels: tuple[str, ...]
    classes: NDArray[np.int64]
    parts: list[NDArray[np.int64]]


def split(labels: Sequence[str], classes: NDArray[np.int64], groups: Sequence[int], settings: VerdictSettings) -> Split:
    """Return claims in folds that keep groups whole and have about the same share of each class.

    As many as the settings say, fewer if a class has fewer groups; none if one has less than two.
    """
    from sklearn.model_selection import StratifiedGroupKFold

    of_group = np.asarray(groups)
    least = min(len(set(of_group[classes == number])) for number in set(classes.tolist()))
    number = min(settings.folds, least)
    if number < 2:
        return Split(tuple(labels), classes, [])
    splitter = StratifiedGroupKFold(number, shuffle=True, random_state=settings.seed)
    parts = [rows for _, rows in splitter.split(np.zeros(len(classes)), classes, of_group)]
    whole = set(classes.tolist())
    learnable = all(set(np.delete(classes, rows).tolist()) == whole for rows in parts)
    return Split(tuple(labels), classes, parts if learnable else [])


def out_of_fold(
    name: str, split: Split, settings: VerdictSettings, train: Cases, test: Cases | None = None
) -> NDArray[np.float64]:
    """Return the probabilities, shape (claims, classes), that models trained on the other folds give each claim.

    ``test`` is for claims that have other evidence when they are judged than when they are learned from.
    """
    probabilities = np.empty((len(split.classes), len(split.labels)))
    for rows in split.parts:
        others = np.setdiff1d(np.arange(len(split.classes)), rows)
        model = kind(name).fit(train.subset(others), split.classes[others], split.labels, settings)
        probabilities[rows] = model.probabilities((test or train).subset(rows))
    return probabilities
