"""Compaction: what is found afterwards is what a fresh index of the surviving documents finds."""

import json
from pathlib import Path

import pytest

from factseek.core.domain import Hit
from factseek.indexer.build import BuildRequest, build
from factseek.indexer.compaction import compact, surplus, worth_merging
from factseek.indexer.deletion import delete
from factseek.retrieval.config import IndexSettings
from factseek.retrieval.search.index import Index
from factseek.retrieval.search.options import Search
from factseek.retrieval.store import manifest as manifests
from factseek.retrieval.store.manifest import SegmentInfo
from factseek.settings import Config, convert

SUBJECTS = ["Measles", "The Nile", "Pluto", "Ice", "A vaccine", "The ozone layer", "النيل"]
VERBS = ["spreads quickly", "was measured in 1998", "changes slowly", "is not what people think"]
DOCUMENTS = [
    {
        "docid": f"d{i}",
        "text": f"{subject} {verb}. " * (1 + i % 3),
        "topic": f"T{i % 2}",
        "date": f"20{10 + i % 4}",
    }
    for i, (subject, verb) in enumerate((subject, verb) for subject in SUBJECTS for verb in VERBS)
]
QUERIES = ["the river Nile changes", "measles vaccine", "what people think of ice", "النيل", "1998"]


def answers(
    folder: Path, config: Config, retrievers: tuple[str, ...] = ("bm25",)
) -> list[list[list[Hit]]]:
    with Index(folder, config) as index:
        return [index.search(QUERIES, Search(k=50, retriever=name)) for name in retrievers]


def write(folder: Path, name: str, documents: list[dict[str, str]]) -> Path:
    path = folder / name
    path.write_text("".join(json.dumps(document) + "\n" for document in documents), "utf-8")
    return path


def grown(folder: Path, config: Config, *, dense: bool) -> list[dict[str, str]]:
    changed = {**DOCUMENTS[0], "text": "The Nile again."}
    index = folder / "index"
    for verb, documents in (
        ("", DOCUMENTS[:12]),
        ("append", DOCUMENTS[12:]),
        ("update", [changed]),
    ):
        source = write(folder, f"{verb or 'first'}.jsonl", documents)
        build(
            BuildRequest(kind="jsonl", sources=(source,), folder=index, verb=verb, dense=dense),
            config,
        )
    delete(index, ["d3", "d13", "d14"])
    return [*DOCUMENTS[1:3], *DOCUMENTS[4:13], *DOCUMENTS[15:], changed]


def fresh(folder: Path, documents: list[dict[str, str]], config: Config, *, dense: bool) -> Path:
    index = folder / "fresh"
    source = write(folder, "fresh.jsonl", documents)
    build(
        BuildRequest(kind="jsonl", sources=(source,), folder=index, verb="overwrite", dense=dense),
        config,
    )
    return index


@pytest.mark.parametrize("kind", ["flat", "auto"])
def test_a_compacted_index_finds_what_a_fresh_one_does(tmp_path: Path, kind: str) -> None:
    dense = {"type": kind, "auto_flat_below": 16, "exact_below": 1, "lists": 2, "scan_probes": 2}
    passages = {"words": 5, "overlap_sentences": 0, "split": {"jsonl": True}}
    config = convert(
        {"index": {"segment_passages": 10}, "dense": dense, "passages": passages}, "test"
    )
    survivors = grown(tmp_path, config, dense=True)
    before = manifests.read(tmp_path / "index")
    compacted = compact(tmp_path / "index", convert({"dense": dense, "passages": passages}, "test"))
    assert (compacted.before, compacted.dropped) == (len(before.segments), 4)
    (segment,) = compacted.manifest.segments
    assert compacted.manifest == manifests.read(tmp_path / "index")
    assert (segment.documents, segment.deleted) == (len(survivors), ())
    assert [source.name for source in segment.sources] == [
        "first.jsonl",
        "append.jsonl",
        "update.jsonl",
    ]
    assert (compacted.manifest.documents, compacted.manifest.passages) == (
        before.documents,
        before.passages,
    )
    assert ("ann.faiss" in segment.files) == (kind != "flat")
    index = fresh(tmp_path, survivors, config, dense=True)
    retrievers = ("bm25", "dense", "hybrid")
    assert answers(tmp_path / "index", config, retrievers) == answers(index, config, retrievers)
    with Index(tmp_path / "index") as opened:
        assert [document.docid for document in opened.documents()] == [
            d["docid"] for d in survivors
        ]


