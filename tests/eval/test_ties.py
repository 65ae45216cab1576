"""No order of equal scores leaves the bounds."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from eval.measures import evaluate
from eval.ties import bounds, note

documents = st.lists(st.tuples(st.integers(0, 3), st.integers(-1, 2)), min_size=1, max_size=12)


@given(st.lists(documents, min_size=1, max_size=3), st.sampled_from(["AP", "P@3", "nDCG@5", "RR", "R@2", "Rprec"]))
def test_no_order_leaves_the_bounds(drawn, measure):
    qrels = {str(q): {f"d{n}": grade for n, (_, grade) in enumerate(docs)} for q, docs in enumerate(drawn)}
    run = {str(q): {f"d{n}": float(score) for n, (score, _) in enumerate(docs)} for q, docs in enumerate(drawn)}
    figures = evaluate(qrels, run, [measure])
    found = bounds(qrels, run, figures)
    value = figures.means()[measure]
    low, high = (found.low, found.high) if found else (value, value)
    for seed in range(4):
        shuffled = {}
        for qid, docs in run.items():
            names = random.Random(seed).sample(sorted(docs), len(docs))
            order = sorted(names, key=lambda name: docs[name])
            shuffled[qid] = {name: float(at) for at, name in enumerate(order)}
        assert low - 1e-12 <= evaluate(qrels, shuffled, [measure]).means()[measure] <= high + 1e-12


def bounds_of(qrels, run, measure):
    return bounds(qrels, run, evaluate(qrels, run, [measure]))


def test_scores_equal_as_float32_are_ties():
    found = bounds_of({"q": {"a": 1, "b": 0}}, {"q": {"a": 1.0, "b": 1.0 + 1e-9}}, "AP")
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
