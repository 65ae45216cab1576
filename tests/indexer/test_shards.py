"""Sharded indexes: what holds of one index after any verb holds of its shards together."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from factseek import commands
from factseek.indexer import generation as generations
from factseek.indexer import jobs
from factseek.indexer.aliases import point
from factseek.indexer.build import BuildRequest, Verb, build
from factseek.indexer.compaction import compact
from factseek.indexer.deletion import delete
from factseek.indexer.export import export
from factseek.indexer.repair import repair
from factseek.indexer.resharding import reshard, shard, unshard
from factseek.indexer.restoration import restore
from factseek.indexer.snapshot import snapshot
from factseek.indexer.verification import verify
from factseek.indexer.watching import Watch, Watched
from factseek.indexer.writer import Writer
from factseek.retrieval.documents import SegmentDocuments
from factseek.retrieval.errors import IndexStateError, SourceError, UserError
from factseek.retrieval.index.local import Index
from factseek.retrieval.live.snapshot import Snapshot
from factseek.retrieval.lucene.jvm import java_thread
from factseek.retrieval.manifest import DOCUMENTS
from factseek.retrieval.searcher import Search
from factseek.retrieval.shards import layout
from factseek.retrieval.vectors import read_vectors
from factseek.settings import Config, convert
from tests.indexer.test_writer import LIMITS, job_of, leave, lines, result, rows

CONFIG: Config = convert({"index": {"segment_passages": 10}}, "test")
State = dict[str, str]
FIRST: State = {f"d{i}": f"Measles spreads quickly {i}." for i in range(40)}
CHANGED: State = {f"d{i}": f"Ice melts {i}." for i in range(30, 50)}


def written(folder: Path, name: str, documents: State) -> Path:
    rows = (json.dumps({"docid": docid, "text": text}) + "\n" for docid, text in documents.items())
    (folder / name).write_text("".join(rows), "utf-8")
    return folder / name


def built(index: Path, source: Path, verb: Verb = "", shards: int = 0, *, dense: bool = False) -> None:
    request = BuildRequest(kind="jsonl", sources=(source,), folder=index, verb=verb, dense=dense, shards=shards)
    build(request, CONFIG)


def exported(index: Path) -> State:
    documents = map(json.loads, export(index))
    return {document["docid"]: document["text"] for document in documents}


def passages(index: Path) -> Counter[tuple[str, bool]]:
    """Return each document that is in an index, dead ones too: its docid, and whether it lives."""
    there: Counter[tuple[str, bool]] = Counter()
    for part, segment in generations.read(index).segments:
        documents = SegmentDocuments(part.folder / "segments" / segment.name / DOCUMENTS)
        docids = documents.rows()[0]
        documents.close()
        there.update((docid, row not in segment.deleted) for row, docid in enumerate(docids))
    return there


def check_owners(index: Path) -> None:
    shards = layout.read(index)
    for number, part in enumerate(shards.shards):
        snap = Snapshot(part.folder(index), CONFIG, None, manifest=part.manifest)  # type: ignore[arg-type]
        assert {layout.owner(document.docid, len(shards.shards)) for document in snap.documents()} <= {number}
        snap.close()


def test_a_sharded_index_holds_what_one_index_holds_live_and_dead(tmp_path: Path) -> None:
    first, changed = written(tmp_path, "first.jsonl", FIRST), written(tmp_path, "changed.jsonl", CHANGED)
    one, many = tmp_path / "one", tmp_path / "many"
    for index, shards in ((one, 0), (many, 3)):
        built(index, first, shards=shards)
        built(index, changed, "update")
        assert delete(index, ["d1", "d45", "nope"]).unknown == ("nope",)
    assert passages(one) == passages(many)
    assert exported(many) == {d: text for d, text in (FIRST | CHANGED).items() if d not in ("d1", "d45")}
    assert generations.published(many).documents == generations.published(one).documents == 48
    assert generations.published(many).passages == generations.published(one).passages
    check_owners(many)
    for index in (one, many):
        assert compact(index, CONFIG).dropped == 12
        assert verify(index, CONFIG).faults == {}
    assert passages(one) == passages(many)


def test_a_shard_is_not_written_through_a_link(tmp_path: Path) -> None:
    index, first = tmp_path / "index", written(tmp_path, "first.jsonl", FIRST)
    built(index, first, shards=2)
    elsewhere, link = tmp_path / "other-disk", tmp_path / "link"
    (index / "shard-01").rename(elsewhere)
    (index / "shard-01").symlink_to(elsewhere)
    link.symlink_to(index / "shard-00")
    for shard_folder in (index / "shard-01", link):
        with pytest.raises(IndexStateError, match=f"{shard_folder}: is a shard of the index {index}; name {index} ins"):
            delete(shard_folder, ["d1"])


def test_a_work_that_cannot_open_leaves_no_build_behind(tmp_path: Path) -> None:
    index, first = tmp_path / "index", written(tmp_path, "first.jsonl", FIRST)
    built(index, first, shards=3)
    (documents,) = (index / "shard-01").glob("segments/*/documents.sqlite")
    documents.unlink()
    with pytest.raises(IndexStateError, match=r"documents\.sqlite"):
        built(index, first, "append")
    assert not list(index.glob("**/build"))


def test_the_same_document_is_no_other_in_any_shard(tmp_path: Path) -> None:
    index, first = tmp_path / "index", written(tmp_path, "first.jsonl", FIRST)
    built(index, first, shards=3)
    before = layout.read(index).id
    built(index, first, "append")
    assert layout.read(index).id == before
    with pytest.raises(SourceError, match=r"docid 'd30' stands at .*first.jsonl:31 already, with other content"):
        built(index, written(tmp_path, "changed.jsonl", CHANGED), "append")
    assert layout.read(index).id == before


def test_an_interrupted_build_goes_on_in_every_shard(tmp_path: Path) -> None:
    index, source = tmp_path / "index", written(tmp_path, "first.jsonl", FIRST)
    good = source.read_text("utf-8")
    source.write_text(good.replace('"d35"', '""'), "utf-8")
    with pytest.raises(SourceError, match=r"first\.jsonl:36"):
        built(index, source, shards=2)
    with pytest.raises(IndexStateError, match="the index is half-built"):
        generations.read(index)
    finished = {path: path.stat().st_ino for path in index.glob("*/segments/*/documents.sqlite")}
    assert len(finished) == 2
    with pytest.raises(IndexStateError, match="a build with --shards was interrupted in it; run it again with"):
        built(index, source)
    source.write_text(good, "utf-8")
    request = BuildRequest(kind="jsonl", sources=(source,), folder=index, dense=False, shards=2)
    report = build(request, CONFIG)
    assert report.resumed
    assert report.documents == 40
    assert {path: path.stat().st_ino for path in finished} == finished
    assert exported(index) == FIRST
    check_owners(index)


def test_sources_that_no_longer_begin_as_they_did_are_read_anew(tmp_path: Path) -> None:
    index, source = tmp_path / "index", written(tmp_path, "first.jsonl", FIRST)
    lines = source.read_text("utf-8").splitlines(keepends=True)
    source.write_text("".join([*lines[:35], "{}\n"]), "utf-8")
    with pytest.raises(SourceError):
        built(index, source, shards=2)
    source.write_text("".join(lines[20:]), "utf-8")
    request = BuildRequest(kind="jsonl", sources=(source,), folder=index, dense=False, shards=2)
    assert not build(request, CONFIG).resumed
    assert set(exported(index)) == {f"d{i}" for i in range(20, 40)}
    assert verify(index, CONFIG).faults == {}


def test_a_build_that_fails_leaves_no_folder(tmp_path: Path) -> None:
    empty = written(tmp_path, "bad.jsonl", {"": "no docid"})
    with pytest.raises(SourceError):
        built(tmp_path / "index", empty, shards=3)
    assert not (tmp_path / "index").exists()


def test_shards_follow_what_was_published(tmp_path: Path) -> None:
    """A writer that died after publishing left the manifests of shards behind: the next one mends them."""
    index = tmp_path / "index"
    built(index, written(tmp_path, "first.jsonl", FIRST), shards=3)
    behind = {path: path.read_bytes() for path in index.glob("*/manifest.json")}
    shutil.copytree(index, tmp_path / "kept")
    built(index, written(tmp_path, "changed.jsonl", CHANGED), "update")
    after = {path: path.read_bytes() for path in behind}
    for path, content in behind.items():
        path.write_bytes(content)
    assert exported(index) == FIRST | CHANGED
    assert delete(index, ["nope"]).documents == 0
    assert {path: path.read_bytes() for path in behind} == after
    assert verify(index, CONFIG).faults == {}


def vectors(index: Path) -> dict[str, bytes]:
    by_docid = {}
    for part, segment in generations.read(index).segments:
        folder = part.folder / "segments" / segment.name
        documents = SegmentDocuments(folder / DOCUMENTS)
        docids = documents.rows()[0]
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
    changes: list[Callable[[], object]] = [
        lambda: shard(index, 3, CONFIG),
        lambda: reshard(index, 5, CONFIG),
        lambda: reshard(index, 2, CONFIG),
        lambda: unshard(index, CONFIG),
    ]
    for change, names in zip(changes, (names_of(3), names_of(5), names_of(2), ["manifest.json"]), strict=True):
        change()
        assert exported(index) == documents
        assert vectors(index) == there
        assert verify(index, CONFIG).faults == {}
        assert sorted({path.name for path in index.iterdir()} - {"lock", "segments"}) == names


def names_of(shards: int) -> list[str]:
    return [*(f"shard-{number:02d}" for number in range(shards)), "shards.json"]


def test_readers_keep_what_they_have_opened_while_an_index_is_divided(tmp_path: Path) -> None:
    index = tmp_path / "index"
    built(index, written(tmp_path, "first.jsonl", FIRST))
    shard(index, 2, CONFIG)
    shards, lease = layout.open_leased(index)
    unshard(index, CONFIG)
    for part in shards.shards:
        snap = Snapshot(part.folder(index), CONFIG, None, manifest=part.manifest)  # type: ignore[arg-type]
        assert len(list(snap.documents())) == part.manifest.documents
        snap.close()
    lease.close()
    delete(index, ["nope"])
    assert sorted(path.name for path in index.iterdir()) == ["lock", "manifest.json", "segments"]


def test_a_snapshot_of_shards_is_restored_over_any_index(tmp_path: Path) -> None:
    index, snap = tmp_path / "index", tmp_path / "snap"
    built(index, written(tmp_path, "first.jsonl", FIRST), shards=3)
    snapshot(index, snap)
    built(index, written(tmp_path, "changed.jsonl", CHANGED), "update")
    for _ in range(2):
        restore(snap, index, CONFIG, overwrite=True)
        assert exported(index) == FIRST
        assert verify(index, CONFIG).faults == {}
        unshard(index, CONFIG)
        assert exported(index) == FIRST


def test_a_document_in_two_shards_is_a_fault(tmp_path: Path) -> None:
    index = tmp_path / "index"
    built(index, written(tmp_path, "first.jsonl", {"a": "Ice.", "g": "Sun."}), shards=2)
    shards = layout.read(index)
    assert [part.manifest.documents for part in shards.shards] == [1, 1]
    shutil.rmtree(index / "shard-01")
    shutil.copytree(index / "shard-00", index / "shard-01")
    twice = tuple(layout.Shard(path=part.path, manifest=shards.shards[0].manifest) for part in shards.shards)
    layout.publish(index, layout.Shards(layout=1, created="", routing="blake2b:2", shards=twice))
    faults = [fault.what for fault in verify(index, CONFIG).all_faults]
    assert len(faults) == 1
    assert "in shard shard-00 too, which owns it" in faults[0]


def test_a_damaged_shard_is_mended(tmp_path: Path) -> None:
    index = tmp_path / "index"
    built(index, written(tmp_path, "first.jsonl", FIRST), shards=2)
    damaged = next((index / "shard-01").glob("segments/*/words.*"))
    damaged.write_bytes(b"")
    (name,) = verify(index, CONFIG).faults
    assert name == f"shard-01/{damaged.parent.name}"
    done = repair(index, CONFIG)
    assert done.segments == (name,)
    assert done.left == []
    assert exported(index) == FIRST


Refused = tuple[Callable[[Path], object], str]
REFUSED: dict[str, Refused] = {
    "no verb": (lambda index: built(index, index.parent / "first.jsonl", shards=3), "there is an index already"),
    "another number": (
        lambda index: built(index, index.parent / "first.jsonl", "append", 4),
        "index: has 3 shards; leave out --shards 4; factseek reshard makes 4 of it",
    ),
    "of a whole index": (
        lambda index: built(index.parent / "whole", index.parent / "first.jsonl", "update", 2),
        "whole: has no shards; leave out --shards 2; factseek shard makes 2 of it",
    ),
    "sharded twice": (lambda index: shard(index, 2, CONFIG), "has 3 shards already; factseek reshard makes another"),
    "not sharded": (lambda index: unshard(index.parent / "whole", CONFIG), "has no shards; factseek shard makes some"),
    "too few": (lambda index: reshard(index, 0, CONFIG), "--shards 0: give a number of shards from 1 to 1000"),
    "a shard alone": (lambda index: delete(index / "shard-01", ["d1"]), "shard-01: is a shard of the index"),
}


@pytest.fixture(scope="module")
def sharded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sharded")
    first = written(folder, "first.jsonl", {"a": "Ice.", "b": "Sun.", "c": "Sea."})
    built(folder / "index", first, shards=3)
    built(folder / "whole", first)
    return folder / "index"


@pytest.mark.parametrize("mistake", REFUSED)
def test_a_mistake_is_told_in_one_line(sharded: Path, mistake: str) -> None:
    before = layout.read(sharded)
    call, message = REFUSED[mistake]
    with pytest.raises(UserError) as caught:
        call(sharded)
    assert message in caught.value.line
    assert layout.read(sharded) == before


def test_a_missing_shard_stops_a_writer(sharded: Path) -> None:
    (sharded / "shard-01").rename(sharded / "away")
    with pytest.raises(
        IndexStateError, match=r"shard-01: is missing: it is a shard of the index .*; bring back its fol"
    ):
        delete(sharded, ["a"])
    (sharded / "away").rename(sharded / "shard-01")
    assert verify(sharded, CONFIG).faults == {}


def said(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert commands.main([str(argument) for argument in arguments]) == 0
    return capsys.readouterr().out


def test_the_commands_say_what_there_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    index, source = tmp_path / "index", written(tmp_path, "first.jsonl", {"a": "Ice.", "g": "Sun.", "h": "Sea."})
    build_it = ("index", "jsonl", source, "--index", index, "--no-dense")
    assert "added 3 documents in 3 passages" in said(capsys, *build_it, "--shards", 2)
    lines = said(capsys, "info", "--index", index).splitlines()
    assert [line.split(maxsplit=1)[0] for line in lines[6:]] == ["shard-00", "segment", "shard-01", "segment"]
    assert json.loads(said(capsys, "info", "--index", index, "--json"))["routing"] == "blake2b:2"
    assert "3 documents in 3 shards, before in 2 shards" in said(capsys, "reshard", "--index", index, "--shards", 3)
    assert "3 documents in one index, before in 3 shards" in said(capsys, "unshard", index)
    assert json.loads(said(capsys, "shard", index, "--into", 2, "--json"))["shards"] == 2
    assert "3 whole documents, no fault found" in said(capsys, "verify-index", "--index", index)


def test_what_comes_over_http_reaches_its_shard(tmp_path: Path) -> None:
    index = tmp_path / "index"
    built(index, written(tmp_path, "first.jsonl", {"a": "Ice.", "g": "Sun."}), shards=2)
    writer = Writer(index, CONFIG, LIMITS)
    names = [leave(index, "a", "A wombat."), leave(index, "h", "Wombats."), leave(index, "g"), leave(index, "nope")]
    assert writer.work()
    assert [result(index, name) for name in names] == ["replaced", "created", "deleted", "absent"]
    job = jobs.submit(index, "update", lines(rows(30)))
    while writer.work():
        pass
    writer.close()
    assert job_of(index, job).added == 30
    assert set(exported(index)) == {"a", "h", *(f"n{number}" for number in range(30))}
    assert verify(index, CONFIG).faults == {}
    check_owners(index)


@pytest.mark.real
def test_an_index_is_read_while_it_is_divided(tmp_path: Path) -> None:
    index = tmp_path / "index"
    built(index, written(tmp_path, "first.jsonl", FIRST))

    def divide() -> None:
        for _ in range(5):
            shard(index, 2, CONFIG)
            unshard(index, CONFIG)

    with ThreadPoolExecutor(1) as pool:
        divided = pool.submit(java_thread()(divide))
        reads = 0
        while not divided.done():
            assert exported(index) == FIRST
            with Index(index, CONFIG) as opened:
                assert len(opened.search(["measles"], Search(k=50, retriever="bm25"))[0]) == 40
            reads += 1
        divided.result()
    assert reads > 3


def test_a_watched_folder_goes_on_into_shards(tmp_path: Path) -> None:
    index, inbox = tmp_path / "index", tmp_path / "inbox"
    inbox.mkdir()
    built(index, written(tmp_path, "first.jsonl", {"a": "Ice.", "g": "Sun."}), shards=2)
    request = BuildRequest(kind="jsonl", sources=(inbox,), folder=index, dense=False)
    config: Config = convert({"watch": {"settle_seconds": 0}}, "test")
    watch = Watch(Watched(folder=inbox, request=request), config)
    written(inbox, "new.jsonl", {"a": "Ice melts.", "h": "Sea."})
    watch.look()
    (outcome,) = watch.batches()
    assert outcome.error == ""
    assert outcome.report is not None
    assert outcome.report.replaced == 1
    assert exported(index) == {"a": "Ice melts.", "g": "Sun.", "h": "Sea."}
    check_owners(index)


def test_an_alias_stands_for_an_index_in_shards(sharded: Path, tmp_path: Path) -> None:
    point(tmp_path / "alias", sharded)
    assert delete(tmp_path / "alias", ["nope"]).unknown == ("nope",)
    assert exported(tmp_path / "alias") == exported(sharded)
    with pytest.raises(IndexStateError, match="is a shard of the index"):
        delete(tmp_path / "alias" / "shard-00", ["a"])


def test_a_view_is_added_to_every_shard(tmp_path: Path) -> None:
    index, config = tmp_path / "index", convert({"index": {"words": False}}, "test")
    source = written(tmp_path, "first.jsonl", {"a": "Ice.", "b": "Sun."})
    build(BuildRequest(kind="jsonl", sources=(source,), folder=index, dense=False, shards=3), config)
    assert all("words" not in part.published.views for part in generations.read(index).parts)
    compact(index, CONFIG, add=["words"])
    assert all("words" in part.published.views for part in generations.read(index).parts)
    assert verify(index, CONFIG).faults == {}


def test_a_shard_may_lie_elsewhere(tmp_path: Path) -> None:
    index, elsewhere = tmp_path / "index", tmp_path / "elsewhere"
    built(index, written(tmp_path, "first.jsonl", FIRST), shards=2)
    (index / "shard-01").rename(elsewhere)
    description = json.loads((index / "shards.json").read_text("utf-8"))
    description["shards"][1]["path"] = str(elsewhere)
    (index / "shards.json").write_text(json.dumps(description), "utf-8")
    built(index, written(tmp_path, "changed.jsonl", CHANGED), "update")
    assert exported(index) == FIRST | CHANGED
    snapshot(index, tmp_path / "snap")
    assert sorted(path.name for path in (tmp_path / "snap").iterdir() if path.name != "lock") == names_of(2)
    reshard(index, 3, CONFIG)
    assert [shard.path for shard in layout.read(index).shards] == ["shard-00", str(elsewhere), "shard-01"]
    assert exported(tmp_path / "snap") == exported(index) == FIRST | CHANGED
    assert verify(index, CONFIG).faults == {}


def test_a_shard_that_is_named_by_its_whole_path_is_not_swept_away(tmp_path: Path) -> None:
    index = tmp_path / "index"
    built(index, written(tmp_path, "first.jsonl", FIRST), shards=2)
    kept = index / "shard-01.kept"
    shutil.copytree(index / "shard-01", kept)
    description = json.loads((index / "shards.json").read_text("utf-8"))
    description["shards"][1]["path"] = str((index / "shard-01").resolve())
    (index / "shards.json").write_text(json.dumps(description), "utf-8")
    built(index, written(tmp_path, "changed.jsonl", CHANGED), "update")
    assert exported(index) == FIRST | CHANGED
    assert (kept / "manifest.json").exists()


def redirected(index: Path, path: Path) -> None:
    """Name another folder for the second shard of an index."""
    description = json.loads((index / "shards.json").read_text("utf-8"))
    description["shards"][1]["path"] = str(path)
    (index / "shards.json").write_text(json.dumps(description), "utf-8")


def test_a_path_that_leads_to_another_index_leaves_that_as_it_was(tmp_path: Path) -> None:
    index, other = tmp_path / "index", tmp_path / "other"
    built(index, written(tmp_path, "first.jsonl", FIRST), shards=2)
    built(other, tmp_path / "first.jsonl")
    before = (other / "manifest.json").read_bytes()
    redirected(index, other)
    for write in (lambda: delete(index, ["d1"]), lambda: compact(index, CONFIG), lambda: repair(index, CONFIG)):
        with pytest.raises(
            IndexStateError, match=r"other: is another index, or another shard, than .*/shards\.json says"
        ):
            write()
    assert (other / "manifest.json").read_bytes() == before
    assert verify(other, CONFIG).faults == {}
    redirected(index, index / "shard-01")
    assert exported(index) == FIRST


def test_two_shards_do_not_share_a_folder(tmp_path: Path) -> None:
    index = tmp_path / "index"
    built(index, written(tmp_path, "first.jsonl", FIRST), shards=2)
    shutil.rmtree(index / "shard-01")
    (index / "shard-01").symlink_to("shard-00")
    with pytest.raises(IndexStateError, match="shard shard-01 lies in the folder of shard shard-00; each has a folder"):
        Index(index, CONFIG)
