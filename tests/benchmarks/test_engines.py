"""Each engine that is measured beside factseek ranks what holds the words of a query, best first."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

from benchmarks.data import Collection
from benchmarks.engines import DEPTHS, ENGINES, LIMIT, RateSpread, SearchEngine, _table, opened

NEEDS = {"bm25s, numba": ("bm25s", "numba", "Stemmer"), "tantivy": ("tantivy",), "LanceDB": ("lancedb",)}
DOCUMENTS = [
    ("both", "measles vaccine"),
    ("one", "a vaccine against another illness that is rare in these parts of the world"),
    ("none", "the moon landing"),
    ("other", "the rings of a planet"),
]


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    source = tmp_path / "collection"
    source.mkdir()
    lines = [json.dumps({"_id": docid, "title": "", "text": text}) + "\n" for docid, text in DOCUMENTS]
    (source / "corpus.jsonl").write_text("".join(lines), "utf-8")
    return Collection("small", source, DOCUMENTS, {"1": "measles vaccine"}, {"1": {"both": 1}})


@pytest.mark.deep
@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
@pytest.mark.filterwarnings("ignore")
def test_each_engine_finds_the_words_of_a_query(engine: SearchEngine, collection: Collection, tmp_path: Path) -> None:
    for package in NEEDS.get(engine.name, ()):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    with opened(engine, collection, tmp_path) as ask:
        hits = ask("Measles vaccine?", 2)
        assert [docid for docid, _ in hits] == ["both", "one"]
        assert hits[0][1] > hits[1][1]
        assert [docid for docid, _ in ask("measles vaccine", 1)] == ["both"]


def test_the_table_says_how_many_times_our_rate_another_is() -> None:
    quality = {engine.name: 0.5 for engine in ENGINES}
    names = [*quality, LIMIT]
    rates = {k: {name: RateSpread(100.0 * place, 90.0, 110.0) for place, name in enumerate(names, 1)} for k in DEPTHS}
    lines = _table(quality, rates).splitlines()
    assert lines[2].startswith("| factseek | 0.5000 | 100 [90–110], 1.00 × |")
    assert lines[3].startswith("| Pyserini LuceneSearcher | 0.5000 | 200 [90–110], 2.00 × |")
    assert lines[2 + len(ENGINES)].startswith(f"| {LIMIT} |  | 700 [90–110], 7.00 × |")
