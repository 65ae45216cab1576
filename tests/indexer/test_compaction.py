"""Compaction: what is found afterwards is what a fresh index of the surviving documents finds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from factseek import commands
from factseek.indexer.build import BuildRequest, build
from factseek.indexer.compaction import compact, surplus, worth_merging
from factseek.indexer.deletion import delete
from factseek.indexer.lock import locked
from factseek.retrieval.config import IndexSettings
from factseek.retrieval.domain import Hit
from factseek.retrieval.errors import IndexStateError
from factseek.retrieval.search.index import Index
from factseek.retrieval.search.options import Search
from factseek.retrieval.store import manifest as manifests
from factseek.retrieval.store.manifest import SegmentInfo
from factseek.settings import Config, convert

SUBJECTS = ["Measles", "The Nile", "Pluto", "Ice", "A vaccine", "The ozone layer", "النيل"]
VERBS = ["spreads quickly", "was measured in 1998", "changes slowly", "is not what people think"]
DOCUMENTS = [
    {"docid": f"d{i}", "text": f"{subject} {verb}. " * (1 + i % 3), "topic": f"T{i % 2}", "date": f"20{10 + i % 4}"}
    for i, (subject, verb) in enumerate((subject, verb) for subject in SUBJECTS for verb in VERBS)
]
QUERIES = ["the river Nile changes", "measles vaccine", "what people think of ice", "النيل", "1998"]


def answers(folder: Path, config: Config, retrievers: tuple[str, ...] = ("bm25",)) -> list[list[list[Hit]]]:
    """Return all hits of the queries by each retriever."""
    with Index(folder, config) as index:
        return [index.search(QUERIES, Search(k=50, retriever=name)) for name in retrievers]


def write(folder: Path, name: str, documents: list[dict[str, str]]) -> Path:
    path = folder / name
    path.write_text("".join(json.dumps(document) + "\n" for document in documents), "utf-8")
    return path


def grown(folder: Path, config: Config, *, dense: bool) -> list[dict[str, str]]:
    """Make an index by building, appending, updating and deleting; return the documents that survive."""
    changed = {**DOCUMENTS[0], "text": "The Nile again."}
    index = folder / "index"
    for verb, documents in (("", DOCUMENTS[:12]), ("append", DOCUMENTS[12:]), ("update", [changed])):
        source = write(folder, f"{verb or 'first'}.jsonl", documents)
        build(BuildRequest(kind="jsonl", sources=(source,), folder=index, verb=verb, dense=dense), config)
    delete(index, ["d3", "d13", "d14"])
    return [*DOCUMENTS[1:3], *DOCUMENTS[4:13], *DOCUMENTS[15:], changed]


def fresh(folder: Path, documents: list[dict[str, str]], config: Config, *, dense: bool) -> Path:
    index = folder / "fresh"
    source = write(folder, "fresh.jsonl", documents)
    build(BuildRequest(kind="jsonl", sources=(source,), folder=index, verb="overwrite", dense=dense), config)
    return index


@pytest.mark.parametrize("kind", ["flat", "auto"])
def test_a_compacted_index_finds_what_a_fresh_one_does(tmp_path: Path, kind: str) -> None:
    dense = {"type": kind, "auto_flat_below": 16, "exact_below": 1, "lists": 2, "scan_probes": 2}
    passages = {"words": 5, "overlap_sentences": 0, "split": {"jsonl": True}}
    config = convert({"index": {"segment_passages": 10}, "dense": dense, "passages": passages}, "test")
    survivors = grown(tmp_path, config, dense=True)
    before = manifests.read(tmp_path / "index")
    compacted = compact(tmp_path / "index", convert({"dense": dense, "passages": passages}, "test"))
    assert (compacted.before, compacted.dropped) == (len(before.segments), 4)
    (segment,) = compacted.manifest.segments
    assert compacted.manifest == manifests.read(tmp_path / "index")
    assert (segment.documents, segment.deleted) == (len(survivors), ())
    assert [source.name for source in segment.sources] == ["first.jsonl", "append.jsonl", "update.jsonl"]
    assert (compacted.manifest.documents, compacted.manifest.passages) == (before.documents, before.passages)
    assert ("ann.faiss" in segment.files) == (kind != "flat")
    index = fresh(tmp_path, survivors, config, dense=True)
    retrievers = ("bm25", "dense", "hybrid")
    assert answers(tmp_path / "index", config, retrievers) == answers(index, config, retrievers)
    with Index(tmp_path / "index") as opened:
        assert [document.docid for document in opened.documents()] == [d["docid"] for d in survivors]


def test_segments_of_different_kinds_stay_apart_and_full_ones_as_they_are(tmp_path: Path) -> None:
    config = convert({"index": {"segment_passages": 6}}, "test")
    index = tmp_path / "index"
    source = write(tmp_path, "docs.jsonl", DOCUMENTS[:9])
    build(BuildRequest(kind="jsonl", sources=(source,), folder=index, dense=False), config)
    table = tmp_path / "snippets.tsv"
    table.write_text("T1-0001-001\tMeasles is a snippet.\nT1-0001-002\tAnother snippet.\n", "utf-8")
    build(BuildRequest(kind="snippets", sources=(table,), folder=index, verb="append", dense=False), config)
    more = write(tmp_path, "more.jsonl", DOCUMENTS[9:11])
    build(BuildRequest(kind="jsonl", sources=(more,), folder=index, verb="append", dense=False), config)
    before = answers(index, config)
    compacted = compact(index, config)
    assert [(s.name, s.kind, s.documents) for s in compacted.manifest.segments] == [
        ("000000", "jsonl", 6),
        ("000004", "jsonl", 5),
        ("000002", "snippets", 2),
    ]
    assert answers(index, config) == before
    assert compact(index, config) == (compacted.manifest, 3, 0)


def test_what_was_deleted_to_the_last_leaves_an_empty_index_that_grows_again(tmp_path: Path) -> None:
    source = write(tmp_path, "docs.jsonl", DOCUMENTS[:3])
    index = tmp_path / "index"
    build(BuildRequest(kind="jsonl", sources=(source,), folder=index), Config())
    delete(index, ["d0", "d1", "d2"])
    with Index(index) as reader:
        assert compact(index, Config()).manifest.segments == ()
        assert [path.name for path in (index / "segments").iterdir()] == ["000000"]  # it is being read
        assert answers(index, Config(), ("bm25", "dense", "hybrid")) == [[[]] * 5] * 3
        assert reader.search(["measles"]) == [[]]
        build(BuildRequest(kind="jsonl", sources=(source,), folder=index, verb="append"), Config())
    assert [segment.name for segment in manifests.read(index).segments] == ["000001"]
    assert answers(index, Config())[0][1][0].docid in {"d0", "d1", "d2"}


def test_a_reader_keeps_its_files_until_it_is_closed(tmp_path: Path) -> None:
    config = convert({"index": {"segment_passages": 10}}, "test")
    grown(tmp_path, config, dense=False)
    index = tmp_path / "index"
    expected = answers(index, config)
    reader = Index(index, config)  # nothing but the manifest is read yet
    compact(index, Config())
    assert len(list((index / "segments").iterdir())) == 6
    assert [reader.search(QUERIES, Search(k=50))] == expected
    reader.close()
    delete(index, ["d5"])
    assert [path.name for path in (index / "segments").iterdir()] == ["000005"]


def test_damaged_files_are_not_copied(tmp_path: Path) -> None:
    config = convert({"index": {"segment_passages": 10}}, "test")
    grown(tmp_path, config, dense=False)
    index = tmp_path / "index"
    before = manifests.read(index)
    damaged = index / "segments" / "000001" / "documents.sqlite"
    content = bytearray(damaged.read_bytes())
    content[-1] ^= 1
    damaged.write_bytes(content)
    with pytest.raises(IndexStateError) as error:
        compact(index, Config())
    assert str(error.value) == (
        f"{damaged}: has changed: its SHA-256 is not that of the manifest; "
        "repair it with factseek verify-index --repair, or restore a snapshot"
    )
    assert manifests.read(index) == before


def test_a_compaction_needs_the_lock_and_an_index(tmp_path: Path) -> None:
    with pytest.raises(IndexStateError, match="there is no index"):
        compact(tmp_path / "index", Config())
    grown(tmp_path, Config(), dense=False)
    with locked(tmp_path / "index"), pytest.raises(IndexStateError, match="is being written by process"):
        compact(tmp_path / "index", Config())


def test_too_many_segments_are_merged_by_an_append(tmp_path: Path) -> None:
    config = convert({"index": {"max_segments": 3}}, "test")
    index, counts = tmp_path / "index", []
    for i, document in enumerate(DOCUMENTS[:9]):
        source = write(tmp_path, f"{i}.jsonl", [document])
        verb = "append" if i else ""
        report = build(BuildRequest(kind="jsonl", sources=(source,), folder=index, verb=verb, dense=False), config)
        assert report.manifest == manifests.read(index)
        counts.append(([segment.documents for segment in report.manifest.segments], report.merged))
    assert counts == [
        ([1], 0),
        ([1, 1], 0),
        ([1, 1, 1], 0),
        ([4], 3),
        ([4, 1], 0),
        ([4, 1, 1], 0),
        ([4, 3], 2),
        ([4, 3, 1], 0),
        ([4, 3, 2], 1),
    ]
    assert answers(index, config) == answers(fresh(tmp_path, DOCUMENTS[:9], config, dense=False), config)


def test_an_append_stands_when_segments_cannot_be_merged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    index, config = tmp_path / "index", tmp_path / "config.yaml"
    config.write_text("index: {max_segments: 1}\n", "utf-8")
    first, second = (write(tmp_path, f"{i}.jsonl", [DOCUMENTS[i]]) for i in range(2))
    options = ["--index", str(index), "--no-dense", "--config", str(config)]
    assert commands.main(["index", "jsonl", str(first), *options]) == 0
    damaged = index / "segments" / "000000" / "documents.sqlite"
    content = bytearray(damaged.read_bytes())
    content[-1_000] = 0xFF  # where nothing stands, and outside of the sample that is compared when it is opened
    damaged.write_bytes(content)
    capsys.readouterr()
    assert commands.main(["index", "jsonl", str(second), *options, "--append"]) == 0
    assert capsys.readouterr().err == (
        f"the segments could not be merged: {damaged}: has changed: its SHA-256 is not that of the manifest; "
        "repair it with factseek verify-index --repair, or restore a snapshot\n"
    )
    assert manifests.read(index).documents == 2
    assert commands.main(["verify-index", "--repair", *options[:2]]) == 0
    third = write(tmp_path, "2.jsonl", [DOCUMENTS[2]])
    capsys.readouterr()
    assert commands.main(["index", "jsonl", str(third), *options, "--append"]) == 0
    assert capsys.readouterr().err == "small segments were merged; segments now: 1\n"
    assert [segment.documents for segment in manifests.read(index).segments] == [3]


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
        ([4, 1, 1, 1], [[1, 1, 1]]),
        ([3, 1, 1, 1], [[3, 1, 1, 1]]),
        ([64, 16, 4, 1], [[4, 1]]),  # the two smallest at least
        ([64, 16, 16, 4, 1], [[64, 16, 16, 4, 1]]),  # these two would not be enough
        ([1000, 1000, 1000, 1000], []),  # full
        ([1000, 600, 600, 600], [[600, 600, 600]]),
        ([1, 1, 1], []),  # not too many
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
