"""The settings with which a re-ranker is trained in a benchmark, and the table of those that were tried."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import training_rerankers
from benchmarks.training_rerankers import RerankerSetting, needed, tried

FIRST = RerankerSetting("first", "all-MiniLM-L6-v2", ("--epochs", 1), from_documents=True)
SECOND = RerankerSetting("second", "first", ("--epochs", 2))


@pytest.fixture(autouse=True)
def settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training_rerankers, "TRIED", (SECOND, FIRST))


def test_a_base_is_trained_first(tmp_path: Path) -> None:
    assert needed(SECOND) == [FIRST, SECOND]
    data, index = tmp_path / "data", tmp_path / "index"
    first, second = ([str(part) for part in one.arguments(data, index, tmp_path)] for one in (FIRST, SECOND))
    assert first[:6] == ["train", "reranker", "--index", str(index), "--from-documents", "--base"]
    assert "--qrels" in second
    assert second[second.index("--base") + 1] == "first"
    (tmp_path / "first").mkdir()
    assert str(tmp_path / "first") in [str(part) for part in SECOND.arguments(data, index, tmp_path)]


def test_the_models_that_are_there_are_a_table(tmp_path: Path) -> None:
    (tmp_path / "second").mkdir()
    figures = {"before": {"mean": 0.75}, "after": {"mean": 0.76}}
    test = {"difference": {"mean": 0.01, "low": -0.01, "high": 0.03}}
    facts = {"beside": {"rerank.weight": 0.2}, "queries": {"learned": 559}, "figures": {**figures, "test": test}}
    (tmp_path / "second" / "training.json").write_text(json.dumps(facts), "utf-8")
    last = tried(tmp_path).strip().splitlines()[-1]
    cells = [cell.strip() for cell in last.strip("|").split("|")]
    assert cells == [
        "second", "`--base first --epochs 2`", "0.2", "559", "0.750", "0.760", "+0.010 (-0.010 to +0.030)"
    ]  # fmt: skip
