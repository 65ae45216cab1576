"""The promises of every ranker, each trained for real on the bundled tweets."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from factseek.claims.checkworthiness.rankers import kind, names
from factseek.claims.checkworthiness.ranking import explain, without
from factseek.claims.checkworthiness.training import TrainedRanker, load
from factseek.claims.checkworthiness.training import train as learn
from factseek.claims.settings import Config
from factseek.retrieval.domain import Statement
from factseek.retrieval.errors import QueryError
from factseek.retrieval.progress import silent
from factseek.retrieval.records import model_file
from tests.conftest import ROOT

EXAMPLE = ROOT / "examples" / "checkworthy-en-train.tsv"


@pytest.fixture(scope="module")
def learned(train: list[Statement], config: Config) -> dict[str, TrainedRanker]:
    """Every ranker, trained once."""
    return {name: learn("ct2021-1a", name, [(EXAMPLE, train)], config, silent) for name in names()}


@pytest.fixture(params=names())
def one(request: pytest.FixtureRequest, learned: dict[str, TrainedRanker]) -> TrainedRanker:
    return learned[request.param]


def test_there_are_the_rankers_that_the_configuration_names() -> None:
    assert names() == ["best", "multilingual", "ngram", "random"]
    with pytest.raises(QueryError, match="unknown model 'upv'; there are best, multilingual, ngram, random"):
        kind("upv")


def test_scores_are_finite_one_each(one: TrainedRanker, dev: list[Statement]) -> None:
    scores = one.ranker.score(dev)
    assert scores.shape == (len(dev),)
    assert scores.dtype == np.float64
    assert np.isfinite(scores).all()
    assert one.ranker.score([]).shape == (0,)


def test_a_probability_rises_with_the_score(one: TrainedRanker) -> None:
    scores = np.linspace(-1, 1, 21)
    found = one.ranker.probability(scores)
    if found is not None:
        assert ((found > 0) & (found < 1)).all()
        assert (np.diff(found) != 0).all()
        # Two epochs on 42 tweets may rank them the wrong way round, and calibration says so.
        assert one.manifest.model == "multilingual" or (np.diff(found) > 0).all()


def test_what_was_saved_scores_the_same(
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


def test_a_statement_scores_the_same_in_any_company(one: TrainedRanker, dev: list[Statement]) -> None:
    if one.manifest.model == "random":
        pytest.skip("chance counts the statements")
    together = one.ranker.score(dev)
    alone = [float(one.ranker.score([statement])[0]) for statement in dev]
    assert together.tolist() == alone


def test_it_learned_something(one: TrainedRanker, train: list[Statement]) -> None:
    if one.manifest.model in ("random", "multilingual"):
        pytest.skip("chance, and two epochs on 42 tweets, teach nothing")
    scores = one.ranker.score(train)
    worth = np.array([bool(statement.label) for statement in train])
    assert scores[worth].mean() > scores[~worth].mean()


def test_explanations_are_the_words_that_change_the_score(one: TrainedRanker, dev: list[Statement]) -> None:
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


def test_no_word_that_is_left_out_weighs_more(learned: dict[str, TrainedRanker], dev: list[Statement]) -> None:
    ranker, statement = learned["best"].ranker, dev[0]
    named = explain(ranker, statement, 3)
    every = explain(ranker, statement, 100)
    assert every[:3] == named
    assert abs(every[3].weight) <= abs(named[2].weight)


def test_the_manifest_says_where_a_ranker_comes_from(one: TrainedRanker) -> None:
    source = one.manifest.sources[0]
    assert (source.name, source.statements, source.positives) == (EXAMPLE.name, 42, 24)
    assert len(source.sha256) == 64
    assert one.manifest.languages == ("en",)
    assert one.manifest.settings["seed"] == 0
    assert {"factseek", "numpy", "scikit-learn"} <= one.manifest.versions.keys()


@pytest.mark.deep
@pytest.mark.parametrize("name", names())
def test_the_same_seed_gives_the_same_file(name: str, tmp_path: Path) -> None:
    """Also in another process, with another hash seed."""
    settings = tmp_path / "config.yaml"
    settings.write_text(
        "claims:\n  best: {members: [lexical, signs], strengths: [1.0], trees: 10}\n"
        "  multilingual: {encoder: characters, epochs: 1, buckets: 256, dimension: 8}\n"
    )
    for seed in ("1", "2"):
        command = [sys.executable, "-m", "factseek", "rank", "ct2021-1a", "--model", name, "--train", str(EXAMPLE)]
        command += ["--save", str(tmp_path / seed), "--config", str(settings)]
        environment = {"PYTHONHASHSEED": seed, "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
        subprocess.run(command, check=True, capture_output=True, cwd=EXAMPLE.parent.parent, env=environment)
    assert (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes()
