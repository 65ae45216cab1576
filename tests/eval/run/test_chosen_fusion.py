"""What the fusion ``auto`` chose for each query: in a run's description and in explanations."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

import factseek

Command = Callable[..., tuple[int, str, str]]
ENGLISH = "The measles vaccine prevents the deaths of many children"
ARABIC = "اللقاح ضد الحصبة يمنع وفاة الكثير من الأطفال"
OWN = {"method": "minmax", "weight": {"bm25": 0.5, "dense": 0.5}}
FOREIGN = {"method": "zscore", "weight": {"bm25": 0.4, "dense": 0.6}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("chosen") / "index"
    texts = ("Vaccines prevented many deaths of measles", "The Nile is a long river")
    documents = [{"docid": str(at), "text": text} for at, text in enumerate(texts)]
    factseek.build("jsonl", documents, folder, language="en")
    return folder


def fused(
    command: Command, folder: Path, tmp_path: Path, texts: list[str], *more: object
) -> dict[str, Any]:
    queries, described = tmp_path / "queries.tsv", tmp_path / "described.yml"
    queries.write_text("".join(f"q{at}\t{text}\n" for at, text in enumerate(texts)), "utf-8")
    asked = ("--index", folder, "--output", tmp_path / "run.txt", "--ir-metadata", described)
    code, _, said = command("run", "trec", "--queries", queries, *asked, *more)
    assert code == 0, said
    last: dict[str, Any] = yaml.safe_load(described.read_text("utf-8"))["method"]["retrieval"][-1]
    return last


def test_the_description_of_a_run_names_the_fusion_of_each_query(
    command: Command, folder: Path, tmp_path: Path
) -> None:
    component = fused(command, folder, tmp_path, [ENGLISH, ARABIC, ENGLISH])
    assert component["method"] == "auto"
    assert component["chosen"] == [
        {**OWN, "queries": "all others"},
        {**FOREIGN, "queries": ["q1"]},
    ]


def test_one_fusion_for_all_queries_is_named_once(
    command: Command, folder: Path, tmp_path: Path
) -> None:
    component = fused(command, folder, tmp_path, [ARABIC, ARABIC])
    assert component["chosen"] == [{**FOREIGN, "queries": "all"}]


def test_a_fixed_fusion_chooses_nothing(command: Command, folder: Path, tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("search: {fusion: {kind: rrf, rrf_k: 60}}\n", "utf-8")
    component = fused(command, folder, tmp_path, [ENGLISH], "--config", config)
    assert (component["method"], component["rrf_k"]) == ("rrf", 60)
    assert "chosen" not in component


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (ENGLISH, "fused by minmax: the first 100 hits of each ranking, with the weights bm25 0.5"),
        (ARABIC, "fused by zscore: the first 100 hits of each ranking, with the weights bm25 0.4"),
    ],
)
def test_an_explanation_names_the_fusion_of_the_query(
    command: Command, folder: Path, text: str, line: str
) -> None:
    code, printed, _ = command("search", text, "--index", folder, "--explain")
    assert code == 0
    assert printed.startswith(line)
    code, printed, _ = command("search", text, "--index", folder, "--explain", "--json")
    assert json.loads(printed)["fusion"]["kind"] == line.split()[2].rstrip(":")


def test_an_explanation_of_reciprocal_ranks_has_their_constant(
    command: Command, folder: Path, tmp_path: Path
) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("search: {fusion: {kind: rrf, rrf_k: 60}}\n", "utf-8")
    code, printed, _ = command(
        "search", ENGLISH, "--index", folder, "--explain", "--config", config
    )
    assert code == 0
    assert printed.startswith("fused by rrf with rrf_k 60: the first 100 hits of each ranking")


def test_one_ranking_is_not_fused(command: Command, folder: Path) -> None:
    asked = ("search", ENGLISH, "--index", folder, "--explain", "--retriever", "bm25")
    code, printed, _ = command(*asked)
    assert code == 0
    assert printed.startswith("  1 ")
    assert "fusion" not in json.loads(command(*asked, "--json")[1])


def test_vectors_that_an_index_lacks_can_be_added(command: Command, folder: Path) -> None:
    code, _, said = command("search", ENGLISH, "--index", folder, "--retriever", "dense:other")
    assert code == 2
    assert said.endswith(
        "has no vectors:other: it supports hybrid, bm25 and dense, not dense:other; "
        "add it with factseek compact --add vectors:other --vectors FILE, or rebuild it with "
        "--encoder given twice\n"
    )


def test_a_run_makes_its_missing_folders(command: Command, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "queries.tsv").write_text(f"q\t{ENGLISH}\n", "utf-8")
    output = tmp_path / "a" / "b" / "run.txt"
    asked = ("--queries", tmp_path / "queries.tsv", "--index", folder, "--output", output)
    assert command("run", "trec", *asked)[0] == 0
    assert sorted(path.name for path in output.parent.iterdir()) == [
        "run.txt",
        "run.txt.meta.json",
    ]
