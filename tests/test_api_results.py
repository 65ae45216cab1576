"""Tuning, benchmarks, scores and checks from Python: the same as the command line's, as JSON, as a
DataFrame and as a table in a notebook.
"""

from __future__ import annotations

import copy
import html
import json
import pickle
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd
import pytest

import factseek
from factseek import Hit, QueryError, Searcher, UserError, commands
from tests.small_models import small_cross_encoder, small_encoder

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
    queries, judged = _written(tmp_path, qrels)
    command = ["tune", "--index", str(index.info.place), "--queries", str(queries)]
    command += ["--qrels", str(judged), "--output", str(tmp_path / "tuned.yaml"), "--json"]
    command += ["--measure", "nDCG@10", "--folds", "2", "--seed", "3"]
    assert commands.main(command) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(json.dumps(tuning.as_json()))
    assert tuning.to_frame().iloc[0]["nDCG@10"] == tuning.best_mean
    assert "cross-validated" in tuning._repr_html_()
    table = tuning.as_latex()
    assert commands.main([*command[:-7], "--latex", *command[-6:]]) == 0
    assert capsys.readouterr().out == table
    assert table.count(r"\textbf{") >= 1
    assert (
        r"\caption{Means over 5 queries, of tuned settings by cross-validation; the best in bold; "
        r"† differs significantly from the default (paired randomisation test, 10,000 resamples, "
        r"p \textless{} 0.05; one test, so no correction). The default is kept" in table
    )


def test_a_benchmark_compares_retrievers(index: Searcher, qrels: dict[str, dict[str, int]]) -> None:
    bench = factseek.bench(index, QUERIES, qrels, measures=["AP", "P@1"], timed=5)
    frame = bench.to_frame()
    assert list(frame.columns) == ["AP", "P@1"]
    assert frame.loc["bm25", "P@1"] == 1.0
    assert "<table" in bench._repr_html_()
    assert r"\textbf{1.0000}" in bench.as_latex()
    assert bench.as_json()["quality"]["queries"] == len(QUERIES)


def test_queries_without_judgements_are_refused(index: Searcher) -> None:
    with pytest.raises(QueryError, match="no query in common with the judgements"):
        factseek.tune(index, QUERIES, {"other": {"d": 1}})


def test_a_score_and_a_check_are_the_commands(
    index: Searcher, qrels: dict[str, dict[str, int]], tmp_path: Path
) -> None:
    run = factseek.run(index, QUERIES, k=5)
    factseek.write_run(run, tmp_path / "run.txt", "tag")
    _, gold = _written(tmp_path, qrels)
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
    assert r"b\enspace b & \textbf{1.0000}" in comparison.as_latex()
    figures = factseek.evaluate(run, {"1": {"a": 1}}, ["AP"])
    assert figures.to_frame().loc["1", "AP"] == 1.0
    assert figures.as_json() == {
        "means": {"AP": 1.0},
        "per_query": {"1": {"AP": 1.0}},
        "programs": {"trec_eval": ["AP"]},
    }
    assert "<td" in figures._repr_html_()


def test_every_report_names_the_program_of_a_measure(
    index: Searcher, qrels: dict[str, dict[str, int]], tmp_path: Path
) -> None:
    note = "trec_eval computed AP; gdeval computed ERR@10"
    measures = ["AP", "ERR@10"]
    run = factseek.run(index, QUERIES, retriever="bm25", k=5)
    factseek.write_run(run, tmp_path / "run.txt", "tag")
    _, gold = _written(tmp_path, qrels)
    figures = factseek.evaluate(run, qrels, measures)
    comparison = factseek.compare({"a": run, "b": run}, qrels, measures)
    scores = factseek.score("trec", gold, tmp_path / "run.txt", measures)
    bench = factseek.bench(index, QUERIES, qrels, ["bm25"], measures, timed=1)
    for record in (figures, comparison, scores, bench):
        assert f"Note: {note}." in record._repr_html_()  # type: ignore[attr-defined]
    assert figures.as_json()["programs"] == {"trec_eval": ["AP"], "gdeval": ["ERR@10"]}
    for noted in (comparison.as_json(), scores.as_json(), bench.as_json()):
        assert note in noted["notes"]