def test_segments_of_different_kinds_stay_apart_and_full_ones_as_they_are(tmp_path: Path) -> None:
    config = convert({"index": {"segment_passages": 6}}, "test")
    index = tmp_path / "index"
    source = write(tmp_path, "docs.jsonl", DOCUMENTS[:9])
    build(BuildRequest(kind="jsonl", sources=(source,), folder=index, dense=False), config)
    table = tmp_path / "snippets.tsv"
    table.write_text("T1-0001-001\tMeasles is a snippet.\nT1-0001-002\tAnother snippet.\n", "utf-8")
    build(
        BuildRequest(kind="snippets", sources=(table,), folder=index, verb="append", dense=False),
        config,
    )
    more = write(tmp_path, "more.jsonl", DOCUMENTS[9:11])
    build(
        BuildRequest(kind="jsonl", sources=(more,), folder=index, verb="append", dense=False),
        config,
    )
    before = answers(index, config)
    compacted = compact(index, config)
    assert [(s.name, s.kind, s.documents) for s in compacted.manifest.segments] == [
        ("000000", "jsonl", 6),
        ("000004", "jsonl", 5),
        ("000002", "snippets", 2),
    ]
    assert answers(index, config) == before
    assert compact(index, config) == (compacted.manifest, 3, 0)


def test_what_was_deleted_to_the_last_leaves_an_empty_index_that_grows_again(
    tmp_path: Path,
) -> None:
    source = write(tmp_path, "docs.jsonl", DOCUMENTS[:3])
    index = tmp_path / "index"
    build(BuildRequest(kind="jsonl", sources=(source,), folder=index), Config())
    delete(index, ["d0", "d1", "d2"])
    with Index(index) as reader:
        assert compact(index, Config()).manifest.segments == ()
        # It is being read.
        assert [path.name for path in (index / "segments").iterdir()] == ["000000"]
        assert answers(index, Config(), ("bm25", "dense", "hybrid")) == [[[]] * 5] * 3
        assert reader.search(["measles"]) == [[]]
        build(BuildRequest(kind="jsonl", sources=(source,), folder=index, verb="append"), Config())
    assert [segment.name for segment in manifests.read(index).segments] == ["000001"]
    assert answers(index, Config())[0][1][0].docid in {"d0", "d1", "d2"}


def segment(name: str, passages: int, *, deleted: int = 0, kind: str = "jsonl") -> SegmentInfo:
    return SegmentInfo(
        name=name,
        kind=kind,
        split=False,
        documents=passages,
        passages=passages,
        sources=(),
        files={},
        deleted=tuple(range(deleted)),
    )


@pytest.mark.parametrize(
    ("sizes", "groups"),
    [
        ([100, 1, 1, 1], [[1, 1, 1]]),  # what is large is not copied for a little
        ([3, 1, 1, 1], [[3, 1, 1, 1]]),
        ([64, 16, 4, 1], [[4, 1]]),  # the two smallest at least
        ([64, 16, 16, 4, 1], [[64, 16, 16, 4, 1]]),  # these two would not be enough
        ([1000, 1000, 1000, 1000], []),  # full
    ],
)
def test_which_segments_are_merged_by_themselves(sizes: list[int], groups: list[list[int]]) -> None:
    segments = [segment(str(i), size) for i, size in enumerate(sizes)]
    chosen = surplus(segments, IndexSettings(max_segments=3, segment_passages=1000))
    assert [[part.passages for part in group] for group in chosen] == groups


def test_which_segments_a_compaction_rewrites() -> None:
    full, holed, small = segment("0", 9), segment("1", 9, deleted=1), segment("2", 2)
    other = segment("3", 2, kind="snippets")
    assert worth_merging([full, small, other], 9) == []
    assert worth_merging([full, holed, small, other], 9) == [[holed, small]]
    assert worth_merging([small, segment("4", 9, kind="trec", deleted=9)], 9) == [
        [segment("4", 9, kind="trec", deleted=9)]
    ]
