"""The benchmark: its quality is the score of the same run, its reports hold together, its times are
of real searches.
"""

# A message that is told exactly stands on one line.

import json
from pathlib import Path

import pytest

from factseek.eval.files.answers import ScoreOptions
from factseek.eval.run.batch import JudgedFiles
from factseek.eval.run.judge import score_files as score
from factseek.indexer.build import BuildRequest, build
from factseek.retrieval import retrievers, stages
from factseek.settings import Config
from tests.conftest import overriding
from tests.small_models import small_cross_encoder


@pytest.fixture(scope="module")
def example(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("example") / "snippets-en"
    build(
        BuildRequest(kind="snippets", sources=(root / "examples/snippets-en.tsv",), folder=folder),
        Config(),
    )
    return folder


@pytest.fixture(scope="module")
def files(root: Path) -> JudgedFiles:
    return JudgedFiles(
        task="trec", queries=root / "examples/queries-en.tsv", qrels=root / "examples/qrels-en.txt"
    )


@pytest.fixture
def usual(example, files):
    return ["--index", example, "--queries", files.queries, "--qrels", files.qrels]


def test_the_command_writes_its_reports(usual, command, tmp_path) -> None:
    folder = tmp_path / "new" / "reports"
    given = [*usual, "--output", folder]
    code, said, notes = command(
        "bench", *given, "--timed", 2, "--retrievers", "dense,bm25", "--measures", "RR@10,AP"
    )
    assert code == 0
    # After any progress.
    assert notes.splitlines()[-1] == f"{folder}: bench.json, bench.md, bench.png, bench.html"
    assert said == (folder / "bench.md").read_text("utf-8")
    report = json.loads((folder / "bench.json").read_text("utf-8"))
    assert list(report["retrievers"]) == ["bm25", "dense"]
    assert list(report["quality"]["means"]) == ["RR@10", "AP"]
    assert report["machine"]["cores"] >= 1
    assert sorted(path.name for path in folder.iterdir()) == [
        "bench.html",
        "bench.json",
        "bench.md",
        "bench.png",
    ]


BAD = [
    (
        ["--retrievers", "colbert"],
        (
            f"unknown retriever 'colbert'; the retrievers are {', '.join(retrievers.names())}, "
            "dense:NAME, impact:NAME"
        ),
    ),
    (
        ["--retrievers", "bm25+rerank"],
        (
            "rerank needs a model; set rerank.model to a CrossEncoder of sentence-transformers "
            "on this machine"
        ),
    ),
    (
        ["--retrievers", "bm25+colbert"],
        f"unknown stage 'colbert'; the stages are {', '.join(stages.names())}",
    ),
    (
        ["--output", "{folder}/file"],
        "{folder}/file: is not a folder; --output names the folder that gets the reports",
    ),
]


@pytest.mark.parametrize(("arguments", "message"), BAD)
def test_bad_input(arguments, message, usual, command, tmp_path) -> None:
    (tmp_path / "file").write_text("")
    more = [part.format(folder=tmp_path) for part in arguments]
    code, out, err = command("bench", *overriding([*usual, "--output", tmp_path / "out"], more))
    assert (code, out) == (2, "")
    assert err == f"factseek: {message.format(folder=tmp_path)}\n"


@pytest.mark.deep
@pytest.mark.real
def test_the_quality_of_a_re_ranked_search_is_that_of_its_run(
    usual, files, command, tmp_path
) -> None:
    model = small_cross_encoder()
    config = tmp_path / "config.yaml"
    config.write_text(
        json.dumps({"rerank": {"model": str(model), "cache": str(tmp_path / "cache"), "depth": 8}})
    )
    asked = [
        "--retrievers",
        "bm25,bm25+rerank",
        "--measures",
        "nDCG@10",
        "--timed",
        "12",
        "--config",
        config,
    ]
    code, _, err = command("bench", *usual, *asked, "--output", tmp_path / "out")
    assert code == 0, err
    means = json.loads((tmp_path / "out/bench.json").read_text())["quality"]["means"]["nDCG@10"]
    for name, stages_ in [("bm25", []), ("bm25+rerank", ["--stage", "rerank"])]:
        run = tmp_path / f"{name}.txt"
        arguments = [
            "--index",
            usual[1],
            "--queries",
            files.queries,
            "--output",
            run,
            "--config",
            config,
            *stages_,
        ]
        code, _, err = command("run", "trec", *arguments, "--retriever", "bm25")
        assert code == 0, err
        scores = score("trec", [files.qrels], [run], ScoreOptions())
        assert means[name]["mean"] == pytest.approx(scores.values["nDCG@10"], abs=1e-12)
