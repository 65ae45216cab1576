"""Snapshots and restorations: the same state, byte for byte, while others write, and back."""

import threading
from pathlib import Path

import pytest

from factseek import commands
from factseek.core.domain import Hit
from factseek.core.errors import IndexStateError
from factseek.indexer.build import BuildRequest, build
from factseek.indexer.compaction import compact
from factseek.indexer.deletion import delete
from factseek.indexer.snapshot import restore, snapshot
from factseek.indexer.verification import verify
from factseek.retrieval.lucene.jvm import java_thread
from factseek.retrieval.search.index import Index
from factseek.retrieval.search.options import Search
from factseek.retrieval.store import manifest as manifests
from factseek.settings import Config, convert
from tests.indexer.test_compaction import DOCUMENTS, QUERIES, answers, grown, write

CONFIG = convert({"index": {"segment_passages": 10}}, "test")


@pytest.fixture
def index(tmp_path: Path) -> Path:
    grown(tmp_path, CONFIG, dense=False)
    return tmp_path / "index"


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def docids(answered: list[list[list[Hit]]]) -> list[list[set[str]]]:
    return [[{hit.docid for hit in hits} for hits in of_retriever] for of_retriever in answered]


@pytest.mark.parametrize("copy", [False, True])
def test_a_snapshot_is_an_index_of_the_same_state(index: Path, tmp_path: Path, copy: bool) -> None:
    before, expected = manifests.read(index), answers(index, CONFIG)
    done = snapshot(index, tmp_path / "snap", copy=copy)
    assert done.manifest == before == manifests.read(tmp_path / "snap")
    assert done.shared == (0 if copy else done.files)
    assert done.files == sum(len(segment.files) for segment in before.segments)
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == ["index", "snap"]
    delete(index, [document["docid"] for document in DOCUMENTS])
    compact(index, CONFIG)
    assert answers(tmp_path / "snap", CONFIG) == expected
    assert verify(tmp_path / "snap", CONFIG).faults == []
    original = before.segments[0]
    assert (tmp_path / "snap/segments" / original.name / "documents.sqlite").stat().st_nlink == 1


def test_a_restored_index_is_what_it_was(index: Path, tmp_path: Path) -> None:
    before, expected = manifests.read(index), answers(index, CONFIG)
    snapshot(index, tmp_path / "snap")
    delete(index, ["d1", "d2"])
    with pytest.raises(IndexStateError) as error:
        restore(tmp_path / "snap", index, CONFIG)
    assert str(error.value) == (
        f"{index}: there is an index already; use --overwrite to replace it with the snapshot"
    )
    for target in (index, tmp_path / "new"):
        done = restore(tmp_path / "snap", target, CONFIG, overwrite=True)
        assert done.manifest == before == manifests.read(target)
        assert answers(target, CONFIG) == expected
        assert verify(target, CONFIG).faults == []
        assert not (target / "build").exists()
    delete(tmp_path / "new", ["d4"])
    assert answers(tmp_path / "snap", CONFIG) == expected


def test_readers_keep_what_they_opened_when_a_snapshot_takes_its_place(
    index: Path, tmp_path: Path
) -> None:
    """The snapshot's segments have the names of others that are being read: they get new ones."""
    expected = answers(index, CONFIG)
    snapshot(index, tmp_path / "snap")
    source = write(
        tmp_path, "other.jsonl", [{**document, "text": "Something else."} for document in DOCUMENTS]
    )
    other = tmp_path / "other"
    assert commands.main(["index", "jsonl", str(source), "--index", str(other), "--no-dense"]) == 0
    with Index(other, CONFIG) as reader:
        seen = reader.search(["something"], Search(k=50))
        before = reader.info.published.segments
        restore(tmp_path / "snap", other, CONFIG, overwrite=True)
        # What was deleted is no longer counted.
        assert docids(answers(other, CONFIG)) == docids(expected)
        assert before[0].name not in {segment.name for segment in manifests.read(other).segments}
        assert reader.search(["something"], Search(k=50)) == seen
        assert len(seen[0]) == len(DOCUMENTS)
    assert verify(other, CONFIG).faults == []


def test_snapshots_are_consistent_while_others_write(index: Path, tmp_path: Path) -> None:
    """Each is of one state that was published: a document that is there twice or half would be
    seen.
    """
    done = threading.Event()
    counts = {manifests.read(index).documents}

    def change() -> None:
        with java_thread():
            for turn in range(12):
                new = [{"docid": f"n{turn}-{i}", "text": f"Measles {turn}."} for i in range(3)]
                source = write(tmp_path, "more.jsonl", new)
                request = BuildRequest(
                    kind="jsonl", sources=(source,), folder=index, verb="append", dense=False
                )
                counts.add(build(request, CONFIG).manifest.documents)
                delete(index, [f"n{turn}-0"])
                counts.add(manifests.read(index).documents)
                compact(index, Config())
        done.set()

    writing = threading.Thread(target=change)
    writing.start()
    taken = 0
    while not done.is_set() or not taken:
        snapshot(index, tmp_path / f"snap{taken}")
        taken += 1
    writing.join()
    for number in range(0, taken, max(1, taken // 10)):
        verified = verify(tmp_path / f"snap{number}", CONFIG)
        assert verified.faults == []
        assert verified.documents in counts


def refused(index: Path, target: Path) -> str:
    before = contents(index)
    with pytest.raises(IndexStateError) as error:
        snapshot(index, target)
    assert contents(index) == before
    return str(error.value)


def test_where_a_snapshot_cannot_be(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "empty").mkdir()
    (tmp_path / "full" / "file").touch()
    said = "already exists; give a new folder for the snapshot"
    with monkeypatch.context() as patched:
        patched.chdir(tmp_path / "empty")
        assert refused(index, Path()) == f".: {said}"
    assert refused(index, tmp_path / "full") == f"{tmp_path / 'full'}: {said}"
    assert refused(index, tmp_path / "full/file") == f"{tmp_path / 'full/file'}: {said}"
    inside = index / "snap"
    assert (
        refused(index, inside)
        == f"{inside}: lies in the index {index}; put the snapshot somewhere else"
    )
    with pytest.raises(IndexStateError, match="there is no index"):
        snapshot(tmp_path / "nothing", tmp_path / "snap")
    with pytest.raises(IndexStateError, match="there is no index"):
        restore(tmp_path / "nothing", tmp_path / "new", CONFIG)
    assert not (tmp_path / "new").exists()


def test_the_commands(index: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    snap, new = str(tmp_path / "snap"), str(tmp_path / "new")
    assert commands.main(["snapshot", snap, "--index", str(index)]) == 0
    files = sum(len(segment.files) for segment in manifests.read(index).segments)
    assert capsys.readouterr().out == f"{snap}: 25 documents, {files} files shared with the index\n"
    assert commands.main(["restore", snap, "--index", new]) == 0
    assert capsys.readouterr().out == f"{new}: 25 documents restored from {snap}\n"
    assert commands.main(["snapshot", snap + "2", "--copy", "--index", str(index)]) == 0
    assert capsys.readouterr().out == f"{snap}2: 25 documents, {files} files copied\n"
    assert commands.main(["restore", snap, "--index", new]) == 2
    with Index(new, Config()) as opened:
        assert opened.search(QUERIES[:1])[0]
