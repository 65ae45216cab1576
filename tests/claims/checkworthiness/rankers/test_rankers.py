"""Every ranker: scores, explanations, and what it saves."""

import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from factseek.claims.checkworthiness.members import Moments
from factseek.claims.checkworthiness.members import kind as member_kind
from factseek.claims.checkworthiness.rankers import kind, names
from factseek.claims.checkworthiness.ranking import TrainedRanker, explain, load, without
from factseek.claims.checkworthiness.ranking import train as learn
from factseek.claims.settings import Config
from factseek.core.domain import Statement
from factseek.core.progress import silent
from factseek.core.records import model_file
from factseek.core.records.model_file import State
from tests.conftest import ROOT

EXAMPLE = ROOT / "examples" / "checkworthy-en-train.tsv"


@pytest.fixture(scope="module")
def learned(train: list[Statement], config: Config) -> dict[str, TrainedRanker]:
    return {name: learn("ct2021-1a", name, [(EXAMPLE, train)], config, silent) for name in names()}


@pytest.fixture(params=names())
def one(request: pytest.FixtureRequest, learned: dict[str, TrainedRanker]) -> TrainedRanker:
    return learned[request.param]


def test_what_was_saved_scores_alike(
    one: TrainedRanker, dev: list[Statement], config: Config, tmp_path: Path
) -> None:
    path = tmp_path / "model"
    model_file.save(path, one.manifest, one.ranker.state())
    loaded = load(path, "ct2021-1a", config)
    assert loaded.manifest == one.manifest
    expected = kind(one.manifest.model).restore(one.ranker.state(), config).score(dev)
    assert (loaded.ranker.score(dev) == expected).all()
    if one.manifest.model != "random":
        assert (one.ranker.score(dev) == expected).all()


def test_a_statement_scores_the_same_in_any_company(
    one: TrainedRanker, dev: list[Statement]
) -> None:
    if one.manifest.model == "random":
        pytest.skip("chance counts the statements")
    together = one.ranker.score(dev)
    alone = [float(one.ranker.score([statement])[0]) for statement in dev]
    assert together.tolist() == alone


def test_explanations_are_the_words_that_change_the_score(
    one: TrainedRanker, dev: list[Statement]
) -> None:
    statement = dev[0]
    weights = explain(one.ranker, statement, 5)
    if one.manifest.model == "random":
        assert weights == []
        return
    assert 0 < len(weights) <= 5
    whole = float(one.ranker.score([statement])[0])
    for word, weight in weights:
        rest = statement._replace(text=without(statement.text, word))
        assert weight == pytest.approx(whole - float(one.ranker.score([rest])[0]), abs=1e-12)
    sizes = [abs(weight) for _, weight in weights]
    assert sizes == sorted(sizes, reverse=True)


@pytest.mark.deep
@pytest.mark.parametrize("name", names())
def test_the_same_seed_gives_the_same_file(name: str, tmp_path: Path) -> None:
    settings = tmp_path / "config.yaml"
    settings.write_text(
        "claims:\n  best: {members: [lexical, signs], strengths: [1.0], trees: 10}\n"
        "  multilingual: {encoder: characters, epochs: 1, buckets: 256, dimension: 8}\n"
    )
    for seed in ("1", "2"):
        command = [
            sys.executable,
            "-m",
            "factseek",
            "rank",
            "ct2021-1a",
            "--model",
            name,
            "--train",
            str(EXAMPLE),
        ]
        command += ["--save", str(tmp_path / seed), "--config", str(settings)]
        environment = {"PYTHONHASHSEED": seed, "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
        subprocess.run(
            command, check=True, capture_output=True, cwd=EXAMPLE.parent.parent, env=environment
        )
    assert (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes()


def test_scores_are_those_of_the_organisers_pipeline(
    train: list[Statement], dev: list[Statement]
) -> None:
    ranker = kind("ngram").train(train, Config(), silent).ranker
    theirs = make_pipeline(TfidfVectorizer(), SVC(C=1, gamma=0.75, random_state=0))
    theirs.fit([one.text for one in train], [one.label for one in train])
    odd = [Statement("1", text) for text in ("", "?!", "ünïcödé Straße", "a b c")]
    asked = [*dev, *train, *odd]
    expected = theirs.decision_function([one.text for one in asked])
    assert ranker.score(asked) == pytest.approx(np.asarray(expected), abs=1e-9)


LEARNED = Moments(np.array([1.0, 2.0, 30.0, math.nan]), np.array([1, 1, 0, 0]), 1.0)
"""Two worth checking on the first days, another at the end of the month, one of unknown time."""


@given(st.lists(st.floats(0, 1e5) | st.just(math.nan), max_size=20))
def test_scores_are_finite_and_those_of_each_tweet_alone(moments: list[float]) -> None:
    together = LEARNED.score(np.array(moments))
    assert np.isfinite(together).all()
    assert together.tolist() == [float(LEARNED.score(np.array([one]))[0]) for one in moments]
    again = member_kind("days").restore(State({}, {}), LEARNED.state(), Config()).model
    assert again.score(np.array(moments)).tolist() == together.tolist()