def test_a_combination_is_the_commands(
    index: Searcher,
    qrels: dict[str, dict[str, int]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    trained = factseek.train_combiner(index, QUERIES, qrels, tmp_path / "a.model", "AP", folds=2)
    queries, judged = _written(tmp_path, qrels)
    command = ["train", "combiner", "--index", str(index.info.place), "--queries", str(queries)]
    command += ["--qrels", str(judged), "--output", str(tmp_path / "b.model"), "--json"]
    assert commands.main([*command, "--measure", "AP", "--folds", "2"]) == 0
    printed = json.loads(capsys.readouterr().out)
    shown = json.loads(json.dumps(trained.as_json()))
    names = [source["name"] for source in shown.pop("sources")]
    assert names == ["queries in memory", "judgements in memory"]
    assert [source["name"] for source in printed.pop("sources")] == ["q.tsv", "qrels.txt"]
    assert shown == printed
    assert list(trained.to_frame().columns) == ["AP", "low", "high"]
    assert trained.to_frame().loc["before", "AP"] == trained.rows["before"].mean
    page = trained._repr_html_()
    assert "cross-validated AP" in page
    assert "<script" not in page
    config = factseek.read_config(_config(tmp_path, f"combine: {{model: {tmp_path}/a.model}}"))
    with factseek.open_index(index.info.place, config) as opened:
        hits = opened.search("measles vaccine", factseek.Search(k=3, stages=("combine",)))
    assert all(hit.parts for hit in hits)


def test_a_combination_is_known_by_its_data(
    index: Searcher, qrels: dict[str, dict[str, int]], tmp_path: Path
) -> None:
    def checksums(queries: dict[str, str], name: str) -> list[str]:
        trained = factseek.train_combiner(index, queries, qrels, tmp_path / name, folds=2)
        return [source["sha256"] for source in trained.as_json()["sources"]]

    first = checksums(QUERIES, "1")
    assert checksums(QUERIES, "2") == first
    assert (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes()
    others = checksums({**QUERIES, "q3": "level of the sea"}, "3")
    assert others[0] != first[0]
    assert others[1] == first[1]


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"epochs": 0}, "epochs 0: give 1 or more"),
        ({"max_tokens": 4}, "max_tokens 4: give 8 or more"),
        ({"sample": 9}, "sample 9: give 10 or more"),
        ({"rate": 1.0}, "rate 1.0: give a number between 0 and 1"),
        ({"measure": "AP,RR"}, "measure AP,RR: give one measure"),
        (
            {"from_documents": True},
            "from_documents learns without judgements; give None as queries and qrels",
        ),
        (
            {"queries": None},
            "queries or qrels are None; give both, or from_documents=True",
        ),
        (
            {},
            "queries with a relevant document in the index: 5, but training needs 10: to learn "
            "from, to decide when to stop, and to measure the result",
        ),
    ],
)
def test_options_of_a_training_are_checked_first(
    index: Searcher,
    qrels: dict[str, dict[str, int]],
    tmp_path: Path,
    options: dict[str, Any],
    line: str,
) -> None:
    queries = options.pop("queries", QUERIES)
    for train in (factseek.train_encoder, factseek.train_reranker):
        with pytest.raises(QueryError) as raised:
            train(index, queries, qrels, tmp_path / "model", **options)
        assert raised.value.line == line
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", ["encoder", "reranker"])
def test_a_model_trained_from_python_has_figures(
    index: Searcher, root: Path, tmp_path: Path, kind: str
) -> None:
    queries = factseek.read_queries(root / "examples/queries-en.tsv")
    qrels = factseek.read_qrels(root / "examples/qrels-en.txt")
    train = factseek.train_encoder if kind == "encoder" else factseek.train_reranker
    base = str(small_encoder() if kind == "encoder" else small_cross_encoder())
    small: Any = {"base": base, "epochs": 1, "max_tokens": 16, "depth": 4, "negatives": 1}
    trained = train(index, queries, qrels, tmp_path / "model", "RR@5", looks=1, **small)
    card = json.loads((tmp_path / "model/training.json").read_text("utf-8"))
    assert trained.as_json() == card
    assert card["what"] == kind
    assert [source["name"] for source in card["sources"]] == [
        "queries in memory",
        "judgements in memory",
    ]
    assert trained.beside.keys() == ({"rerank.weight"} if kind == "reranker" else set())
    frame = trained.to_frame()
    assert list(frame.index) == ["before", "trained"]
    assert frame.loc["trained", "RR@5"] == card["figures"]["after"]["mean"]
    assert trained.verdict in trained._repr_html_()
    assert trained.text.strip() in (tmp_path / "model/README.md").read_text("utf-8")


