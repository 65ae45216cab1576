"""Bootstrap intervals of means and paired tests of differences; the same seed gives the same
values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

RESAMPLES = 10_000  # the number of bootstrap samples, and of random assignments of signs
SURE = 0.05  # the p-value below which a gain counts as significant
# The largest number of non-zero differences for which the test tries every assignment of signs.
_EXACT = 13
_AT_ONCE = 4_000_000
"""The number of random numbers drawn together.

It bounds the memory; changing it would change the draws.
"""
Values = NDArray[np.float64]


class Interval(msgspec.Struct, frozen=True):
    """A mean and its 95 % bootstrap interval."""

    mean: float
    low: float
    high: float

    def __iter__(self) -> Iterator[float]:
        """Yield the mean and the two ends."""
        return iter((self.mean, self.low, self.high))


class PairedTest(msgspec.Struct, frozen=True):
    """The tests of the difference (second minus first) between two runs' values, query by query.

    ``effect`` is Cohen's d (mean over standard deviation); it and ``p_t`` are ``None`` if the
    differences do not vary.
    """

    difference: Interval
    p_randomisation: float
    p_t: float | None
    effect: float | None
    wins: int
    ties: int
    losses: int

    @property
    def sure(self) -> bool:
        """Whether the second run is significantly better than the first."""
        return self.difference.mean > 0 and self.p_randomisation < SURE

    def evidence(self, beside: str = "") -> str:
        """Return the difference in words; ``beside`` is a phrase after the mean that says what it
        is compared with.
        """
        change = self.difference
        interval = f"95 % interval {change.low:+.4f} to {change.high:+.4f}"
        return (
            f"{change.mean:+.4f}{beside} ({interval}, randomisation test p = "
            f"{self.p_randomisation:.4f})"
        )

    def verdict(self, measure: str) -> str:
        """Return a sentence on whether the second run is better than the first, with the
        evidence.
        """
        return f"{'' if self.sure else 'no '}better than before: {measure} {self.evidence()}"


def intervals(values: Values, seed: int) -> list[Interval]:
    """Return mean and interval of each column of ``values``, shape (queries, columns); resample
    columns together.
    """
    queries = len(values)
    random = np.random.default_rng((seed, 1))
    means = []
    for size in _chunks(RESAMPLES, queries):
        drawn = random.integers(0, queries, (size, queries))
        drawn += np.arange(size)[:, None] * queries
        counts = np.bincount(drawn.ravel(), minlength=size * queries).reshape(size, queries)
        means.append(_product(counts.astype(np.float64), values) / queries)
    low, high = np.percentile(np.concatenate(means), (2.5, 97.5), axis=0)
    return [Interval(*map(float, row)) for row in zip(values.mean(axis=0), low, high, strict=True)]


def compare_pairs(first: Values, second: Values, seed: int) -> PairedTest:
    """Compare two runs on the same queries: randomisation test, t-test, effect size, wins, ties and
    losses.
    """
    differences = second - first
    changed = differences[np.abs(differences) > 1e-12]
    deviation = float(differences.std(ddof=1)) if len(differences) > 1 else 0.0
    p_t = None
    if varies := deviation > 1e-12:
        from scipy.stats import ttest_1samp

        p_t = float(ttest_1samp(differences, 0.0).pvalue)
    return PairedTest(
        difference=intervals(differences[:, None], seed)[0],
        p_randomisation=_randomisation(changed, seed),
        p_t=p_t,
        effect=float(differences.mean()) / deviation if varies else None,
        wins=int((changed > 0).sum()),
        ties=len(differences) - len(changed),
        losses=int((changed < 0).sum()),
    )


def holm(values: Sequence[float | None]) -> list[float | None]:
    """Correct p-values for their number by Holm's method; undefined p-values stay undefined and do
    not count.
    """
    defined = sorted((p, at) for at, p in enumerate(values) if p is not None)
    corrected: list[float | None] = [None] * len(values)
    least = 0.0
    for done, (p, at) in enumerate(defined):
        least = max(least, min(1.0, p * (len(defined) - done)))
        corrected[at] = least
    return corrected


Correction = Literal["holm", "bonferroni", "bh", "none"]
CORRECTIONS: Mapping[Correction, str] = MappingProxyType(
    {
        "holm": "Holm",
        "bonferroni": "Bonferroni",
        "bh": "Benjamini-Hochberg",
        "none": "uncorrected",
    }
)
"""The corrections of p-values for the number of tests, with their names for people."""


def correct(values: Sequence[float | None], correction: Correction) -> list[float | None]:
    """Correct p-values for their number; undefined p-values stay undefined and do not count.

    ``bh`` controls the rate of false discoveries (Benjamini and Hochberg, 1995), the others the
    probability of a single one.
    """
    if correction == "none":
        return list(values)
    if correction == "holm":
        return holm(values)
    defined = sorted(((p, at) for at, p in enumerate(values) if p is not None), reverse=True)
    number = len(defined)
    corrected: list[float | None] = [None] * len(values)
    least = 1.0
    for done, (p, at) in enumerate(defined):
        if correction == "bonferroni":
            corrected[at] = min(1.0, p * number)
        else:
            # From the largest p-value down, so that a smaller one never gets a larger result.
            least = min(least, p * number / (number - done))
            corrected[at] = least
    return corrected


def _randomisation(changed: Values, seed: int) -> float:
    """Return the share of sign assignments whose absolute sum is at least the observed absolute
    sum.

    Assignments for many differences are random and include the observed one, so that the share is
    never 0.
    """
    if not len(changed):
        return 1.0
    observed = abs(float(changed.sum())) - 1e-9 * float(np.abs(changed).sum())
    if len(changed) <= _EXACT:
        numbers = np.arange(2 ** len(changed))[:, None]
        signs = 1.0 - 2.0 * (numbers >> np.arange(len(changed)) & 1).astype(np.float64)
        return float((np.abs(_product(signs, changed[:, None])) >= observed).mean())
    random = np.random.default_rng((seed, 2))
    larger = 0
    for size in _chunks(RESAMPLES, len(changed)):
        signs = 1.0 - 2.0 * random.integers(0, 2, (size, len(changed)), dtype=np.int8).astype(
            np.float64
        )
        larger += int((np.abs(_product(signs, changed[:, None])) >= observed).sum())
    return (larger + 1) / (RESAMPLES + 1)


def _product(left: Values, right: Values) -> Values:
    """Multiply matrices without BLAS, whose sums depend on the number of threads."""
    product: Values = np.einsum("ij,jk->ik", left, right, optimize=False)
    return product


def _chunks(total: int, width: int) -> Iterator[int]:
    size = max(1, _AT_ONCE // max(width, 1))
    while total > 0:
        yield min(size, total)
        total -= size
