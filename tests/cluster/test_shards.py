"""Sharded indexes: what holds of one index after any verb holds of its shards together."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from factseek.cluster import layout
from factseek.cluster.build import build_here, build_shards, repair
from factseek.core.errors import IndexStateError, SourceError
from factseek.indexer import compaction, deletion, snapshot
from factseek.indexer.build import BuildReport, BuildRequest, Verb
from factseek.indexer.queue import Queue, waiting
from factseek.retrieval.dense.vectors import read_vectors
from factseek.retrieval.lucene.jvm import java_thread
from factseek.retrieval.search.index import Index
from factseek.retrieval.search.opening import leased, read_published
from factseek.retrieval.search.options import Search
from factseek.retrieval.search.snapshot import Snapshot
from factseek.retrieval.store import manifest as manifests
from factseek.retrieval.store.documents import SegmentDocuments
from factseek.retrieval.store.manifest import DOCUMENTS
from factseek.settings import Config
from tests.conftest import ROOT

from .verbs import (
    CONFIG,
    State,
    build,
    compact,
    delete,
    divide,
    exported,
    passages,
    verify,
    written,
)

pytestmark = pytest.mark.real  # it builds many indexes
FIRST: State = {f"d{i}": f"Measles spreads quickly {i}." for i in range(40)}
CHANGED: State = {f"d{i}": f"Ice melts {i}." for i in range(30, 50)}


def built(
    index: Path, source: Path, verb: Verb = "", shards: int = 0, *, dense: bool = False
) -> None:
    build(
        BuildRequest(kind="jsonl", sources=(source,), folder=index, verb=verb, dense=dense),
        CONFIG,
        shards,
    )


def check_owners(index: Path) -> None:
    shards = layout.read(index)
    for number, part in enumerate(shards.shards):
        snap = Snapshot(part.folder(index), CONFIG, None, manifest=part.manifest)  # type: ignore[arg-type]
        assert {
            layout.owner(document.docid, len(shards.shards)) for document in snap.documents()
        } <= {number}
        snap.close()


def test_a_sharded_index_holds_what_one_index_holds_live_and_dead(tmp_path: Path) -> None:
    first, changed = (
        written(tmp_path, "first.jsonl", FIRST),
        written(tmp_path, "changed.jsonl", CHANGED),
    )
    one, many = tmp_path / "one", tmp_path / "many"
    for index, shards in ((one, 0), (many, 3)):
        built(index, first, shards=shards)
        built(index, changed, "update")
        assert delete(index, ["d1", "d45", "nope"]).unknown == ("nope",)
    assert passages(one) == passages(many)
    assert exported(many) == {
        d: text for d, text in (FIRST | CHANGED).items() if d not in ("d1", "d45")
    }
    assert read_published(many).documents == read_published(one).documents == 48
    assert read_published(many).passages == read_published(one).passages
    check_owners(many)
    for index in (one, many):
        assert compact(index, CONFIG).dropped == 12
        assert verify(index, CONFIG).faults == []
    assert passages(one) == passages(many)


def test_a_shard_is_not_written_alone(tmp_path: Path) -> None:
    index, first = tmp_path / "index", written(tmp_path, "first.jsonl", FIRST)
    built(index, first, shards=2)
    elsewhere, link = tmp_path / "other-disk", tmp_path / "link"
    (index / "shard-01").rename(elsewhere)
    (index / "shard-01").symlink_to(elsewhere)
    link.symlink_to(index / "shard-00")
    for folder in (index / "shard-01", link):
        with pytest.raises(
            IndexStateError,
            match=f"{folder}: is a part of the index {index}; name that index instead",
        ):
            deletion.delete(folder, ["d1"])
    assert delete(index, ["d1"]).documents == 1


def interrupted(request: BuildRequest, shards: int, done: int) -> None:
    def some(requests: list[BuildRequest], config: Config) -> list[BuildReport]:
        build_here(requests[:done], config)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_shards(request, shards, CONFIG, some)  # type: ignore[arg-type]


def test_an_interrupted_build_goes_on(tmp_path: Path) -> None:
    index, source = tmp_path / "index", written(tmp_path, "first.jsonl", FIRST)
    request = BuildRequest(kind="jsonl", sources=(source,), folder=index, dense=False)
    interrupted(request, 3, 2)
    with pytest.raises(IndexStateError, match="is not a factseek index"):
        manifests.read(index)
    finished = {path: path.stat().st_ino for path in index.glob("*/segments/*/documents.sqlite")}
    report = build_shards(request, 3, CONFIG)
    assert report.documents + report.duplicates == 40
    assert {path: path.stat().st_ino for path in finished} == finished
    assert exported(index) == FIRST
    check_owners(index)


def test_a_change_that_was_interrupted_is_undone(tmp_path: Path) -> None:
    index = tmp_path / "index"
    built(index, written(tmp_path, "first.jsonl", FIRST), shards=3)
    published_, shards = (index / "shards.json").read_bytes(), sorted(index.glob("*/manifest.json"))
    before = [path.read_bytes() for path in shards]
    lease = layout.open_leased(index)[1]  # else the segments of before would be gone
    built(index, written(tmp_path, "changed.jsonl", CHANGED), "update")
    (index / "shards.json").write_bytes(published_)
    lease.close()
    assert exported(index) == FIRST
    assert delete(index, ["nope"]).documents == 0
    assert [path.read_bytes() for path in shards] == before
    assert verify(index, CONFIG).faults == []
    with pytest.raises(SourceError, match="with different content"):
        built(index, tmp_path / "changed.jsonl", "append")
    assert [path.read_bytes() for path in shards] == before


def vectors(index: Path) -> dict[str, bytes]:
    by_docid = {}
    with leased(index) as parts:
        for part, segment in (
            (part, segment) for part, manifest in parts for segment in manifest.segments
        ):
            folder = part / "segments" / segment.name
            documents = SegmentDocuments(folder / DOCUMENTS)
            docids = [passage.docid for _, passage in documents.each_passage()]
            documents.close()
            rows = np.array(read_vectors(folder / "vectors.f32", segment.passages, 384))
            by_docid |= {docid: row.tobytes() for docid, row in zip(docids, rows, strict=True)}
    return by_docid


def test_resharding_copies_documents_and_vectors(tmp_path: Path) -> None:
    index = tmp_path / "index"
    built(index, written(tmp_path, "first.jsonl", dict(list(FIRST.items())[:12])), dense=True)
    delete(index, ["d3"])
    documents, there = exported(index), vectors(index)
    del there["d3"]
    for shards, names in ((3, range(3)), (5, range(3, 8)), (2, range(2)), (0, ())):
        divide(index, shards, CONFIG)
        assert exported(index) == documents
        assert vectors(index) == there
        assert verify(index, CONFIG).faults == []
        left = (
            [*(f"shard-{number:02d}" for number in names), "shards.json"]
            if shards
            else ["manifest.json"]
        )
        assert sorted({path.name for path in index.iterdir()} - {"lock", "segments"}) == left


def test_what_takes_no_shards_says_so(tmp_path: Path) -> None:
    index, snap = tmp_path / "index", tmp_path / "snap"
    built(tmp_path / "whole", written(tmp_path, "first.jsonl", FIRST))
    snapshot.snapshot(tmp_path / "whole", snap)
    built(index, tmp_path / "first.jsonl", shards=3)
    refused: list[Callable[[], object]] = [
        lambda: snapshot.snapshot(index, tmp_path / "other"),
        lambda: snapshot.restore(snap, index, CONFIG, overwrite=True),
        lambda: compaction.compact(index, CONFIG),
    ]
    for call in refused:
        with pytest.raises(
            IndexStateError,
            match="is a sharded index, which this command does not support; factsee",
        ):
            call()
    with pytest.raises(
        IndexStateError, match="is a sharded index, which accepts no changes over HTTP"
    ):
        Queue(index)
    (index / "jobs").mkdir()
    (index / "jobs" / "queue.sqlite").touch()  # left from the time before the shards
    assert waiting(index) == (False, 0)
    assert exported(index) == FIRST


def test_an_index_with_waiting_bulks_is_not_divided(tmp_path: Path) -> None:
    index = tmp_path / "index"
    built(index, written(tmp_path, "first.jsonl", FIRST))
    with Queue(index) as queue:
        job = queue.submit_bulk("update", [b'{"docid": "bulk", "text": "Ice melts."}'])
        message = (
            f"{index}: 1 bulk of documents, accepted over HTTP, waits for the writer; let "
            "factseek serve write"
        )
        with pytest.raises(IndexStateError, match=re.escape(message)):
            divide(index, 2, CONFIG)
        assert not layout.is_sharded(index)
        assert {path.name for path in index.iterdir()} == {
            "jobs",
            "lock",
            "manifest.json",
            "segments",
        }
        queue.end(job)
    divide(index, 2, CONFIG)
    assert layout.is_sharded(index)


def test_a_document_in_two_shards_is_a_fault(tmp_path: Path) -> None:
    index = tmp_path / "index"
    built(index, written(tmp_path, "first.jsonl", {"a": "Ice.", "g": "Sun."}), shards=2)
    shards = layout.read(index)
    assert [part.manifest.documents for part in shards.shards] == [1, 1]
    shutil.rmtree(index / "shard-01")
    shutil.copytree(index / "shard-00", index / "shard-01")
    layout.publish(index, [part.path for part in shards.shards], [shards.shards[0].manifest] * 2)
    faults = [fault.what for fault in verify(index, CONFIG).faults]
    assert len(faults) == 1
    assert "also in shard shard-00, where it belongs" in faults[0]


def test_a_damaged_shard_is_mended(tmp_path: Path) -> None:
    index = tmp_path / "index"
    built(index, written(tmp_path, "first.jsonl", FIRST), shards=2)
    damaged = next((index / "shard-01").glob("segments/*/words.*"))
    damaged.write_bytes(b"")
    (name,) = {fault.segment for fault in verify(index, CONFIG).faults}
    assert name == f"shard-01/{damaged.parent.name}"
    done = repair(index, CONFIG)
    assert done.segments == (name,)
    assert done.left == []
    assert exported(index) == FIRST


def test_an_index_is_read_while_it_is_divided(tmp_path: Path) -> None:
    index = tmp_path / "index"
    built(index, written(tmp_path, "first.jsonl", FIRST))

    def divide_often() -> None:
        for shards in (2, 0) * 5:
            divide(index, shards, CONFIG)

    with ThreadPoolExecutor(1) as pool:
        divided = pool.submit(java_thread()(divide_often))
        reads = 0
        while not divided.done():
            assert exported(index) == FIRST
            with Index(index, CONFIG) as opened:
                assert len(opened.search(["measles"], Search(k=50, retriever="bm25"))[0]) == 40
            reads += 1
        divided.result()
    assert reads > 3


def test_a_shard_may_lie_elsewhere(tmp_path: Path) -> None:
    index, elsewhere = tmp_path / "index", tmp_path / "elsewhere"
    built(index, written(tmp_path, "first.jsonl", FIRST), shards=2)
    (index / "shard-01").rename(elsewhere)
    redirected(index, elsewhere)
    built(index, written(tmp_path, "changed.jsonl", CHANGED), "update")
    assert exported(index) == FIRST | CHANGED
    divide(index, 3, CONFIG)
    assert [shard.path for shard in layout.read(index).shards] == [
        "shard-01",
        "shard-02",
        "shard-03",
    ]
    assert not elsewhere.exists()
    assert exported(index) == FIRST | CHANGED
    assert verify(index, CONFIG).faults == []


def redirected(index: Path, path: Path) -> None:
    description = json.loads((index / "shards.json").read_text("utf-8"))
    description["shards"][1]["path"] = str(path)
    (index / "shards.json").write_text(json.dumps(description), "utf-8")


_DIVIDE_AND_DIE = """
import os, sys
from pathlib import Path
from tests.cluster.verbs import CONFIG, divide