def test_hits_in_a_notebook_have_passages_and_highlights(index: Searcher) -> None:
    hits = index.search("measles vaccine", k=2)
    page = hits._repr_html_()
    (best, *_) = index.evidence("measles vaccine", hits)
    assert best.title in page
    start, end = best.passage.highlights[0]
    assert f"<mark>{best.passage.text[start:end]}</mark>" in page
    assert f"<td>{best.docid}</td>" in page
    assert page.count("<tr>") == 3
    assert "<script" not in page
    assert "src=" not in page


def test_hits_in_a_notebook_are_escaped(tmp_path: Path) -> None:
    document = {
        "docid": "<b>1",
        "title": "<script>t",
        "text": "a <i>claim</i> & more",
        "source": "<u>",
    }
    factseek.build("jsonl", [document], tmp_path / "index", dense=False)
    with factseek.open_index(tmp_path / "index") as opened:
        hits = opened.search("claim")
        page = hits._repr_html_()
    assert "&lt;b&gt;1" in page
    assert "&lt;script&gt;t" in page
    assert "a &lt;i&gt;<mark>claim</mark>&lt;/i&gt; &amp; more" in page
    assert "&lt;u&gt;" in page
    with pytest.raises(factseek.IndexStateError, match="the index is closed"):
        hits._repr_html_()


def test_a_notebook_shows_the_first_hits_of_many(tmp_path: Path) -> None:
    documents = [{"docid": str(at), "text": f"claim {at}"} for at in range(23)]
    factseek.build("jsonl", documents, tmp_path / "index", dense=False)
    with factseek.open_index(tmp_path / "index") as opened:
        page = opened.search("claim", k=23)._repr_html_()
        few = opened.search("claim", k=20)._repr_html_()
    assert page.count("<tr>") == few.count("<tr>") == 21
    assert "<p>and 3 more</p>" in page
    assert "more" not in few


def test_a_notebook_shows_the_beginning_of_a_long_passage(tmp_path: Path) -> None:
    text = "claim " + "many words " * 60
    factseek.build("jsonl", [{"docid": "1", "text": text}], tmp_path / "index", dense=False)
    with factseek.open_index(tmp_path / "index") as opened:
        page = opened.search("claim")._repr_html_()
    (shown,) = re.findall(r"<td><mark>claim</mark>(.*?) …</td>", page)
    assert text.startswith(f"claim{shown} ")
    assert len(shown) > 480


def test_hits_are_a_list(index: Searcher) -> None:
    hits = index.search("measles vaccine", k=2)
    assert hits == index.search(["measles vaccine"], k=2)[0]
    for copied in (pickle.loads(pickle.dumps(hits)), copy.copy(hits), copy.deepcopy(hits)):
        assert type(copied) is list
        assert copied == hits
    assert msgspec.json.encode(hits) == msgspec.json.encode(list(hits))


