"""Training a combination of rankings."""

# A message that is told exactly stands on one line.

import json
from collections.abc import Callable
from pathlib import Path

import lightgbm
import numpy as np
import pytest

from factseek.core.files import sha256
from factseek.core.records.model_file import restore_trees
from factseek.eval.learn import combiner as training
from factseek.eval.learn.combiner import Pool, fit_trees
from factseek.eval.learn.examples import grouped_folds
from factseek.retrieval.search.combiner import CombinerModel, load
from tests.conftest import overriding

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def asked(example: Path, examples: Path, tmp_path: Path) -> list[object]:
    judged = ["--queries", examples / "queries-en.tsv", "--qrels", examples / "qrels-en.txt"]
    return [
        "train",
        "combiner",
        "--index",
        example,
        *judged,
        "--output",
        tmp_path / "model",
        "--folds",
        "3",
    ]


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
    assert [row.split("  ")[0] for row in rows[1:5]] == [
        "before",
        "linear alone",
        "trees alone",
        "trained (both)",
    ]
    assert rows[-1].startswith(
        (
            "better than before: cross-validated nDCG@10 +",
            "no better than before: cross-validated nDCG@10 ",
        )
    )
    assert "relevant documents are not in the index: " in said
    (tmp_path / "config.yaml").write_text(
        "combine: {model: model}\nsearch: {stages: [combine]}\n", "utf-8"
    )
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
    learned = training.learn(pools, qrels, training.CombinerRequest(remembers=True))["linear"]
    assert learned.model.trees is None
    assert learned.model.weights.weights[:3].any()
    assert not learned.model.weights.weights[3:].any()
    assert training.measure_model(pools, qrels, "AP", learned).shape == (6,)


def test_queries_that_share_a_relevant_document_stay_together() -> None:
    qrels = {
        "1": {"a": 1, "x": 0},
        "2": {"b": 1},
        "3": {"b": 2, "c": 1},
        "4": {"c": 1, "x": 0},
        "5": {"d": 1},
        "6": {"e": 0},
    }
    parts, grouped = grouped_folds(qrels, 3, seed=0)
    assert sorted(np.concatenate(parts).tolist()) == list(range(6))
    assert grouped
    (together,) = [part for part in parts if 1 in part]
    assert {1, 2, 3} <= set(together.tolist())
    assert all(len(part) for part in parts)


@pytest.mark.parametrize(
    "wrong",
    [
        (
            "1000000000000000101 0 EX-EN-01-0001-001 1\n",
            [],
            "--folds 3: give a number from 2 to 1, the number of judged queries",
        ),
        (
            (
                "1000000000000000101 0 gone-1 1\n1000000000000000102 0 EX-EN-01-0001-001 0\n"
                "1000000000000000103 0 gone-2 1\n"
            ),
            [],
            (
                "no query has a relevant and a non-relevant document among its first 100 hits: "
                "there is nothing to learn from"
            ),
        ),
        (None, ["--sample", "1"], "--sample 1: give a number of queries, 2 or more"),
        (None, ["--measure", "AP,P@5"], "--measure AP,P@5: give one measure"),
    ],
)
def test_what_cannot_be_learned_is_told_in_one_line(
    asked: list[object],
    tmp_path: Path,
    command: Command,
    wrong: tuple[str | None, list[object], str],
) -> None:
    qrels, extra, message = wrong
    if qrels is not None:
        (tmp_path / "qrels").write_text(qrels, "utf-8")
        extra = ["--qrels", tmp_path / "qrels"]
    code, printed, said = command(*asked[:2], *overriding(asked[2:], extra))
    assert (code, printed) == (2, "")
    assert said.splitlines()[-1] == f"factseek: {message}"
    assert not (tmp_path / "model").exists()


def pools_of(queries: int, seed: int = 0) -> list[Pool]:
    """Pools whose relevant documents have a high first feature and, less surely, a high second
    one.
    """
    drawn = np.random.default_rng(seed)
    made = []
    for at in range(queries):
        features = drawn.normal(size=(40, 4))
        worth = 2 * features[:, 0] + features[:, 1] + drawn.normal(0, 0.5, 40)
        relevance = (worth > np.sort(worth)[-4]).astype(np.int64) + (worth > np.sort(worth)[-2])
        made.append(
            Pool(
                qid=str(at),
                docids=tuple(map(str, range(40))),
                features=features,
                relevance=relevance,
            )
        )
    return made


@pytest.mark.inner
def test_scores_are_those_of_lightgbm(monkeypatch: pytest.MonkeyPatch) -> None:
    boosters = []
    train = lightgbm.train

    def trained(*arguments, **options):
        boosters.append(train(*arguments, **options))
        return boosters[-1]

    monkeypatch.setattr(lightgbm, "train", trained)
    model = fit_trees(pools_of(60), seed=3)
    asked = np.random.default_rng(1).normal(size=(500, 4))
    scores = model.leaves(asked).sum(axis=1)
    assert scores == pytest.approx(boosters[0].predict(asked), abs=1e-9)
    assert np.ptp(scores) > 1
    restored = restore_trees(CombinerModel(None, model).state(), 4)
    assert (restored.leaves(asked).sum(axis=1) == scores).all()
    assert (model.leaves(asked[7:9]).sum(axis=1) == scores[7:9]).all()
