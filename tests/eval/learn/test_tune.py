"""Tuning: honest cross-validation, the product's own fusion, a configuration that loads, the same every time."""

# A message that is told exactly stands on one line.
# ruff: noqa: E501

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from factseek.eval.learn.fused import FusedEvaluator
from factseek.eval.learn.grid import Setting, fusions
from factseek.eval.learn.tune import Fold, SettingEvaluator, Tuning, as_json, as_text, as_yaml, folds_of, tune, verdict
from factseek.eval.run.batch import SearchQuery
from factseek.eval.run.judged import JudgedFiles, drawn, read_judged
from factseek.eval.scoring.measures import evaluate
from factseek.eval.scoring.statistics import Interval, PairedTest
from factseek.indexer.build import BuildRequest, build
from factseek.retrieval.config import BM25Settings, FusionSettings
from factseek.retrieval.domain import Hit
from factseek.retrieval.errors import QueryError
from factseek.retrieval.search.fusion import Ranking, fuse
from factseek.retrieval.search.index import Index
from factseek.retrieval.search.options import Search
from factseek.retrieval.search.order import ordered
from factseek.settings import Config, convert, read
from tests.conftest import ROOT, overriding
from tests.small_models import small_cross_encoder

DEFAULT = Setting("hybrid", BM25Settings(), FusionSettings(weights={"bm25": 0.5, "dense": 0.5}))
OTHER = Setting(
    "hybrid", BM25Settings(k1=1.6, b=0.75), FusionSettings(kind="minmax", weights={"bm25": 0.4, "dense": 0.6})
)


SURELY_BETTER = PairedTest(Interval(0.1, 0.05, 0.15), 0.001, 0.001, 1.0, 9, 1, 0)


