"""No order of equal scores leaves the bounds."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factseek.eval.scoring.measures import evaluate
from factseek.eval.scoring.ties import bounds, note

documents = st.lists(st.tuples(st.integers(0, 3), st.integers(-1, 2)), min_size=1, max_size=12)


MEASURES = ["AP", "AP@2", "P@3", "nDCG", "nDCG@5", "RR", "RR@2", "R@2", "Rprec", "Success@2", "AP(rel=2)", "P(rel=2)@2"]


@given(st.lists(documents, min_size=1, max_size=3), st.lists(documents, max_size=3))
def test_no_order_leaves_the_bounds(drawn, unranked):
    qrels = {str(q): {f"d{n}": grade for n, (_, grade) in enumerate(docs)} for q, docs in enumerate(drawn)}
    run = {str(q): {f"d{n}": float(score) for n, (score, _) in enumerate(docs)} for q, docs in enumerate(drawn)}
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
    qrels = {str(q): {f"d{n}": grade for n, (_, grade) in enumerate(docs)} for q, docs in enumerate(drawn)}
    run = {str(q): {f"d{n}": float(score) for n, (score, _) in enumerate(docs)} for q, docs in enumerate(drawn)}
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
    assert note("AP", 0.5, found, "some order", "query") == (
        "ties decide: AP is 0.5000 with equal scores in some order, "
        "between 0.5000 and 1.0000 in other orders (1 query with such ties)",
    )


def test_ties_that_change_nothing_are_not_told():
    assert bounds_of({"q": {"a": 1, "b": 1}}, {"q": {"a": 1.0, "b": 1.0}}, "AP") is None
    assert bounds_of({"q": {"a": 1, "b": 0}}, {"q": {"a": 2.0, "b": 1.0, "c": 1.0}}, "AP") is None
    assert bounds_of({"q": {"a": 1}}, {"q": {f"d{n}": 1.0 for n in range(3)} | {"a": 5.0}}, "P@1") is None
    assert note("AP", 0.5, None, "some order", "query") == ()


def test_measures_that_look_at_more_than_relevance_are_not_bounded():
    qrels, run = {"q": {"a": 1, "b": 0}}, {"q": {"a": 1.0, "b": 1.0}}
    for measure in ("Bpref", "P(judged_only=True)@1", "infAP", "SetP"):
        assert bounds_of(qrels, run, measure) is None


def test_queries_in_many_batches_are_all_counted():
    qrels = {str(n): {"a": 1, "b": 0} for n in range(2_500)}
    run = {str(n): {"a": 1.0, "b": 1.0} for n in range(0, 2_500, 2)}
    assert bounds_of(qrels, run, "P@1") == (0.0, 0.5, 1_250)