def test_an_index_is_described_in_a_notebook(index: Searcher) -> None:
    page = index.info._repr_html_()
    assert "<td>retrievers</td>" in page
    for line in str(index.info).splitlines():
        assert html.escape(line[16:]) in page


LABELLED = """tweet_id\ttweet_text\tclaim_worthiness
1\tVaccines prevent millions of measles deaths a year\t1
2\tThe nile is 6650 kilometres long\t1
3\tGood morning everyone have a lovely day\t0
4\tI am so happy today\t0
5\tTrials found that vitamin c prevents no colds\t1
6\tWhat a lovely cake thank you\t0
"""


def test_claims_are_ranked_as_the_command_ranks_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    labelled, coming = tmp_path / "train.tsv", tmp_path / "new.tsv"
    labelled.write_text(LABELLED, "utf-8")
    texts = {"8": "A lovely <b>day</b>", "9": "Measles deaths are 6650 a year"}
    rows = [f"{qid}\t{text}\n" for qid, text in texts.items()]
    coming.write_text("tweet_id\ttweet_text\n" + "".join(rows), "utf-8")
    ranked = factseek.rank_claims(
        "ct2021-1a", coming, train=labelled, model="ngram", language="en", words=2
    )
    command = ["rank", "ct2021-1a", "--train", str(labelled), "--input", str(coming)]
    command += ["--model", "ngram", "--language", "en", "--words", "2", "--json"]
    assert commands.main(command) == 0
    printed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert ranked.as_json() == {"task": "ct2021-1a", "model": "ngram", "statements": printed}
    assert list(ranked.to_frame()["id"]) == [record["id"] for record in printed]
    assert "A lovely &lt;b&gt;day&lt;/b&gt;" in ranked._repr_html_()
    in_memory = factseek.rank_claims(
        "ct2021-1a", texts, train=[labelled], model="ngram", save=tmp_path / "m", language="en"
    )
    scores = [(record["id"], record["score"]) for record in printed]
    assert [(each.statement.qid, each.score) for each in in_memory.ranked] == scores
    frame = pd.DataFrame([{"tweet_id": 8, "tweet_text": texts["8"], "topic": "t"}])
    loaded = factseek.rank_claims("ct2021-1a", frame, load=tmp_path / "m", language="en")
    assert loaded.ranked[0].score == dict(scores)["8"]
    assert loaded.ranked[0].statement.topic == "t"


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({}, "give train with labelled files to learn from, or load with a saved model"),
        (
            {"load": "m", "train": "t"},
            "load excludes train, save and model; learn a ranker, or load one",
        ),
        ({"words": -1}, "words is -1; give 0 or more"),
        ({"model": "random", "task": "trec"}, "trec: is not a check-worthiness task; "),
        ({"model": "random", "statements": {}}, "there are no statements to rank"),
        ({"model": "random", "statements": {"7": " "}}, "statements: '7' has no text"),
    ],
)
def test_what_cannot_be_ranked_is_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: dict[str, Any],
    line: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("m").write_text("", "utf-8")
    Path("t").write_text("", "utf-8")
    asked: dict[str, Any] = {"task": "ct2021-1a", "statements": {"7": "a claim"}, **options}
    with pytest.raises(UserError) as raised:
        factseek.rank_claims(**asked, language="en")
    assert raised.value.line.startswith(line)


def _written(folder: Path, qrels: dict[str, dict[str, int]]) -> tuple[Path, Path]:
    """Write the queries and the judgements, and return their files."""
    queries, judged = folder / "q.tsv", folder / "qrels.txt"
    queries.write_text("".join(f"{qid}\t{text}\n" for qid, text in QUERIES.items()), "utf-8")
    lines = [
        f"{qid} 0 {docid} {grade}\n"
        for qid, of_query in qrels.items()
        for docid, grade in of_query.items()
    ]
    judged.write_text("".join(lines), "utf-8")
    return queries, judged


def _config(folder: Path, text: str) -> Path:
    path = folder / "config.yaml"
    path.write_text(text + "\n", "utf-8")
    return path
