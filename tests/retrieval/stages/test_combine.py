"""Combining rankings by what was learned from judged queries."""

import json
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import pytest
from msgspec.structs import replace

from factseek.core.domain import Hit, Part
from factseek.core.errors import SourceError
from factseek.core.records import model_file
from factseek.core.records.model_file import State, Trees
from factseek.indexer.build import BuildRequest, build
from factseek.indexer.settings import Config
from factseek.retrieval.config import JavaSettings
from factseek.retrieval.lucene.analysis import TermCache
from factseek.retrieval.lucene.jvm import start
from factseek.retrieval.search.combiner import (
    Combiner,
    CombinerManifest,
    CombinerModel,
    WeightedSum,
    load,
    matrix,
    names,
    save,
)
from factseek.retrieval.search.combiner import columns as features_of
from factseek.retrieval.search.index import Index
from factseek.retrieval.search.options import Search
from factseek.retrieval.stages.combine import CombineSettings

QUERY = "Vaccination against measles prevented 57 million deaths in Africa"
RANKINGS = ("bm25", "dense")
STOPPED = {"the", "of", "in", "by", "against"}


def terms() -> TermCache:
    start(JavaSettings().heap)
    return TermCache(
        lambda words: [
            () if word.lower() in STOPPED else (word.lower().rstrip("s"),) for word in words
        ]
    )


def combiner(
    weights: dict[str, float], rankings: tuple[str, ...] = ("bm25",), depth: int = 20
) -> Combiner:
    columns = names(rankings)
    width = np.zeros(len(columns))
    model = CombinerModel(
        WeightedSum(width, width + 1, np.array([weights.get(name, 0.0) for name in columns])), None
    )
    manifest = CombinerManifest(
        model="linear",
        retriever="bm25",
        rankings=rankings,
        features=columns,
        depth=depth,
        fusion={},
        language="en",
        encoder="",
        index="",
        sources=(),
        settings={},
        versions={},
    )
    return Combiner(model, manifest)