@pytest.fixture(scope="module")
def example(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The English snippets and pages of the bundled example, with vectors."""
    folder = tmp_path_factory.mktemp("example") / "index"
    for verb, kind, source in (("", "snippets", "snippets-en.tsv"), ("append", "webpages", "pages-en")):
        build(BuildRequest(kind=kind, sources=(root / "examples" / source,), folder=folder, verb=verb), Config())
    return folder


@pytest.fixture(scope="module")
def files(root: Path) -> JudgedFiles:
    return JudgedFiles(task="trec", queries=root / "examples/queries-en.tsv", qrels=root / "examples/qrels-en.txt")


@pytest.fixture
def usual(example, files):
    """The options that name index, queries and judgements."""
    return ["--index", example, "--queries", files.queries, "--qrels", files.qrels]


@pytest.mark.parametrize(
    "setting",
    [
        DEFAULT,
        OTHER,
        DEFAULT._replace(retriever="bm25"),
        DEFAULT._replace(retriever="dense"),
        OTHER._replace(stages=("per_source=1",)),
        *fusions(OTHER, ["bm25", "dense"])[::9],
    ],
)
def test_a_setting_is_worth_what_a_search_with_it_finds(setting, example, files) -> None:
    with Index(example) as index:
        before, judged = index.settings, read_judged(files, index)
        bed = SettingEvaluator(index, judged.asked, judged.qrels, "nDCG@10", judged.search._replace(k=10))
        values = bed.values(setting)
        assert index.settings == before
    fusion = msgspec.to_builtins(setting.fusion)
    search = {"retriever": setting.retriever, "fusion": fusion, "stages": list(setting.stages)}
    config = convert({"bm25": msgspec.to_builtins(setting.bm25), "search": search}, "test")
    with Index(example, config) as index:
        found = index.search([asked.text for asked in judged.asked], Search(k=10))
    run = {asked.qid: {hit.docid: hit.score for hit in hits} for asked, hits in zip(judged.asked, found, strict=True)}
    assert values.tolist() == evaluate(judged.qrels, run, ["nDCG@10"]).values[:, 0].tolist()


HITS = st.dictionaries(st.text("abc/é", min_size=1, max_size=3), st.integers(0, 6), max_size=12).map(
    lambda found: ordered(Hit(docid, score / 4) for docid, score in found.items())
)


@given(
    rankings=st.lists(st.tuples(HITS, HITS), min_size=1, max_size=4),
    kind=st.sampled_from(["rrf", "minmax", "zscore"]),
    weights=st.tuples(st.sampled_from([0.0, 0.3, 0.5, 1.0]), st.sampled_from([0.0, 0.5, 0.7])),
    depth=st.integers(1, 12),
    k=st.sampled_from([1, 5, 30]),
)
def test_a_pool_fuses_as_a_search_does(rankings, kind, weights, depth, k) -> None:
    fusion = FusionSettings(kind=kind, rrf_k=3, weights=dict(zip(("bm25", "dense"), weights, strict=True)), depth=depth)
    sparse, dense = ({str(at): both[which] for at, both in enumerate(rankings)} for which in (0, 1))
    found = FusedEvaluator({"bm25": sparse, "dense": dense}, depth).fused(fusion, k)
    for qid, scores in found.items():
        parts = [Ranking("bm25", weights[0], sparse[qid]), Ranking("dense", weights[1], dense[qid])]
        assert list(scores.items()) == [(hit.docid, hit.score) for hit in fuse(parts, fusion, k)]


@pytest.mark.real
def test_a_re_ranker_that_is_configured_is_tried(example, files, tmp_path) -> None:
    model = small_cross_encoder()
    config = convert({"rerank": {"model": str(model), "cache": str(tmp_path), "depth": 3}}, "test")
    with Index(example, config) as index:
        tuning = tune(index, read_judged(files, index), "nDCG@10", folds=2)
    assert {setting.stages for setting, _ in tuning.tried} == {(), ("rerank",)}
    chosen = replace(tuning, best=tuning.default._replace(stages=("rerank",)), test=SURELY_BETTER)
    path = tmp_path / "tuned.yaml"
    path.write_text(as_yaml(chosen, config, "index x", tmp_path), "utf-8")
    assert read(path).search.stages == ("rerank",)
    with Index(example, read(path)) as index:
        (hits,) = index.search(["measles vaccine"], Search(k=5))
    assert [part.retriever for part in hits[0].parts] == ["bm25", "dense", "rerank"]


class Planted(SettingEvaluator):
    """A bed whose values are given: ``good`` is better by a half on the queries of ``where``."""

    def __init__(self, good: Setting, where: list[int], queries: int) -> None:
        self.measure, self.k = "nDCG@10", 10
        self._good, self._where, self._queries = good, where, queries
        self._values = {}

    def values(self, setting):
        found = np.full(self._queries, 0.25)
        if setting == self._good:
            found[self._where] += 0.5
        self._values[setting] = found
        return found


def planted(monkeypatch, example, files, where) -> Tuning:
    good = DEFAULT._replace(fusion=FusionSettings(kind="minmax", weights={"bm25": 0.4, "dense": 0.6}))
    with Index(example) as index:
        judged = read_judged(files, index)
        queries = len(judged.asked)
        monkeypatch.setattr("factseek.eval.learn.tune.SettingEvaluator", lambda *_: Planted(good, where, queries))
        return tune(index, judged, "nDCG@10", folds=5)


def test_what_is_better_everywhere_is_chosen(monkeypatch, example, files) -> None:
    tuning = planted(monkeypatch, example, files, list(range(22)))
    assert tuning.test.sure
    assert tuning.chosen.fusion.kind == "minmax"
    assert tuning.cross_validated.mean == 0.75
    assert verdict(tuning).startswith("tuned settings are chosen: cross-validated nDCG@10 +0.5000 against the default")


def test_what_is_better_on_one_query_is_not(monkeypatch, example, files) -> None:
    tuning = planted(monkeypatch, example, files, [0])
    assert tuning.best.fusion.kind == "minmax"
    assert tuning.best_mean > tuning.default_mean.mean
    assert tuning.cross_validated.mean == tuning.default_mean.mean == 0.25
    assert not tuning.test.sure
    assert tuning.chosen == DEFAULT
    assert verdict(tuning).startswith("the default is kept: no better beyond chance, ")


def test_a_held_out_query_has_no_say_in_its_fold(monkeypatch, example, files) -> None:
    tuning = planted(monkeypatch, example, files, [0, 1])
    part = next(part for part in folds_of(22, 5, 0) if 0 in part)
    fold = tuning.folds[[part.tolist() for part in folds_of(22, 5, 0)].index(part.tolist())]
    alone = 1 not in part
    assert (fold.setting.fusion.kind == "minmax") == alone


def test_the_configuration_loads_and_holds_what_was_chosen(tmp_path) -> None:
    interval = Interval(0.5, 0.4, 0.6)
    tuning = Tuning(
        measure="AP",
        queries=10,
        seed=0,
        default=DEFAULT,
        default_mean=interval,
        best=OTHER._replace(retriever="dense"),
        best_mean=0.6,
        cross_validated=interval,
        test=SURELY_BETTER,
        folds=(Fold(queries=10, setting=OTHER, mean=0.6, default=0.5),),
        tried=((OTHER, 0.6), (DEFAULT, 0.5)),
    )
    raw = {
        "index": {"language": "ar"},
        "encoder": {"languages": ["en", "ar"]},
        "passages": {"split": {"jsonl": True}},
        "search": {"k": 7, "profile": "tweet"},
        "server": {"indexes": {"one": "/data/one"}},
    }
    config = convert(raw, "test")
    path = tmp_path / "tuned.yaml"
    path.write_text(as_yaml(tuning, config, "index x", tmp_path), "utf-8")
    again = read(path)
    assert (again.bm25, again.search.fusion, again.search.retriever) == (OTHER.bm25, OTHER.fusion, "dense")
    assert (again.search.k, again.search.profile, again.index, again.passages) == (
        7,
        "tweet",
        config.index,
        config.passages,
    )
    assert again.encoder == config.encoder
    assert Path(again.server.indexes["one"]).resolve() == Path("/data/one")
    assert json.loads(json.dumps(as_json(tuning)))["chosen"]["bm25"]["k1"] == 1.6
    assert (
        as_text(tuning).splitlines()[0].split()
        == "AP 95 % interval retriever fusion rrf_k weights depth k1 b title weight stages".split()
    )


def test_the_command_writes_the_same_file_twice_and_search_takes_it(example, usual, command, tmp_path) -> None:
    outputs = [tmp_path / "one.yaml", tmp_path / "two.yaml"]
    for output in outputs:
        code, said, notes = command("tune", *usual, "--output", output)
        assert code == 0
        missing, written = notes.splitlines()
        assert missing.startswith("note: ") and " relevant documents are not in the index: " in missing
        assert written == f"{output}: the configuration; use it with --config"
        assert said.rstrip().splitlines()[-1].startswith(("the default is kept: ", "tuned settings are chosen: "))
    text = outputs[0].read_text("utf-8")
    assert text == outputs[1].read_text("utf-8")
    assert text.startswith("# Written by factseek tune: index index (")
    assert set(yaml.safe_load(text)) >= {"bm25", "search"}
    with Index(example, read(outputs[0])) as index:
        assert len(index.search(["measles vaccine"])[0]) == 10


def test_an_index_without_vectors_is_tuned_for_bm25_alone(root, files, tmp_path) -> None:
    folder = tmp_path / "index"
    config = convert({"index": {"fields": "title_text"}}, "test")
    source = root / "examples" / "pages-en"
    build(BuildRequest(kind="webpages", sources=(source,), folder=folder, dense=False), config)
    with Index(folder, config) as index:
        tuning = tune(index, read_judged(files, index), "nDCG@10", folds=3)
    assert {setting.retriever for setting, _ in tuning.tried} == {"bm25"}
    assert len({setting.bm25.title_weight for setting, _ in tuning.tried}) > 3


def test_judgements_of_another_collection_measure_nothing(example, files, tmp_path) -> None:
    qrels = tmp_path / "qrels"
    qrels.write_text("1000000000000000101 0 ex-en-01-0001-001 2\n")
    with Index(example) as index, pytest.raises(QueryError) as raised:
        first = next(index.docids())
        read_judged(replace(files, qrels=qrels), index)
    assert str(raised.value) == (
        f"{qrels}: no docid in common with the index {example}: it has 'ex-en-01-0001-001', the index {first!r}; "
        "'EX-EN-01-0001-001' and 'ex-en-01-0001-001' differ by case alone: ids are compared letter by letter"
    )


def test_judged_documents_that_the_index_lacks_are_counted_and_named(example, files, tmp_path) -> None:
    qrels = tmp_path / "qrels"
    gone = "".join(f"1000000000000000101 0 gone-{number} 1\n" for number in range(4))
    qrels.write_text(f"1000000000000000101 0 EX-EN-01-0001-001 2\n{gone}1000000000000000101 0 irrelevant 0\n")
    with Index(example) as index:
        judged = read_judged(replace(files, qrels=qrels), index)
    assert judged.notes == ("4 of 5 relevant documents are not in the index: 'gone-0', 'gone-1', 'gone-2', ...",)


def test_a_sample_is_the_same_for_the_same_seed_and_keeps_the_order(example, files) -> None:
    assert drawn(100, 10, 1) == sorted(set(drawn(100, 10, 1))) == drawn(100, 10, 1) != drawn(100, 10, 2)
    with Index(example) as index:
        judged, all_of_them = read_judged(files, index, sample=4), read_judged(files, index)
    assert len(judged.asked) == 4
    assert judged.notes[0] == "4 of 22 judged queries were drawn"
    assert set(judged.asked) < set(all_of_them.asked)
    assert all(isinstance(one, SearchQuery) for one in judged.asked)


BAD = [
    (["--folds", "1"], "--folds 1: give a number from 2 to that of the judged queries, 22"),
    (["--folds", "23"], "--folds 23: give a number from 2 to that of the judged queries, 22"),
    (["--seed", "-1"], "--seed -1: give a number from 0"),
    (["--sample", "1"], "--sample 1: give a number of queries, 2 or more"),
    (["--measure", "AP,RR"], "--measure AP,RR: give one measure"),
    (["--measure", "AP(rel=0)"], "measure 'AP(rel=0)': rel is not between 1 and 1,000"),
    (["--output", "/dev/null"], "/dev/null: is not a regular file; name one that is, or a new one"),
    (["--output", "{root}/examples/qrels-en.txt"], "{root}/examples/qrels-en.txt: is an input of this command and would be overwritten; name another file"),
    (["--measure", "beauty"], "unknown measure 'beauty'; for example AP, AP@5, P@1, P@3, P@5, P@10, nDCG@10, R@100"),
    (["--task", "fever"], "fever: is not a ranking task; the ranking tasks are ct2020-claims, ct2020-evidence, ct2025-4b, source-retrieval, trec"),
    (["--output", "{folder}/no/x.yaml"], "{folder}/no/x.yaml: there is no folder {folder}/no; make it first"),
    (["--output", "{folder}/mine.yaml"], "{folder}/mine.yaml: was not written by tune and is left as it is; name another output"),
    (["--queries", "{folder}/other.tsv"], "{folder}/other.tsv: no query in common with {root}/examples/qrels-en.txt: it has 'q1', the judgements '1000000000000000101'"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "message"), BAD)
def test_bad_input(arguments, message, usual, command, tmp_path) -> None:
    (tmp_path / "mine.yaml").write_text("search: {k: 3}\n")
    (tmp_path / "other.tsv").write_text("q1\tmeasles\n")
    root = ROOT
    more = [part.format(folder=tmp_path, root=root) for part in arguments]
    code, out, err = command("tune", *overriding([*usual, "--output", tmp_path / "x.yaml"], more))
    assert (code, out) == (2, "")
    assert err == f"factseek: {message.format(folder=tmp_path, root=root)}\n"
    assert not (tmp_path / "x.yaml").exists()
    assert (tmp_path / "mine.yaml").read_text() == "search: {k: 3}\n"
