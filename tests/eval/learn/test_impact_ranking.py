"""Learned sparse retrieval as one of the rankings that tuning and a learned combination use."""

from collections.abc import Callable
from pathlib import Path

import pytest

from factseek.eval.learn import grid
from tests.small_models import small_sparse_model

Command = Callable[..., tuple[int, str, str]]
WEIGHTS = "search: {fusion: {kind: minmax, weights: {bm25: 0.7, impact: 0.3}}}\n"


@pytest.fixture
def judged(command: Command, examples: Path, tmp_path: Path) -> list[object]:
    source, index = examples / "snippets-en.tsv", tmp_path / "index"
    built = command(
        "index", "snippets", source, "--index", index, "--no-dense", "--impacts",
        small_sparse_model(),
    )  # fmt: skip
    assert built[0] == 0
    settings = tmp_path / "weights.yaml"
    settings.write_text(WEIGHTS)
    queries, qrels = examples / "queries-en.tsv", examples / "qrels-en.txt"
    files = ["--queries", queries, "--qrels", qrels, "--folds", 2, "--sample", 8]
    return ["--index", index, "--config", settings, *files]


def test_tuning_tries_it_alone_and_fused(
    command: Command, judged: list[object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grid, "RRF_K", (10,))
    monkeypatch.setattr(grid, "DEPTHS", (100,))
    tried: list[grid.Setting] = []
    fusions = grid.fusions

    def noted(base: grid.Setting, alone: list[str]) -> list[grid.Setting]:
        tried.extend(fusions(base, alone))
        return list(fusions(base, alone))

    monkeypatch.setattr("factseek.eval.learn.tune.fusions", noted)
    code, _, said = command("tune", *judged, "--output", tmp_path / "tuned.yaml")
    assert (code, "impact" in said) == (0, False)
    assert {setting.retriever for setting in tried} == {"bm25", "hybrid", "impact"}
    assert all(set(setting.fusion.weights) == {"bm25", "impact"} for setting in tried)


def test_a_combination_reads_its_ranks_and_scores(
    command: Command, judged: list[object], tmp_path: Path
) -> None:
    model = tmp_path / "combined.model"
    assert command("train", "combiner", *judged, "--output", model)[0] == 0
    assert b"impact: reciprocal rank" in model.read_bytes()
    settings = tmp_path / "combined.yaml"
    settings.write_text(f"{WEIGHTS}combine: {{model: {model}}}\n")
    code, out, _ = command(
        "search",
        "measles vaccine",
        *judged[:2],
        "--config",
        settings,
        "--stage",
        "combine",
        "-k",
        1,
    )
    assert (code, "impact " in out) == (0, True)