@pytest.fixture(scope="module")
def index(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("combine") / "index"
    request = BuildRequest(
        kind="snippets", sources=(root / "examples/snippets-en.tsv",), folder=folder, dense=False
    )
    build(request, Config())
    return folder


def configured(path: Path) -> Config:
    return Config(plugins=(CombineSettings(model=str(path)),))


def test_features_say_what_rankings_and_words_say() -> None:
    hits = [
        Hit("a", 0.2, 0, (Part("bm25", 1, 9.0), Part("dense", 2, 0.5))),
        Hit("b", 0.1, 0, (Part("dense", 1, 0.7),)),
        Hit("c", 0.05, 0, (Part("bm25", 2, 3.0),)),
    ]
    passages = [
        ("Measles", "The vaccination prevented 57 million deaths."),
        ("Weather", "Rain in africa and more"),
        ("", "Nothing."),
    ]
    columns = dict(
        zip(
            names(RANKINGS),
            matrix(QUERY, hits, passages, terms(), RANKINGS, vectors={}).T.tolist(),
            strict=True,
        )
    )
    assert columns["bm25: found"] == [1, 0, 1]
    assert columns["bm25: score"] == [9, 3, 3]
    assert columns["bm25: stretched score"] == [1, 0, 0]
    assert columns["bm25: below the best"] == [0, -6, -6]
    assert columns["dense: reciprocal rank"] == [1 / 12, 1 / 11, 0]
    assert columns["dense: stretched score"] == pytest.approx([0, 1, 0])
    assert columns["fused score"] == [0.2, 0.1, 0.05]
    assert columns["terms covered"] == pytest.approx([6 / 7, 1 / 7, 0])
    assert columns["terms covered by the title"] == pytest.approx([1 / 7, 0, 0])
    assert columns["title in the query"] == [1, 0, 0]
    assert columns["numbers"] == [1, 0, 0]
    assert columns["names"] == [0, 1, 0]
    assert columns["neighbouring words"] == pytest.approx([3 / 8, 1 / 8, 0])
    assert matrix(QUERY, [], [], terms(), RANKINGS, vectors={}).shape == (0, len(names(RANKINGS)))


def test_hits_are_ordered_by_what_was_learned(index: Path, tmp_path: Path) -> None:
    save(tmp_path / "m", combiner({"bm25: reciprocal rank": -1.0}))
    asked = Search(k=5, retriever="bm25")
    with Index(index, configured(tmp_path / "m")) as opened:
        (plain,) = opened.search([QUERY], replace(asked, k=20))
        (turned,) = opened.search([QUERY], replace(asked, stages=("combine",)))
        (longer,) = opened.search([QUERY], replace(asked, stages=("combine",), k=15))
        evidence = opened.evidence(QUERY, turned, asked)
    assert [hit.docid for hit in turned] == [hit.docid for hit in plain[::-1][:5]]
    assert longer[:5] == turned
    assert turned[0].score == pytest.approx(-1 / (10 + len(plain)))
    assert evidence[0].stages["combine"].rank == len(plain)


def stump(feature: int = 0, child: int = 1) -> CombinerModel:
    return CombinerModel(
        None,
        Trees(
            features=np.array([feature, -1, -1], dtype=np.int16),
            thresholds=np.array([0.5, 0.0, 0.0]),
            children=np.array([[child, 2], [1, 1], [2, 2]], dtype=np.int32),
            values=np.array([0.0, -1.0, 1.0]),
            roots=np.array([0], dtype=np.int32),
        ),
    )


def broken_models() -> list[tuple[CombinerManifest, State]]:
    good = combiner({})
    state, replace = good.model.state(), msgspec.structs.replace
    nan = {**state.tensors, "weights": state.tensors["weights"] * np.nan}
    flat = {**state.tensors, "scale": state.tensors["scale"] * 0}
    return [
        (replace(good.manifest, features=("poem",)), state),
        (replace(good.manifest, depth=0), state),
        (
            replace(good.manifest, features=features_of(("bm25",), remembers=True), remembers=True),
            state,
        ),
        (replace(good.manifest, model="poem"), state),
        (replace(good.manifest, model="trees"), state),
        (good.manifest, State({}, nan)),
        (good.manifest, State({}, flat)),
        (replace(good.manifest, model="trees"), stump(feature=99).state()),
        (replace(good.manifest, model="trees"), stump(child=0).state()),
    ]


@pytest.mark.parametrize("number", range(9))
def test_a_model_that_somebody_made_is_refused(number: int, tmp_path: Path) -> None:
    path = tmp_path / "m"
    model_file.save(path, *broken_models()[number])
    with pytest.raises(SourceError) as refused:
        load(path)
    assert (
        refused.value.line == f"{path}: is a model of another version of factseek; train it again"
    )


def test_the_command_line_combines(
    index: Path, tmp_path: Path, command: Callable[..., tuple[int, str, str]]
) -> None:
    save(tmp_path / "m", combiner({"bm25: score": -1.0}))
    (tmp_path / "config.yaml").write_text("combine: {model: m}\n", "utf-8")
    (tmp_path / "none.yaml").write_text("combine: {model: gone}\n", "utf-8")
    asked = ["search", QUERY, "--index", index, "--stage", "combine", "--json"]
    code, printed, _ = command(*asked, "--config", tmp_path / "config.yaml")
    assert code == 0
    assert json.loads(printed)["hits"][0]["stages"]["combine"]["rank"] > 10
    (tmp_path / "empty.yaml").write_text("search: {k: 5}\n", "utf-8")
    for options, said in [
        (
            ["--config", tmp_path / "none.yaml"],
            (
                f"{tmp_path}/gone: there is no such model file; correct the path, or train a "
                "model first"
            ),
        ),
        (
            ["--config", tmp_path / "empty.yaml"],
            "combine needs a model; set combine.model to a file of factseek train combiner",
        ),
        (
            ["--config", tmp_path / "config.yaml", "--stage", "combine=3"],
            "the stage combine is given twice",
        ),
    ]:
        assert command(*asked, *options)[::2] == (2, f"factseek: {said}\n")
