"""Comparisons of runs: what they say, that they are the same for a seed, and that the page stands alone."""

from __future__ import annotations

import json
from html.parser import HTMLParser

import numpy as np
import pytest

from factseek.eval.run.compare import as_html, as_text, compare, read_runs
from factseek.eval.scoring.statistics import holm
from factseek.retrieval.errors import CheckFailed, QueryError
from factseek.retrieval.records.trec import read_qrels

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


def test_the_tables_say_what_was_done():
    qrels, runs = tables()
    text = as_text(compare(qrels, runs, MEASURES, seed=5))
    assert "30 queries; difference is second minus first; 10,000 resamples, seed 5; " in text
    assert "Holm's correction over all 9 tests of a kind" in text
    assert "most moved, by AP:" in text


@pytest.fixture
def files(tmp_path):
    (tmp_path / "a").mkdir()
    contents = {
        "qrels": "q1 0 d1 1\nq2 0 d2 1\n",
        "run.txt": "q1 Q0 d1 1 2 t\nq2 Q0 d1 1 2 t\n",
        "a/run.txt": "q1 Q0 d1 1 2 t\nq9 Q0 d1 1 2 t\n",
        "other": "Q1 Q0 d1 1 2 t\n",
        "bad": "q1 Q0 d1 1 nan t\n",
    }
    for name, content in contents.items():
        (tmp_path / name).write_text(content)
    return tmp_path


def test_a_run_for_other_queries_is_refused_not_compared():
    qrels = {"q1": {"d1": 1}}
    with pytest.raises(CheckFailed) as refused:
        compare(qrels, {"mine": {"q1": {"d1": 1.0}}, "theirs": {"x1": {"d1": 1.0}}}, ["AP"], seed=0)
    expected = "theirs: no query in common with the judgements: the judgements have 'q1', the run 'x1'"
    assert str(refused.value) == expected
    with pytest.raises(CheckFailed, match=r"the run is empty$"):
        compare(qrels, {"mine": {"q1": {"d1": 1.0}}, "theirs": {}}, ["AP"], seed=0)


def test_runs_are_named_by_their_file_or_path(files):
    qrels = read_qrels(files / "qrels")
    runs, notes = read_runs("trec", [files / "run.txt", files / "a/run.txt"], qrels)
    assert list(runs) == [str(files / "run.txt"), str(files / "a/run.txt")]
    assert notes == (f"{files / 'a/run.txt'}: not judged and left out: 1 of the run's 2, such as query 'q9'",)


@pytest.mark.parametrize(
    ("task", "names", "error", "message"),
    [
        ("trec", ["run.txt"], QueryError, "compare: give two runs or more"),
        ("trec", ["run.txt", "a/../run.txt"], QueryError, "compare: a run is given twice"),
        ("fever", ["run.txt", "bad"], QueryError, "fever: is not a ranking task: its submissions are not compared"),
        (
            "trec",
            ["run.txt", "bad"],
            CheckFailed,
            "bad:1: score 'nan' is not a finite number; and 1 more error; not scored",
        ),
        (
            "trec",
            ["run.txt", "other"],
            CheckFailed,
            "other: no query in common with the judgements: the judgements have 'q1', the run 'Q1'; "
            "'q1' and 'Q1' differ by case alone: ids are compared letter by letter",
        ),
    ],
)
def test_what_cannot_be_compared_is_said(files, task, names, error, message):
    with pytest.raises(error) as caught:
        read_runs(task, [files / name for name in names], read_qrels(files / "qrels"))
    assert caught.value.line.removeprefix(f"{files}/") == message
