"""Filters, dates and deletions never give fewer than k hits when k match, whatever the type of the dense index."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from factseek.indexer.build import BuildRequest, build
from factseek.indexer.deletion import delete
from factseek.retrieval.domain import Filter
from factseek.retrieval.filters import matches
from factseek.retrieval.search.index import Index
from factseek.retrieval.search.options import Search
from factseek.settings import convert
from tests.indexer.test_compaction import write

pytestmark = pytest.mark.inner

SUBJECTS = ["Measles", "The Nile", "Pluto", "Ice", "A vaccine", "The ozone layer", "A tax", "The moon"]
VERBS = ["spreads quickly", "was measured", "changes slowly", "is not what people think", "was seen from afar"]
DELETED = [f"d{i}" for i in range(0, 240, 7)]
FILTERS = {
    "all": None,
    "topic": Filter(topic=("T1",)),
    "one in forty": Filter(source=("s3",)),
    "old": Filter(as_of="2003-12-31"),
    "old topic": Filter(topic=("T0", "T2"), as_of="2001-12-31"),
    "since": Filter(since="2018-01-01"),
    "none": Filter(topic=("T9",)),
}


def rows() -> list[dict[str, str]]:
    """Return documents of one to three passages."""
    return [
        {
            "docid": f"d{i}",
            "text": " ".join(f"{SUBJECTS[(i + j) % 8]} {VERBS[(i + j) // 8 % 5]} {i}." for j in range(1 + i % 3)),
            "topic": f"T{i % 3}",
            "source": f"s{i % 40}",
            "date": str(2000 + i % 20),
        }
        for i in range(240)
    ]


@pytest.fixture(scope="module", params=["flat", "auto"])
def index(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    """An index whose approximate search is made to starve: it looks at as little as it can."""
    folder: Path = tmp_path_factory.mktemp(request.param)
    settings = {
        "index": {"segment_passages": 200},
        "passages": {"words": 4, "overlap_sentences": 0, "split": {"jsonl": True}},
        "dense": {
            "type": request.param,
            "auto_flat_below": 16,
            "exact_below": 1,
            "lists": 8,
            "scan_probes": 1,
        },
    }
    config = convert(settings, "test")
    build(BuildRequest(kind="jsonl", sources=(write(folder, "docs.jsonl", rows()),), folder=folder / "index"), config)
    delete(folder / "index", DELETED)
    with Index(folder / "index", config) as opened:
        assert len(opened.info.published.segments) > 1
        yield opened


@pytest.mark.parametrize("name", FILTERS)
@pytest.mark.parametrize("k", [1, 10, 60, 240])
def test_as_many_hits_as_match(index: Index, name: str, k: int) -> None:
    where = FILTERS[name]
    there = list(index.documents())
    assert len(there) == 240 - len(DELETED)
    admitted = {d.docid for d in there if where is None or matches(where, d, "jsonl")}
    assert {document.docid for document in index.documents(where)} == admitted
    for retriever in ("dense", "hybrid"):
        for hits in index.search(["rivers of Africa", "dwarf planets"], Search(k=k, retriever=retriever, where=where)):
            assert len(hits) == min(k, len(admitted))
            assert len({hit.docid for hit in hits}) == len(hits)
            assert {hit.docid for hit in hits} <= admitted
    (hits,) = index.search(["measles"], Search(k=k, retriever="bm25", where=where))
    speaking = {document.docid for document in there if "Measles" in document.text}
    assert len(hits) == min(k, len(speaking & admitted))
