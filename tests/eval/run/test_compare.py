"""Comparisons of runs: what they say, that they are the same for a seed, and that the page stands alone."""

from __future__ import annotations

import json
from html.parser import HTMLParser

import numpy as np
import pytest

from factseek.eval.run.compare import as_html, compare
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


def test_the_same_seed_gives_the_same_bytes():
    qrels, runs = tables()
    pages = {as_html(compare(qrels, runs, MEASURES, seed=3)) for _ in range(2)}
    texts = {json.dumps(compare(qrels, runs, MEASURES, seed=3).as_json()) for _ in range(2)}
    assert len(pages) == len(texts) == 1
    assert as_html(compare(qrels, runs, MEASURES, seed=4)) not in pages


class Links(HTMLParser):
    """Collect what a page would load, and its open elements."""

    def __init__(self):
        super().__init__()
        self.loads = []
        self.names = []

    def handle_starttag(self, tag, attrs):
        self.names.append(tag)
        for name, value in attrs:
            if name in ("src", "href", "xlink:href", "action") and value and not value.startswith("#"):
                self.loads.append(value)


def test_the_page_opens_without_a_network_and_escapes_names():
    qrels, runs = tables()
    page = as_html(compare(qrels, runs, MEASURES, seed=0, notes=("a <note>",)))
    links = Links()
    links.feed(page)
    assert links.loads == []
    assert links.names.count("svg") == 1
    assert "@import" not in page and "url(http" not in page
    assert "b" not in links.names and "note" not in links.names
    assert "&lt;b&gt;&amp;" in page and "a &lt;note&gt;" in page
