"""Queries that are documents themselves, as ArguAna's: BEIR leaves a query's own document out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from factseek.commands import main
from factseek.indexer.build import BuildRequest, build
from factseek.settings import Config

NOTE = (
    "note: 2 queries find the document of the same id first, such as 'p1'; BEIR leaves it out: --ignore-identical-ids\n"
)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two arguments with what speaks against each, and each argument as a query; judged and indexed."""
    folder = tmp_path_factory.mktemp("arguments")
    texts = {"p1": "zoos save rare species", "c1": "zoos harm species", "p2": "exams are fair", "c2": "exams scare"}
    rows = [{"_id": docid, "text": text} for docid, text in texts.items()]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows if row["_id"][0] == "p"))
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\np1\tc1\t1\np2\tc2\t1\n")
    source = folder / "corpus.jsonl"
    build(BuildRequest(kind="beir", sources=(source,), folder=folder / "index", dense=False), Config())
    return folder


def run(place: Path, tmp_path: Path, *options: str) -> list[str]:
    output = tmp_path / "o.run"
    asked = ["--queries", str(place / "queries.jsonl"), "--index", str(place / "index"), "--output", str(output)]
    assert main(["run", "trec", *asked, *options]) == 0
    return [" ".join(line.split()[:3:2]) for line in output.read_text().splitlines()]


def scored(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], *options: str) -> tuple[float, str]:
    asked = ["--gold", str(place / "qrels.tsv"), "--run", str(tmp_path / "o.run"), "--measures", "nDCG@10", "--json"]
    capsys.readouterr()
    assert main(["score", "trec", *asked, *options]) == 0
    told = capsys.readouterr()
    return json.loads(told.out)["nDCG@10"], told.err


def test_a_run_and_a_score_leave_the_query_itself_out(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(place, tmp_path) == ["p1 p1", "p1 c1", "p2 p2", "p2 c2"]
    assert NOTE in capsys.readouterr().err
    value, said = scored(place, tmp_path, capsys)
    assert (round(value, 4), NOTE in said) == (0.6309, True)
    assert scored(place, tmp_path, capsys, "--ignore-identical-ids") == (1.0, "")
    assert run(place, tmp_path, "--ignore-identical-ids") == ["p1 c1", "p2 c2"]
    assert "same id" not in capsys.readouterr().err
    assert scored(place, tmp_path, capsys) == (1.0, "")


@pytest.mark.parametrize("options", [[], ["--ignore-identical-ids"]])
def test_bench_does_too(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str]) -> None:
    asked = ["--queries", str(place / "queries.jsonl"), "--qrels", str(place / "qrels.tsv")]
    asked += ["--index", str(place / "index"), "--output", str(tmp_path / "report"), "--timed", "1", "--json"]
    assert main(["bench", *asked, *options]) == 0
    told = capsys.readouterr()
    mean = json.loads(told.out)["quality"]["means"]["nDCG@10"]["bm25"]["mean"]
    assert (round(mean, 4), NOTE in told.err) == ((1.0, False) if options else (0.6309, True))


def test_a_document_that_is_judged_is_no_reason_for_a_note(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(place, tmp_path)
    gold = tmp_path / "qrels.tsv"
    gold.write_text("p1 0 p1 1\np2 0 p2 1\n")
    capsys.readouterr()
    assert main(["score", "trec", "--gold", str(gold), "--run", str(tmp_path / "o.run")]) == 0
    assert "same id" not in capsys.readouterr().err
