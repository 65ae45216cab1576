"""Approximate indexes by configuration: the hits of the exact index, and marked so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from factseek.indexer.build import BuildRequest, build
from factseek.indexer.verification import repair
from factseek.retrieval.dense.vectors import read_vectors
from factseek.retrieval.errors import IndexStateError
from factseek.retrieval.search.index import Index
from factseek.retrieval.search.options import Search
from factseek.retrieval.store import manifest as manifests
from factseek.settings import Config, convert
from tests.indexer.as_found import name_files_as_found

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


def test_answers_of_an_approximate_index_are_marked_and_those_of_a_flat_one_are_not(
    tmp_path: Path, write_jsonl
) -> None:
    small = {"type": "auto", "auto_flat_below": 16, "exact_below": 1}
    source = write_jsonl("docs.jsonl", DOCUMENTS)
    config = convert({"dense": small, "index": {"segment_passages": 20}}, "settings")
    report = build(BuildRequest(kind="jsonl", sources=(source,), folder=tmp_path / "index"), config)
    assert ["ann.faiss" in segment.files for segment in report.manifest.segments] == [True, False]

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


def test_an_index_of_a_type_that_there_was_is_refused_until_it_is_repaired(
    tmp_path: Path, write_jsonl, build_jsonl
) -> None:
    import faiss

    build_jsonl(write_jsonl("docs.jsonl", DOCUMENTS), dense=True)
    index, config = tmp_path / "index", Config()
    expected = found(index, config)
    (ann,) = (path / "ann.faiss" for path in (index / "segments").iterdir())
    encoder = manifests.read(index).encoder
    assert encoder is not None
    graph = faiss.IndexHNSWFlat(encoder.dimension, 32, faiss.METRIC_INNER_PRODUCT)
    graph.add(read_vectors(ann.with_name("vectors.f32"), len(DOCUMENTS), encoder.dimension))
    faiss.write_index(graph, str(ann))
    raw = json.loads((index / "manifest.json").read_text("utf-8"))
    raw["segments"][0]["files"]["ann.faiss"] = {"bytes": 0, "sha256": ""}
    raw["shared"] = {"vectors": "quantizer-000000.faiss"}
    (index / "manifest.json").write_text(json.dumps(raw), "utf-8")
    name_files_as_found(index)
    with pytest.raises(IndexStateError) as error:
        found(index, config)
    assert error.value.line == (
        f"{ann}: is not a fast-scan index, the only supported kind; "
        "repair it with factseek verify-index --repair, or restore a snapshot"
    )
    assert found(index, convert({"dense": {"type": "flat"}}, "settings")) == expected
    assert repair(index, config).left == []
    assert found(index, config) == expected
