"""Training a combination: on the bundled example, from the files to the search that uses it; and what cannot be learned."""

# A message that is told exactly stands on one line.
# ruff: noqa: E501

from __future__ import annotations

import errno
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from factseek.eval.learn import combiner as training
from factseek.eval.learn.learners import Pool
from factseek.eval.learn.splits import grouped_folds
from factseek.retrieval.files import sha256
from factseek.retrieval.records import qrels
from factseek.retrieval.search.combiner import WeightedSum, load
from tests.conftest import overriding

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def asked(example: Path, examples: Path, tmp_path: Path) -> list[object]:
    judged = ["--queries", examples / "queries-en.tsv", "--qrels", examples / "qrels-en.txt"]
    return ["train", "combiner", "--index", example, *judged, "--output", tmp_path / "model", "--folds", "3"]


def test_what_was_trained_can_be_searched_with(
    asked: list[object], example: Path, examples: Path, tmp_path: Path, command: Command
) -> None:
    code, printed, said = command(*asked)
    assert code == 0
    model = tmp_path / "model"
    combiner = load(model)
    assert [source.sha256 for source in combiner.manifest.sources] == [
        sha256(examples / "queries-en.tsv"),
        sha256(examples / "qrels-en.txt"),
    ]
    rows = printed.splitlines()
    assert [row.split("  ")[0] for row in rows[1:5]] == ["before", "linear alone", "trees alone", "trained (both)"]
    assert rows[-1].startswith(
        ("better than before: cross-validated nDCG@10 +", "no better than before: cross-validated nDCG@10 ")
    )
    assert "relevant documents are not in the index: " in said
    (tmp_path / "config.yaml").write_text("combine: {model: model}\nsearch: {stages: [combine]}\n", "utf-8")
    code, printed, _ = command(
        "search",
        "the Nile is longer than the Amazon",
        "--index",
        example,
        "--json",
        "--config",
        tmp_path / "config.yaml",
    )
    assert code == 0
    hits = json.loads(printed)["hits"]
    assert [hit["score"] for hit in hits] == sorted((hit["score"] for hit in hits), reverse=True)
    assert all("combine" in hit["stages"] for hit in hits)


def test_the_same_seed_gives_the_same_bytes(asked: list[object], tmp_path: Path, command: Command) -> None:
    first = command(*asked, "--json")
    content = (tmp_path / "model").read_bytes()
    assert command(*asked, "--json")[:2] == first[:2]
    assert (tmp_path / "model").read_bytes() == content
    assert json.loads(first[1])["figures"]["test"]["wins"] >= 0


def test_what_is_remembered_of_a_query_does_not_teach_that_query() -> None:
    drawn = np.random.default_rng(0)
    qrels = {f"q{at}": {f"{at}-0": 1} for at in range(6)}
    pools = [
        Pool(
            qid=qid,
            docids=tuple(f"{at}-{place}" for place in range(5)),
            features=drawn.normal(size=(5, 3)),
            relevance=np.array([1, 0, 0, 0, 0]),
            terms=frozenset({f"term{at}"}),
        )
        for at, qid in enumerate(qrels)
    ]
    learned = training.learn(pools, qrels, training.CombinerRequest(files=(), remembers=True))["linear"]
    assert isinstance(learned.model, WeightedSum)
    assert learned.model.weights[:3].any()
    assert not learned.model.weights[3:].any()
    assert training.measured(pools, qrels, "AP", learned).shape == (6,)


def test_a_combination_remembers_on_demand(asked: list[object], tmp_path: Path, command: Command) -> None:
    code, printed, said = command(*asked, "--remember", "--json")
    assert code == 0
    manifest = json.loads(printed)
    assert manifest["remembers"]
    assert manifest["features"][-4:] == list(qrels.NAMES)
    assert "the figures may flatter" not in said
    assert load(tmp_path / "model").remembered is not None


def test_queries_that_share_a_relevant_document_stay_together() -> None:
    qrels = {
        "1": {"a": 1, "x": 0},
        "2": {"b": 1},
        "3": {"b": 2, "c": 1},
        "4": {"c": 1, "x": 0},
        "5": {"d": 1},
        "6": {"e": 0},
    }
    parts = grouped_folds(qrels, 3, seed=0)
    assert sorted(np.concatenate(parts.rows).tolist()) == list(range(6))
    assert parts.grouped
    (together,) = [part for part in parts.rows if 1 in part]
    assert {1, 2, 3} <= set(together.tolist())
    assert all(len(part) for part in parts.rows)


def test_queries_that_all_share_documents_are_parted_one_by_one() -> None:
    qrels = {str(at): {"same": 1} for at in range(9)}
    parts = grouped_folds(qrels, 3, seed=0)
    assert not parts.grouped
    assert [len(part) for part in parts.rows] == [3, 3, 3]


@pytest.mark.parametrize(
    "wrong",
    [
        ("1000000000000000101 0 EX-EN-01-0001-001 1\n", [], "--folds 3: give a number from 2 to that of the judged queries, 1"),
        ("1000000000000000101 0 gone-1 1\n1000000000000000102 0 EX-EN-01-0001-001 0\n1000000000000000103 0 gone-2 1\n", [], "no query has a relevant and a non-relevant document among its first 100 hits: there is nothing to learn from"),
        (None, ["--seed", "-1"], "--seed -1: give a number from 0"),
        (None, ["--sample", "1"], "--sample 1: give a number of queries, 2 or more"),
        (None, ["--measure", "AP,P@5"], "--measure AP,P@5: give one measure"),
    ],
)  # fmt: skip
def test_what_cannot_be_learned_is_told_in_one_line(
    asked: list[object], tmp_path: Path, command: Command, wrong: tuple[str | None, list[object], str]
) -> None:
    qrels, extra, message = wrong
    if qrels is not None:
        (tmp_path / "qrels").write_text(qrels, "utf-8")
        extra = ["--qrels", tmp_path / "qrels"]
    code, printed, said = command(*asked[:2], *overriding(asked[2:], extra))
    assert (code, printed) == (2, "")
    assert said.splitlines()[-1] == f"factseek: {message}"
    assert not (tmp_path / "model").exists()


def test_a_full_disk_leaves_nothing(
    asked: list[object], tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    code, printed, said = command(*asked)
    assert (code, printed) == (2, "")
    assert said.splitlines()[-1].startswith(f"factseek: {tmp_path}")
    assert "Traceback" not in said
    assert list(tmp_path.iterdir()) == []
