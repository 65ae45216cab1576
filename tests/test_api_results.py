"""Tuning, benchmarks, scores and checks from Python: the same as the command line's, as JSON, as a
DataFrame and as a table in a notebook.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import factseek
from factseek import Hit, QueryError, Searcher, commands

QUERIES = {
    "q1": "measles vaccine",
    "q2": "vitamin C prevents colds",
    "q3": "sea level",
    "q4": "vaccines and autism",
    "q5": "measles deaths of children",
}


@pytest.fixture(scope="module")
def index(examples: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Searcher]:
    folder = tmp_path_factory.mktemp("results") / "index"
    factseek.build("snippets", [examples / "snippets-en.tsv"], folder, dense=False)
    with factseek.open_index(folder) as opened:
        yield opened


@pytest.fixture(scope="module")
def qrels(index: Searcher) -> dict[str, dict[str, int]]:
    judged: dict[str, dict[str, int]] = {}
    for qid, hits in factseek.run(index, QUERIES, k=3).items():
        assert hits
        judged[qid] = {hit.docid: int(at < 2) for at, hit in enumerate(hits)}
    return judged


def test_a_tuning_is_the_commands(
    index: Searcher,
    qrels: dict[str, dict[str, int]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    tuning = factseek.tune(index, QUERIES, qrels, "nDCG@10", folds=2, seed=3)
    queries, judged = tmp_path / "q.tsv", tmp_path / "qrels.txt"
    queries.write_text("".join(f"{qid}\t{text}\n" for qid, text in QUERIES.items()), "utf-8")
    judged.write_text(
        "".join(
            f"{qid} 0 {docid} {grade}\n"
            for qid, of_query in qrels.items()
            for docid, grade in of_query.items()
        ),
        "utf-8",
    )
    command = ["tune", "--index", str(index.info.place), "--queries", str(queries)]
    command += ["--qrels", str(judged), "--output", str(tmp_path / "tuned.yaml"), "--json"]
    command += ["--measure", "nDCG@10", "--folds", "2", "--seed", "3"]
    assert commands.main(command) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(json.dumps(tuning.as_json()))
    assert tuning.to_frame().iloc[0]["nDCG@10"] == tuning.best_mean
    assert "cross-validated" in tuning._repr_html_()


def test_a_benchmark_compares_retrievers(index: Searcher, qrels: dict[str, dict[str, int]]) -> None:
    bench = factseek.bench(index, QUERIES, qrels, measures=["AP", "P@1"], timed=5)
    frame = bench.to_frame()
    assert list(frame.columns) == ["AP", "P@1"]
    assert frame.loc["bm25", "P@1"] == 1.0
    assert "<table" in bench._repr_html_()
    assert bench.as_json()["quality"]["queries"] == len(QUERIES)


def test_queries_without_judgements_are_refused(index: Searcher) -> None:
    with pytest.raises(QueryError, match="no query in common with the judgements"):
        factseek.tune(index, QUERIES, {"other": {"d": 1}})


def test_a_score_and_a_check_are_the_commands(
    index: Searcher, qrels: dict[str, dict[str, int]], tmp_path: Path
) -> None:
    run = factseek.run(index, QUERIES, k=5)
    factseek.write_run(run, tmp_path / "run.txt", "tag")
    gold = tmp_path / "gold.txt"
    gold.write_text(
        "".join(
            f"{qid} 0 {docid} {grade}\n"
            for qid, of_query in qrels.items()
            for docid, grade in of_query.items()
        ),
        "utf-8",
    )
    scores = factseek.score("trec", gold, tmp_path / "run.txt", ["AP", "ERR@10"])
    expected = factseek.evaluate(run, qrels, ["AP", "ERR@10"]).means()
    assert dict(scores.values) == expected
    assert scores.as_json()["AP"] == expected["AP"]
    assert scores.to_frame().loc["AP", "value"] == expected["AP"]
    report = factseek.check("trec", tmp_path / "run.txt")
    assert report.errors == 0
    (tmp_path / "bad.txt").write_text("q0 Q0 <b> 1 high tag\n", "utf-8")
    faults = factseek.check("trec", tmp_path / "bad.txt")
    assert list(faults.to_frame()["severity"])[:1] == ["error"]
    assert "&#x27;high&#x27;" in faults._repr_html_()


def test_a_table_in_a_notebook_is_escaped_and_loads_nothing() -> None:
    run = {"1": [Hit("a", 1.0)]}
    comparison = factseek.compare({"<script>x": run, "b": run}, {"1": {"a": 1}}, ["AP"])
    shown = comparison._repr_html_()
    assert "&lt;script&gt;x" in shown
    assert "<script" not in shown
    assert "src=" not in shown
    assert comparison.to_frame().loc["b", "AP"] == 1.0
    figures = factseek.evaluate(run, {"1": {"a": 1}}, ["AP"])
    assert figures.to_frame().loc["1", "AP"] == 1.0
    assert figures.as_json() == {"means": {"AP": 1.0}, "per_query": {"1": {"AP": 1.0}}}
    assert "<td" in figures._repr_html_()
