"""Comparisons of runs: what they say, that they are the same for a seed, and that the page stands alone."""

from __future__ import annotations

import numpy as np
import pytest

from factseek.eval.run.compare import compare
from factseek.eval.scoring.statistics import holm

pytestmark = pytest.mark.inner

MEASURES = ["AP", "P@3", "RR"]


def tables(queries=30, seed=0):
    random = np.random.default_rng(seed)
    qrels = {f"q{q}": {f"d{d}": int(random.random() < 0.3) for d in range(10)} | {"sure": 1} for q in range(queries)}
    base = {qid: {docid: float(random.random()) for docid in judged} for qid, judged in qrels.items()}
    better = {qid: {d: s + 0.3 * qrels[qid][d] for d, s in docs.items()} for qid, docs in base.items()}
    return qrels, {"base": base, "better": better, "<b>&": {qid: dict(docs) for qid, docs in base.items()}}


def test_every_pair_is_tested_on_every_measure_and_corrected_together():
    qrels, runs = tables()
    found = compare(qrels, runs, MEASURES, seed=0)
    assert [(p.measure, p.first, p.second) for p in found.pairs] == [
        (measure, *pair) for measure in MEASURES for pair in (("base", "better"), ("base", "<b>&"), ("better", "<b>&"))
    ]
    assert [p.holm_randomisation for p in found.pairs] == holm([p.test.p_randomisation for p in found.pairs])
    up, same = found.pairs[0].test, found.pairs[1].test
    assert up.wins > up.losses and up.p_randomisation < 0.01 and up.difference.low > 0
    assert (same.wins, same.losses, same.p_randomisation, same.p_t) == (0, 0, 1.0, None)
    means = found.means["AP"]
    assert means["base"] == means["<b>&"]
    assert up.difference.mean == pytest.approx(means["better"].mean - means["base"].mean)


def test_the_queries_that_moved_most_come_with_their_documents():
    qrels = {"q1": {"a": 1, "b": 0}, "q2": {"a": 1}, "q3": {"a": 2, "c": 1}}
    first = {"q1": {"b": 2.0, "a": 1.0}, "q2": {"a": 1.0}, "q3": {"x": 3.0, "y": 2.0, "a": 1.0}}
    second = {"q1": {"a": 2.0, "b": 1.0}, "q2": {"a": 1.0}, "q3": {"a": 2.0, "c": 1.0}}
    moved = compare(qrels, {"one": first, "two": second}, ["AP"], seed=0).moved
    assert [(one.qid, one.ranks) for one in moved] == [("q3", {"a": (3, 1), "c": (None, 2)}), ("q1", {"a": (2, 1)})]
    assert moved[0].values == pytest.approx((1 / 6, 1.0))
