"""The benchmark: its quality is the score of the same run, its reports hold together, its times are of real searches."""

# A message that is told exactly stands on one line.
# ruff: noqa: E501

from __future__ import annotations

import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest

from factseek.eval.bench.bench import BenchRequest, as_html, as_markdown, bench, chosen, plot
from factseek.eval.bench.load import Load, measure
from factseek.eval.files.answers import ScoreOptions
from factseek.eval.run.judge import score_files as score
from factseek.eval.run.judged import JudgedFiles, read_judged
from factseek.eval.scoring.measures import evaluate
from factseek.eval.scoring.tables import html_table, markdown_table
from factseek.indexer.build import BuildRequest, build
from factseek.retrieval import stages
from factseek.retrieval.config import Config as RetrievalConfig
from factseek.retrieval.config import view
from factseek.retrieval.errors import MachineError, QueryError
from factseek.retrieval.search.index import Index
from factseek.retrieval.search.options import Search
from factseek.settings import Config
from tests.conftest import overriding
from tests.small_models import small_cross_encoder


@pytest.fixture(scope="module")
def example(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The English snippets of the bundled example, with vectors."""
    folder = tmp_path_factory.mktemp("example") / "snippets-en"
    build(BuildRequest(kind="snippets", sources=(root / "examples/snippets-en.tsv",), folder=folder), Config())
    return folder


@pytest.fixture(scope="module")
def files(root: Path) -> JudgedFiles:
    return JudgedFiles(task="trec", queries=root / "examples/queries-en.tsv", qrels=root / "examples/qrels-en.txt")


@pytest.fixture(scope="module")
def found(example, files):
    """A benchmark of all retrievers, small but real."""
    request = BenchRequest(
        name="snippets | en", retrievers=("bm25", "dense", "hybrid"), measures=("nDCG@10", "AP"), timed=12
    )
    with Index(example) as index:
        return bench(index, read_judged(files, index), request)


@pytest.fixture
def usual(example, files):
    """The options that name index, queries and judgements."""
    return ["--index", example, "--queries", files.queries, "--qrels", files.qrels]


@pytest.mark.real
@pytest.mark.parametrize("retriever", ["bm25", "dense", "hybrid"])
def test_quality_is_the_score_of_the_run(retriever, found, example, files, tmp_path) -> None:
    output = tmp_path / "run.txt"
    arguments = ["--queries", files.queries, "--index", example, "--output", output, "--retriever", retriever]
    subprocess.run([sys.executable, "-m", "factseek", "run", "trec", *map(str, arguments)], check=True)
    scores = score("trec", [files.qrels], [output], ScoreOptions())
    for measure_, by_run in found.quality.means.items():
        assert by_run[retriever].mean == pytest.approx(scores.values[measure_], abs=1e-12)


def test_times_are_ordered_and_encoding_is_a_share(found) -> None:
    for one in found.measured:
        assert [at.callers for at in one.timings.latencies] == [1, 8]
        for at in one.timings.latencies:
            assert 0 < at.p50 <= at.p95 <= at.p99
            assert at.per_second > 0
        assert one.timings.first_answer > 0
        assert 50 < one.timings.peak_megabytes < 4_000
        assert (one.timings.encoding > 0) == (one.retriever != "bm25")
        assert one.timings.encoding <= 1
        assert one.build_seconds > 0


def test_sizes_are_of_what_a_retriever_needs(example) -> None:
    with Index(example) as index:
        by_name = {name: index.footprint(name) for name in ("bm25", "dense", "hybrid")}
        segment = index.info.published.segments[0]
    on_disk = {path.relative_to(example): path.stat().st_size for path in example.rglob("*") if path.is_file()}
    there = {path: size for path, size in on_disk.items() if path.parts[0] == "segments"}
    unread = {"signatures.u64", "words.txt", "words.u64"}  # by any retriever
    whole = sum(size for path, size in there.items() if path.name not in unread)
    vectors = sum(size for path, size in on_disk.items() if path.name in ("vectors.f32", "chance.f32"))
    lucene = sum(size for path, size in on_disk.items() if "lucene" in path.parts)
    assert by_name["hybrid"].bytes == whole
    assert by_name["bm25"].bytes == whole - vectors
    assert by_name["dense"].bytes == whole - lucene
    assert by_name["bm25"].seconds == segment.text_seconds
    assert by_name["hybrid"].seconds == segment.text_seconds + segment.vector_seconds


class Links(HTMLParser):
    """Collect what a page would fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag, attrs) -> None:
        self.found += [value for name, value in attrs if name in ("src", "href", "srcset", "data")]


def test_the_page_opens_without_a_network_and_the_plot_is_a_picture(found) -> None:
    png = plot([found, found])
    assert png.startswith(b"\x89PNG\r\n")
    text = as_html(found, png)
    links = Links()
    links.feed(text)
    assert [link[:22] for link in links.found] == ["data:image/png;base64,"]
    assert "url(" not in text
    assert "@import" not in text


def test_the_tables_are_whole(found) -> None:
    tables = re.split(r"\n\n", as_markdown(found))
    assert len(tables) == 4
    for block in tables[:3]:
        assert len({line.count(" | ") for line in block.strip().splitlines()}) == 1
    assert tables[3].startswith("snippets | en: 38 documents in 38 passages, encoder all-MiniLM-L6-v2, int8; ")
    assert markdown_table(["a", "b"], [["x|y", "2"]]) == "| a | b |\n| --- | ---: |\n| x&#124;y | 2 |\n"
    assert "&lt;script&gt;" in html_table(["<script>"], [["1"]])


