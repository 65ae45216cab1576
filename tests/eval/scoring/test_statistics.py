"""Intervals, tests and bounds of figures."""

import random
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from factseek.eval.scoring.measures import evaluate
from factseek.eval.scoring.ranking import Bounds
from factseek.eval.scoring.ranking import tie_bounds as bounds
from factseek.eval.scoring.ranking import tie_note as note
from factseek.eval.scoring.statistics import compare_pairs, holm, intervals


def drawn(queries: int, seed: int = 0):
    random = np.random.default_rng(seed)
    first = random.random(queries)
    return first, np.clip(first + random.normal(0.05, 0.2, queries), 0, 1)


def test_interval_agrees_with_scipys_bootstrap():
    first, _ = drawn(300)
    found = intervals(first[:, None], 0)[0]
    theirs = stats.bootstrap(
        (first,), np.mean, method="percentile", n_resamples=9_999, rng=1
    ).confidence_interval
    assert found.mean == pytest.approx(first.mean())
    assert found.low == pytest.approx(theirs.low, abs=0.003)
    assert found.high == pytest.approx(theirs.high, abs=0.003)


def test_randomisation_agrees_with_scipys_permutation_test():
    first, second = drawn(60)
    theirs = stats.permutation_test(
        (first, second),
        lambda a, b: np.mean(b - a),
        permutation_type="samples",
        n_resamples=50_000,
        rng=1,
    )
    assert compare_pairs(first, second, 0).p_randomisation == pytest.approx(theirs.pvalue, abs=0.01)


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=9))
def test_randomisation_is_exact_for_few_differences(differences):
    values = np.array(differences) / 4
    totals = [
        abs(sum(sign * value for sign, value in zip(signs, values, strict=True)))
        for signs in product((1, -1), repeat=len(values))
    ]
    exact = np.mean([total >= abs(values.sum()) - 1e-9 for total in totals])
    assert compare_pairs(np.zeros(len(values)), values, 0).p_randomisation == pytest.approx(exact)


def test_t_test_and_effect_size_are_those_of_scipy_and_of_the_definition():
    first, second = drawn(80)
    found = compare_pairs(first, second, 0)
    assert found.p_t == pytest.approx(stats.ttest_rel(second, first).pvalue)
    differences = second - first
    assert found.effect == pytest.approx(differences.mean() / differences.std(ddof=1))
    assert (found.wins, found.ties, found.losses) == (sum(differences > 0), 0, sum(differences < 0))


def test_holms_correction():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, None, 0.9]) == [1.0, None, 1.0]
    assert holm([]) == []


documents = st.lists(st.tuples(st.integers(0, 3), st.integers(-1, 2)), min_size=1, max_size=12)


MEASURES = [
    "AP",
    "AP@2",
    "P@3",
    "nDCG",
    "nDCG@5",
    "RR",
    "RR@2",
    "R@2",
    "Rprec",
    "Success@2",
    "AP(rel=2)",
    "P(rel=2)@2",
]


@given(st.lists(documents, min_size=1, max_size=3), st.lists(documents, max_size=3))
def test_no_order_leaves_the_bounds(drawn, unranked):
    qrels = {
        str(q): {f"d{n}": grade for n, (_, grade) in enumerate(docs)}
        for q, docs in enumerate(drawn)
    }
    run = {
        str(q): {f"d{n}": float(score) for n, (score, _) in enumerate(docs)}
        for q, docs in enumerate(drawn)
    }
    for judged, others in zip(qrels.values(), unranked, strict=False):
        judged.update({f"u{n}": grade for n, (_, grade) in enumerate(others)})
    figures = evaluate(qrels, run, MEASURES)
    found = bounds(qrels, run, figures)
    means = figures.means()
    for seed in range(4):
        shuffled = {}
        for qid, docs in run.items():
            names = random.Random(seed).sample(sorted(docs), len(docs))
            order = sorted(names, key=lambda name: docs[name])
            shuffled[qid] = {name: float(at) for at, name in enumerate(order)}
        for measure, value in evaluate(qrels, shuffled, MEASURES).means().items():
            low, high, _ = found.get(measure, (means[measure], means[measure], 0))
            assert low - 1e-12 <= value <= high + 1e-12, measure


@given(st.lists(documents, min_size=1, max_size=3))
def test_the_bounds_are_reached(drawn):
    qrels = {
        str(q): {f"d{n}": grade for n, (_, grade) in enumerate(docs)}
        for q, docs in enumerate(drawn)
    }
    run = {
        str(q): {f"d{n}": float(score) for n, (score, _) in enumerate(docs)}
        for q, docs in enumerate(drawn)
    }
    figures = evaluate(qrels, run, MEASURES)
    found = bounds(qrels, run, figures)
    for sign, side in ((1, "low"), (-1, "high")):
        extreme = {}
        for qid, docs in run.items():
            order = sorted(docs, key=lambda name: (-docs[name], sign * max(qrels[qid][name], 0)))
            extreme[qid] = {name: -float(at) for at, name in enumerate(order)}
        means = evaluate(qrels, extreme, MEASURES).means()
        assert {name: getattr(bound, side) for name, bound in found.items()} == pytest.approx(
            {name: means[name] for name in found}, abs=1e-12
        )


def bounds_of(qrels, run, measure):
    return bounds(qrels, run, evaluate(qrels, run, [measure])).get(measure)


def test_equal_scores_are_ties_and_those_of_the_same_float32_are_none():
    assert bounds_of({"q": {"a": 1, "b": 0}}, {"q": {"a": 1.0, "b": 1.0 + 1e-9}}, "AP") is None
    found = bounds_of({"q": {"a": 1, "b": 0}}, {"q": {"a": 1.0, "b": 1.0}}, "AP")
    assert found == (0.5, 1.0, 1)
    assert note("AP", 0.5, found, "query") == (
        "ties decide: AP is 0.5000 with equal scores in trec_eval's order (docid descending), "
        "between 0.5000 and 1.0000 in other orders (1 query with such ties)",
    )
    # The range of the other orders is the same in the digits that a table shows.
    assert note("AP", 0.5, Bounds(0.50001, 0.50004, 1), "query") == ()
