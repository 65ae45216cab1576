"""Tuning: honest cross-validation, the product's own fusion, a configuration that loads, the same
every time.
"""

# A message that is told exactly stands on one line.

from pathlib import Path

import msgspec
import numpy as np
import pytest
import yaml

from factseek.eval.learn.grid import Setting, fusions
from factseek.eval.learn.tune import SettingEvaluator, Tuning, tune, verdict
from factseek.eval.run.batch import JudgedFiles, read_judged
from factseek.eval.scoring.measures import evaluate
from factseek.indexer.build import BuildRequest, build
from factseek.retrieval.config import BM25Settings, FusionSettings
from factseek.retrieval.search.index import Index
from factseek.retrieval.search.options import Search
from factseek.settings import Config, convert, read
from tests.conftest import ROOT, overriding

DEFAULT = Setting("hybrid", BM25Settings(), FusionSettings(weights={"bm25": 0.5, "dense": 0.5}))
OTHER = Setting(
    "hybrid",
    BM25Settings(k1=1.6, b=0.75),
    FusionSettings(kind="minmax", weights={"bm25": 0.4, "dense": 0.6}),
)


@pytest.fixture(scope="module")
def example(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("example") / "index"
    for verb, kind, source in (
        ("", "snippets", "snippets-en.tsv"),
        ("append", "webpages", "pages-en"),
    ):
        build(
            BuildRequest(
                kind=kind, sources=(root / "examples" / source,), folder=folder, verb=verb
            ),
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
        bed = SettingEvaluator(index, judged, "nDCG@10")
        values = bed.values(setting)
        assert index.settings == before
    fusion = msgspec.to_builtins(setting.fusion)
    search = {"retriever": setting.retriever, "fusion": fusion, "stages": list(setting.stages)}
    config = convert({"bm25": msgspec.to_builtins(setting.bm25), "search": search}, "test")
    with Index(example, config) as index:
        found = index.search([asked.text for asked in judged.queries], Search(k=10))
    run = {
        asked.qid: {hit.docid: hit.score for hit in hits}
        for asked, hits in zip(judged.queries, found, strict=True)
    }
    assert values.tolist() == evaluate(judged.qrels, run, ["nDCG@10"]).values[:, 0].tolist()


class Planted(SettingEvaluator):
    """A bed whose values are given: ``good`` is better by a half on the queries of ``where``."""

    def __init__(self, good: Setting, where: list[int], queries: int) -> None:
        self._good, self._where, self._queries = good, where, queries
        self.tried = {}

    def values(self, setting):
        found = np.full(self._queries, 0.25)
        if setting == self._good:
            found[self._where] += 0.5
        self.tried[setting] = found
        return found


def planted(monkeypatch, example, files, where) -> Tuning:
    good = DEFAULT._replace(
        fusion=FusionSettings(kind="minmax", weights={"bm25": 0.4, "dense": 0.6})
    )
    with Index(example) as index:
        judged = read_judged(files, index)
        queries = len(judged.queries)
        monkeypatch.setattr(
            "factseek.eval.learn.tune.SettingEvaluator", lambda *_: Planted(good, where, queries)
        )
        return tune(index, judged, "nDCG@10", folds=5)


def test_what_is_better_on_one_query_is_not(monkeypatch, example, files) -> None:
    tuning = planted(monkeypatch, example, files, [0])
    assert tuning.best.fusion.kind == "minmax"
    assert tuning.best_mean > tuning.default_mean.mean
    assert tuning.cross_validated.mean == tuning.default_mean.mean == 0.25
    assert not tuning.test.sure
    assert tuning.chosen == DEFAULT
    assert verdict(tuning).startswith(
        "the default is kept, because the tuned settings are not significantly better: "
    )


def test_the_command_writes_the_same_file_twice_and_search_takes_it(
    example, usual, command, tmp_path
) -> None:
    outputs = [tmp_path / "one.yaml", tmp_path / "two.yaml"]
    for output in outputs:
        code, said, notes = command("tune", *usual, "--output", output)
        assert code == 0
        missing, *_, written = notes.splitlines()
        assert (
            missing.startswith("note: ") and " relevant documents are not in the index: " in missing
        )
        assert written == f"{output}: the configuration; use it with --config"
        assert (
            said.rstrip()
            .splitlines()[-1]
            .startswith(("the default is kept, ", "tuned settings are chosen: "))
        )
    text = outputs[0].read_text("utf-8")
    assert text == outputs[1].read_text("utf-8")
    assert text.startswith("# Written by factseek tune: index index (")
    assert set(yaml.safe_load(text)) >= {"bm25", "search"}
    with Index(example, read(outputs[0])) as index:
        assert len(index.search(["measles vaccine"])[0]) == 10


BAD = [
    (["--folds", "1"], "--folds 1: give a number from 2 to 22, the number of judged queries"),
    (
        ["--output", "{root}/examples/qrels-en.txt"],
        (
            "{root}/examples/qrels-en.txt: is an input of this command and would be "
            "overwritten; give another file"
        ),
    ),
    (
        ["--task", "{folder}/mine.yaml", "--output", "{folder}/mine.yaml"],
        (
            "{folder}/mine.yaml: is an input of this command and would be overwritten; give "
            "another file"
        ),
    ),
    (
        ["--measure", "beauty"],
        "unknown measure 'beauty'; for example AP, AP@5, P@1, P@3, P@5, P@10, nDCG@10, R@100",
    ),
    (
        ["--output", "{folder}/mine.yaml"],
        "{folder}/mine.yaml: was not written by tune and is left as it is; give another file",
    ),
    (
        ["--queries", "{folder}/other.tsv"],
        (
            "{folder}/other.tsv: no query in common with {root}/examples/qrels-en.txt: the "
            "file has 'q1', the judgements '1000000000000000101'"
        ),
    ),
]


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
