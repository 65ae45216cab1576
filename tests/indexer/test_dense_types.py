"""Approximate indexes by configuration: the same hits as the exact index, in several segments, and marked so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from factseek.indexer.build import BuildRequest, build
from factseek.retrieval.index.local import Index
from factseek.retrieval.searcher import Search
from factseek.settings import Config, convert, read

SUBJECTS = ["Measles", "The Nile", "Pluto", "Ice", "A vaccine", "The ozone layer"]
VERBS = ["spreads quickly", "was measured in 1998", "changes slowly", "is not what people think"]
DOCUMENTS = [
    {"docid": f"d{i}", "text": f"{subject} {verb}."}
    for i, (subject, verb) in enumerate((subject, verb) for subject in SUBJECTS for verb in VERBS)
]
QUERIES = ["the river Nile", "dwarf planets", "melting glaciers", "immunisation"]


def found(folder: Path, config: Config) -> list[list[tuple[str, float]]]:
    with Index(folder, config) as index:
        hits = index.search(QUERIES, Search(k=5, retriever="dense"))
        return [[(hit.docid, hit.score) for hit in of_query] for of_query in hits]


@pytest.mark.parametrize("kind", ["hnsw", "ivfpq"])
def test_an_approximate_index_finds_what_the_exact_one_does(
    tmp_path: Path, write_jsonl, build_jsonl, kind: str
) -> None:
    source = write_jsonl("docs.jsonl", DOCUMENTS)
    build_jsonl(source, dense=True)
    exact = found(tmp_path / "index", Config())
    settings = {"type": kind, "flat_below": 5, "exact_below": 1, "lists": 2, "probes": 2}
    config = tmp_path / "config.yaml"
    config.write_text(f"dense: {json.dumps(settings)}\nindex: {{segment_passages: 12}}\n", "utf-8")
    for _ in range(2):
        request = BuildRequest(kind="jsonl", sources=(source,), folder=tmp_path / "index", verb="overwrite")
        report = build(request, read(config))
        assert all("ann.faiss" in segment.files for segment in report.manifest.segments)
        assert len(report.manifest.segments) == 2
        quantizers = [path.name for path in (tmp_path / "index").glob("quantizer*")]
        assert quantizers == ([report.manifest.shared["vectors"]] if kind == "ivfpq" else [])
        assert found(tmp_path / "index", read(config)) == exact


@pytest.mark.parametrize("kind", ["auto", "fastscan"])
def test_answers_of_an_approximate_index_are_marked_and_those_of_a_flat_one_are_not(
    tmp_path: Path, write_jsonl, kind: str
) -> None:
    small = {"type": kind, "flat_below": 16, "auto_flat_below": 16, "exact_below": 1}
    source = write_jsonl("docs.jsonl", DOCUMENTS)
    config = convert({"dense": small, "index": {"segment_passages": 20}}, "settings")
    report = build(BuildRequest(kind="jsonl", sources=(source,), folder=tmp_path / "index"), config)
    assert ["ann.faiss" in segment.files for segment in report.manifest.segments] == [True, False]
    assert report.manifest.shared == {}

    def marked(settings: dict[str, object]) -> dict[str, bool]:
        with Index(tmp_path / "index", convert({"dense": settings}, "settings")) as index:
            names = ("bm25", "dense", "hybrid")
            return {name: index.resolve(Search(retriever=name)).approximate for name in names}

    assert marked(small) == {"bm25": False, "dense": True, "hybrid": True}
    assert marked({"type": "flat"}) == {"bm25": False, "dense": False, "hybrid": False}
    assert found(tmp_path / "index", convert({"dense": small}, "settings")) == found(
        tmp_path / "index", convert({"dense": {"type": "flat"}}, "settings")
    )


def test_by_default_a_small_index_is_flat(tmp_path: Path, write_jsonl, build_jsonl) -> None:
    build_jsonl(write_jsonl("docs.jsonl", DOCUMENTS), dense=True)
    assert not list((tmp_path / "index").rglob("*.faiss"))
    with Index(tmp_path / "index", Config()) as index:
        assert not index.resolve(Search(retriever="dense")).approximate