index, shards, last_call, path = sys.argv[1:]

def end_before(call, arguments):
    if call == last_call and os.fspath(arguments[0]) == path:
        os._exit(9)

sys.addaudithook(end_before)
divide(Path(index), int(shards), CONFIG)
"""


@pytest.mark.parametrize("shards", [0, 3])
@pytest.mark.parametrize(
    ("call", "name"), [("os.rmdir", "shard-00"), ("os.remove", "elsewhere/manifest.json")]
)
def test_what_a_killed_division_left_is_removed_by_the_next_writer(
    tmp_path: Path, shards: int, call: str, name: str
) -> None:
    index, elsewhere = tmp_path / "index", tmp_path / "elsewhere"
    built(index, written(tmp_path, "first.jsonl", FIRST), shards=2)
    (index / "shard-01").rename(elsewhere)
    redirected(index, elsewhere)
    killed_at = (index if name.startswith("shard") else tmp_path) / name
    command = [sys.executable, "-c", _DIVIDE_AND_DIE, str(index), str(shards), call, str(killed_at)]
    assert subprocess.run(command, cwd=ROOT, timeout=120, check=False).returncode == 9
    assert layout.is_sharded(index) == bool(shards)
    assert delete(index, ["d1"]).documents == 1
    new = {"manifest.json", "segments"}
    if shards:
        new = {"shards.json", *(shard.path for shard in layout.read(index).shards)}
    assert {path.name for path in index.iterdir()} == {"lock", *new}
    assert not elsewhere.exists()
    assert set(exported(index)) == FIRST.keys() - {"d1"}


def test_a_path_that_leads_to_another_index_leaves_that_as_it_was(tmp_path: Path) -> None:
    index, other = tmp_path / "index", tmp_path / "other"
    built(index, written(tmp_path, "first.jsonl", FIRST), shards=2)
    built(other, tmp_path / "first.jsonl")
    before = (other / "manifest.json").read_bytes()
    redirected(index, other)
    for write in (
        lambda: delete(index, ["d1"]),
        lambda: compact(index, CONFIG),
        lambda: repair(index, CONFIG),
    ):
        with pytest.raises(
            IndexStateError, match=r"other: is not the shard that .*/shards\.json describes"
        ):
            write()
    assert (other / "manifest.json").read_bytes() == before
    assert verify(other, CONFIG).faults == []
    redirected(index, index / "shard-01")
    assert exported(index) == FIRST