def test_the_command_writes_its_reports(usual, command, tmp_path) -> None:
    folder = tmp_path / "new" / "reports"
    given = [*usual, "--output", folder]
    code, said, notes = command("bench", *given, "--timed", 2, "--retrievers", "dense,bm25", "--measures", "RR@10,AP")
    assert code == 0
    assert notes.splitlines()[-1] == f"{folder}: bench.json, bench.md, bench.png, bench.html"  # after any progress
    assert said == (folder / "bench.md").read_text("utf-8")
    report = json.loads((folder / "bench.json").read_text("utf-8"))
    assert list(report["retrievers"]) == ["bm25", "dense"]
    assert list(report["quality"]["means"]) == ["RR@10", "AP"]
    assert report["machine"]["cores"] >= 1
    assert sorted(path.name for path in folder.iterdir()) == ["bench.html", "bench.json", "bench.md", "bench.png"]


def test_a_load_that_fails_is_said_in_one_line(tmp_path) -> None:
    folder = tmp_path / "none"
    load = Load(
        index=str(folder),
        config=view(Config(), RetrievalConfig),
        retriever="bm25",
        profile=None,
        asked=(),
        k=10,
        timed=1,
        callers=(1,),
    )
    assert msgspec.json.decode(msgspec.json.encode(load), type=Load) == load
    with pytest.raises(MachineError) as raised:
        measure(load)
    assert (
        str(raised.value)
        == f"measuring bm25 failed: {folder}: there is no index; build one with: factseek index KIND SOURCE --index {folder}"
    )


@pytest.mark.real
def test_stages_are_measured_after_their_retriever(example, files, tmp_path) -> None:
    with Index(example) as index:
        judged = read_judged(files, index)
        names = chosen("bm25+per_source=1,bm25", index)
        result = bench(index, judged, BenchRequest(name="example", retrievers=names, measures=("R@100",), timed=5))
        asked = [query.text for query in judged.asked]
        hits = index.search(asked, Search(k=100, retriever="bm25", stages=("per_source=1",), group=True))
    assert names == ("bm25", "bm25+per_source=1")
    run = {
        query.qid: {hit.docid: hit.score for hit in ranked} for query, ranked in zip(judged.asked, hits, strict=True)
    }
    expected = evaluate(judged.qrels, run, ["R@100"]).values[:, 0].mean()
    alone, staged = (measured.retriever for measured in result.measured)
    assert (alone, staged) == names
    means = result.quality.means["R@100"]
    assert means[staged].mean == pytest.approx(expected)
    assert means[staged].mean < means[alone].mean
    assert result.measured[0][2:] == result.measured[1][2:]


def test_retrievers_are_named_once_in_one_order(example) -> None:
    with Index(example) as index:
        assert chosen("hybrid, bm25,hybrid", index) == ("bm25", "hybrid")
        assert chosen(None, index) == ("bm25", "dense", "hybrid")
        with pytest.raises(QueryError, match=r"^unknown retriever 'best'; there are bm25, dense, hybrid$"):
            chosen("best,bm25", index)


BAD = [
    (["--timed", "0"], "--timed 0: give a number of searches, 1 or more"),
    (["--seed", "-1"], "--seed -1: give a number from 0"),
    (["--retrievers", ","], "--retrievers: names no retriever; there are bm25, dense, hybrid"),
    (["--retrievers", "colbert"], "unknown retriever 'colbert'; there are bm25, dense, hybrid"),
    (["--retrievers", "bm25+rerank"], "rerank needs a model; set rerank.model to a CrossEncoder of sentence-transformers on this machine"),
    (["--retrievers", "bm25+colbert"], f"unknown stage 'colbert'; there are {', '.join(stages.names())}"),
    (["--measures", ""], "no measure is named; for example AP,P@10,nDCG@10"),
    (["--output", "{folder}/file"], "{folder}/file: is a file; --output names the folder that gets the reports"),
    (["--output", "x.json"], "x.json: is a file; --output names the folder that gets the reports"),
    (["--index", "{folder}/none"], "{folder}/none: there is no index; build one with: factseek index KIND SOURCE --index {folder}/none"),
    (["--task", "ct2021-1a"], "ct2021-1a: is not a ranking task; the ranking tasks are ct2020-claims, ct2020-evidence, ct2025-4b, source-retrieval, trec"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "message"), BAD)
def test_bad_input(arguments, message, usual, command, tmp_path) -> None:
    (tmp_path / "file").write_text("")
    more = [part.format(folder=tmp_path) for part in arguments]
    code, out, err = command("bench", *overriding([*usual, "--output", tmp_path / "out"], more))
    assert (code, out) == (2, "")
    assert err == f"factseek: {message.format(folder=tmp_path)}\n"


@pytest.mark.real
def test_the_quality_of_a_re_ranked_search_is_that_of_its_run(usual, files, command, tmp_path) -> None:
    model = small_cross_encoder()
    config = tmp_path / "config.yaml"
    config.write_text(json.dumps({"rerank": {"model": str(model), "cache": str(tmp_path / "cache"), "depth": 8}}))
    asked = ["--retrievers", "bm25,bm25+rerank", "--measures", "nDCG@10", "--timed", "12", "--config", config]
    code, _, err = command("bench", *usual, *asked, "--output", tmp_path / "out")
    assert code == 0, err
    means = json.loads((tmp_path / "out/bench.json").read_text())["quality"]["means"]["nDCG@10"]
    for name, stages_ in [("bm25", []), ("bm25+rerank", ["--stage", "rerank"])]:
        run = tmp_path / f"{name}.txt"
        arguments = ["--index", usual[1], "--queries", files.queries, "--output", run, "--config", config, *stages_]
        code, _, err = command("run", "trec", *arguments, "--retriever", "bm25")
        assert code == 0, err
        scores = score("trec", [files.qrels], [run], ScoreOptions())
        assert means[name]["mean"] == pytest.approx(scores.values["nDCG@10"], abs=1e-12)
