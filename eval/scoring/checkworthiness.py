"""The organisers' measures of one ranked list, for both check-worthiness tasks of CheckThat! 2021.

Unlike trec_eval, the official scorer keeps equal scores in the order of the file, and counts a
repeated id each time.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ...core.errors import QueryError
from ...core.records.lines import Faults, quote_value
from ..files.tables import finite, is_header
from .tables import figure

CUTOFFS = (1, 3, 5, 10, 20, 30, 50)
NAMES = ("AP", "RR", "Rprec", *(f"P@{k}" for k in CUTOFFS))

# The scores that the official checker accepts: no bare minus, no exponent, no point without
# decimals.
_SCORE = re.compile(r"[-+]?[0-9]*\.[0-9]+|[0-9]+")


class LabelledScore(NamedTuple):
    """One row of a submission with its gold label (0 or 1)."""

    name: str
    score: float
    label: int


def figures(items: Sequence[LabelledScore], positives: int) -> dict[str, float]:
    """Return the organisers' measures of rows in the order of their file; ``positives`` counts ids,
    not rows.
    """
    labels = [item.label for item in sorted(items, key=lambda item: item.score, reverse=True)]
    hits = [rank for rank, label in enumerate(labels, 1) if label]
    values = {
        "AP": sum(hit_count / rank for hit_count, rank in enumerate(hits, 1)) / positives
        if positives
        else 0.0,
        "RR": 1 / hits[0] if hits else 0.0,
        "Rprec": sum(labels[:positives]) / positives if positives else 0.0,
    }
    values.update({f"P@{k}": sum(labels[:k]) / k for k in CUTOFFS})
    return values


class Ties(NamedTuple):
    """The figures for other orders of equal scores: AP in trec_eval's order, and each measure at
    worst and at best.
    """

    trec: float
    worst: dict[str, float]
    best: dict[str, float]


def ties(items: Sequence[LabelledScore], positives: int) -> Ties | None:
    """Return the figures for other orders of equal scores; ``None`` if no tie can change
    anything.
    """
    if len({(item.score, item.label) for item in items}) == len({item.score for item in items}):
        return None
    by_name = sorted(items, key=lambda item: item.name, reverse=True)
    worst = sorted(items, key=lambda item: item.label)
    return Ties(
        figures(by_name, positives)["AP"],
        figures(worst, positives),
        figures(worst[::-1], positives),
    )


def tie_note(value: float, tied: Ties | None) -> tuple[str, ...]:
    """Return a note on how far equal scores can change AP; no note if ``tied`` is ``None``, or its
    values do not differ in the shown digits.
    """
    if tied is None:
        return ()
    low, high = figure(tied.worst["AP"]), figure(tied.best["AP"])
    if low == high:
        return ()
    return (
        f"ties decide: AP is {figure(value)} with equal scores in the order of the file, as in the "
        f"official scorer, {figure(tied.trec)} in trec_eval's order, between {low} and {high} in "
        "any order",
    )


def find_changed(
    worst: Mapping[str, float], best: Mapping[str, float]
) -> dict[str, tuple[float, float]]:
    """Return the bounds of the measures that another order of equal scores changes."""
    return {name: (worst[name], best[name]) for name in NAMES if worst[name] != best[name]}


def read_score(line: int, text: str, faults: Faults) -> float | None:
    """Return a score. A score that the official checker would not accept is an error."""
    value = finite(text)
    if value is None:
        header = "; a submission has no header" if is_header(line, text) else ""
        faults.error(line, f"score {quote_value(text)} is not a finite number{header}")
    elif not _SCORE.fullmatch(text):
        faults.error(
            line,
            f"score {quote_value(text)} is refused by the official checker: write {digits(value)}",
        )
    return value


def digits(value: float) -> str:
    """Return a score in the fewest digits that the official checker accepts; raise QueryError if it
    is not finite.
    """
    if not np.isfinite(value):
        raise QueryError(f"score {value} is not a finite number: it cannot be written")
    return np.format_float_positional(float(value), unique=True, trim="0")


def over_files(per_file: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """Return the mean of each measure over files, as the official scorer computes it."""
    return {
        name: sum(values[name] for values in per_file.values()) / len(per_file) for name in NAMES
    }
