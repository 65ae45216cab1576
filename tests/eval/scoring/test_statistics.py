"""Intervals and paired tests against scipy and enumeration."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from factseek.eval.scoring.statistics import holm, intervals, paired


def drawn(queries: int, seed: int = 0):
    random = np.random.default_rng(seed)
    first = random.random(queries)
    return first, np.clip(first + random.normal(0.05, 0.2, queries), 0, 1)


def test_interval_agrees_with_scipys_bootstrap():
    first, _ = drawn(300)
    found = intervals(first[:, None], 0)[0]
    theirs = stats.bootstrap((first,), np.mean, method="percentile", n_resamples=9_999, rng=1).confidence_interval
    assert found.mean == pytest.approx(first.mean())
    assert found.low == pytest.approx(theirs.low, abs=0.003)
    assert found.high == pytest.approx(theirs.high, abs=0.003)


def test_interval_of_constant_values_is_the_value():
    assert intervals(np.full((40, 1), 0.25), 3)[0] == (0.25, 0.25, 0.25)


def test_randomisation_agrees_with_scipys_permutation_test():
    first, second = drawn(60)
    theirs = stats.permutation_test(
        (first, second), lambda a, b: np.mean(b - a), permutation_type="samples", n_resamples=50_000, rng=1
    )
    assert paired(first, second, 0).p_randomisation == pytest.approx(theirs.pvalue, abs=0.01)


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=9))
def test_randomisation_is_exact_for_few_differences(differences):
    values = np.array(differences) / 4
    totals = [
        abs(sum(sign * value for sign, value in zip(signs, values, strict=True)))
        for signs in product((1, -1), repeat=len(values))
    ]
    exact = np.mean([total >= abs(values.sum()) - 1e-9 for total in totals])
    assert paired(np.zeros(len(values)), values, 0).p_randomisation == pytest.approx(exact)


def test_t_test_and_effect_size_are_those_of_scipy_and_of_the_definition():
    first, second = drawn(80)
    found = paired(first, second, 0)
    assert found.p_t == pytest.approx(stats.ttest_rel(second, first).pvalue)
    differences = second - first
    assert found.effect == pytest.approx(differences.mean() / differences.std(ddof=1))
    assert (found.wins, found.ties, found.losses) == (sum(differences > 0), 0, sum(differences < 0))


def test_equal_runs_do_not_differ():
    first, _ = drawn(50)
    found = paired(first, first.copy(), 0)
    assert found == ((0.0, 0.0, 0.0), 1.0, None, None, 0, 50, 0)


def test_the_seed_decides_and_nothing_else():
    first, second = drawn(200)
    assert paired(first, second, 7) == paired(first, second, 7)
    assert intervals(np.stack([first, second], 1), 7) == intervals(np.stack([first, second], 1), 7)
    assert paired(first, second, 7).difference != paired(first, second, 8).difference


def test_holms_correction():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, None, 0.9]) == [1.0, None, 1.0]
    assert holm([]) == []
