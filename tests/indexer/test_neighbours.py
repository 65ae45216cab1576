"""Indexes that lie in the folder of another one: no verb on that removes or changes them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from factseek.indexer.build import BuildRequest, Verb, build
from factseek.indexer.compaction import compact
from factseek.indexer.deletion import delete
from factseek.indexer.repair import repair
from factseek.indexer.resharding import reshard, shard, unshard
from factseek.indexer.restoration import restore
from factseek.indexer.snapshot import snapshot
from factseek.indexer.verification import verify
from factseek.retrieval.errors import IndexStateError, SourceError
from factseek.retrieval.shards import layout
from factseek.settings import Config
from tests.indexer.test_shards import exported

CONFIG = Config()
Act = Callable[[Path], object]
INSIDE = ("shard-1", "shard-7", "shard-09", "build", "segments", "segments/000077")


def built(index: Path, docids: str, verb: Verb = "", shards: int = 0) -> None:
    source = index.parent / f"{docids}.jsonl"
    source.parent.mkdir(parents=True, exist_ok=True)
    source.write_text("".join(f'{{"docid": "{docid}", "text": "Ice melts."}}\n' for docid in docids), "utf-8")
    build(BuildRequest(kind="jsonl", sources=(source,), folder=index, verb=verb, dense=False, shards=shards), CONFIG)
    source.unlink()


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def restored(index: Path) -> None:
    restore(index.with_name("snap"), index, CONFIG, overwrite=True)


VERBS: dict[str, Act] = {
    "append": lambda index: built(index, "xy", "append"),
    "update": lambda index: built(index, "ax", "update"),
    "overwrite": lambda index: built(index, "xy", "overwrite"),
    "delete": lambda index: delete(index, ["a"]),
    "delete nothing": lambda index: delete(index, ["nope"]),
    "compact": lambda index: compact(index, CONFIG),
    "repair": lambda index: repair(index, CONFIG),
    "restore": restored,
    "divide": lambda index: reshard(index, 3, CONFIG) if layout.is_sharded(index) else shard(index, 3, CONFIG),
    "undivide": lambda index: unshard(index, CONFIG) if layout.is_sharded(index) else None,
}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("shards", [0, 2])
def test_no_verb_touches_an_index_that_lies_in_the_folder_of_another(tmp_path: Path, shards: int, verb: str) -> None:
    index, other = tmp_path / "index", tmp_path / "other"
    built(other, "abc")
    (other / "lock").unlink()  # as where it was copied without
    built(index, "abcd", shards=shards)
    snapshot(index, tmp_path / "snap")
    for inside in INSIDE:
        shutil.copytree(other, index / inside, dirs_exist_ok=True)
    for _ in range(2):
        VERBS[verb](index)
        built(index, "z", "update")
    assert "z" in exported(index)
    assert verify(index, CONFIG).faults == {}
    for inside in INSIDE:
        assert exported(index / inside) == exported(other), inside
        kept = files(other) if inside not in ("build", "segments") else {}
        assert files(index / inside).items() >= kept.items(), inside
        assert verify(index / inside, CONFIG).faults == {}


def test_the_first_build_in_the_folder_spares_what_is_in_it(tmp_path: Path) -> None:
    index = tmp_path / "index"
    for inside in INSIDE:
        built(index / inside, "abc")
    built(index, "de")
    built(index, "f", "append")
    assert sorted(exported(index)) == ["d", "e", "f"]
    for inside in INSIDE:
        assert sorted(exported(index / inside)) == ["a", "b", "c"]


def test_a_file_of_the_user_s_in_the_folder_of_builds_stays(tmp_path: Path) -> None:
    index = tmp_path / "index"
    note = index / "build" / "mine" / "notes.txt"
    note.parent.mkdir(parents=True)
    note.write_text("mine")
    for docids, verb in (("de", ""), ("f", "append"), ("g", "overwrite")):
        built(index, docids, verb)
        assert note.read_text() == "mine"


INTO: dict[str, Act] = {
    "shard": lambda index: shard(index, 2, CONFIG),
    "restore": lambda index: restore(index.with_name("sharded-snap"), index, CONFIG, overwrite=True),
}


@pytest.mark.parametrize("lock", [True, False])
@pytest.mark.parametrize("verb", INTO)
def test_no_shard_is_made_over_another_index(tmp_path: Path, verb: str, lock: bool) -> None:
    index, other = tmp_path / "index", tmp_path / "index" / "shard-01"
    built(index, "abcd")
    built(tmp_path / "sharded", "abcd", shards=2)
    snapshot(tmp_path / "sharded", tmp_path / "sharded-snap")
    built(other, "xyz")
    if not lock:
        (other / "lock").unlink()
    before, state = files(other), (index / "manifest.json").read_bytes()
    message = f"^{other}: holds an index of its own, where a shard of {index} is to lie; move it to another folder$"
    for _ in range(2):
        with pytest.raises(IndexStateError, match=message):
            INTO[verb](index)
    assert (files(other), (index / "manifest.json").read_bytes()) == (before, state)
    built(index, "e", "append")
    assert files(other) == before
    assert not (index / "shard-00").exists()


def test_a_new_index_of_shards_is_not_made_over_another_index(tmp_path: Path) -> None:
    other = tmp_path / "index" / "shard-01"
    built(other, "xyz")
    before = files(other)
    with pytest.raises(IndexStateError, match="holds an index of its own"):
        built(tmp_path / "index", "abc", shards=2)
    assert files(other) == before
    shutil.rmtree(other)
    built(tmp_path / "index", "abc", shards=2)
    assert sorted(exported(tmp_path / "index")) == ["a", "b", "c"]


def test_further_shards_are_not_made_over_another_index(tmp_path: Path) -> None:
    index = tmp_path / "index"
    built(index, "abcd", shards=2)
    built(index / "shard-02", "xyz")
    with pytest.raises(IndexStateError, match="shard-02: holds an index of its own"):
        reshard(index, 4, CONFIG)
    built(index, "e", "append")
    assert sorted(exported(index / "shard-02")) == ["x", "y", "z"]
    assert sorted(exported(index)) == list("abcde")
    assert not (index / "shard-03").exists()


def test_an_index_in_the_place_of_a_shard_is_not_restored_over(tmp_path: Path) -> None:
    index = tmp_path / "index"
    built(index, "abcd", shards=2)
    snapshot(index, tmp_path / "snap")
    shutil.rmtree(index / "shard-01")
    built(tmp_path / "other", "xyz")
    (tmp_path / "other").rename(index / "shard-01")
    before = files(index / "shard-01")
    with pytest.raises(IndexStateError, match="is another index, or another shard"):
        restored(index)
    assert files(index / "shard-01") == before


@pytest.mark.parametrize("content", ["{", '{"layout": 99}'])
def test_an_index_whose_shards_cannot_be_read_is_restored(tmp_path: Path, content: str) -> None:
    index = tmp_path / "index"
    built(index, "abcd", shards=2)
    snapshot(index, tmp_path / "snap")
    (index / "shards.json").write_text(content, "utf-8")
    restored(index)
    assert sorted(exported(index)) == list("abcd")
    assert verify(index, CONFIG).faults == {}


def test_a_spare_shard_that_is_held_goes_later_and_an_index_in_its_place_stays(tmp_path: Path) -> None:
    index = tmp_path / "index"
    built(index, "abcdefgh", shards=3)
    _, lease = layout.open_leased(index)
    reshard(index, 1, CONFIG)
    assert (index / "shard-01" / "segments").is_dir()
    shutil.rmtree(index / "shard-02")
    built(index / "shard-02", "xyz")
    (index / "shard-01" / "notes.txt").write_text("mine", "utf-8")
    lease.close()
    built(index, "i", "append")
    assert [path.name for path in (index / "shard-01").iterdir()] == ["notes.txt"]
    assert sorted(exported(index / "shard-02")) == ["x", "y", "z"]
    assert {path.name for path in index.iterdir()} == {"lock", "shard-00", "shard-01", "shard-02", "shards.json"}


def test_what_a_build_of_other_shards_left_is_removed(tmp_path: Path) -> None:
    index = tmp_path / "index"
    bad = tmp_path / "bad.jsonl"
    bad.write_text("".join(json.dumps({"docid": f"d{n}", "text": "Ice."}) + "\n" for n in range(40)) + "{\n", "utf-8")
    request = BuildRequest(kind="jsonl", sources=(bad,), folder=index, dense=False, shards=3)
    with pytest.raises(SourceError, match=r"bad\.jsonl"):
        build(request, CONFIG)
    assert not index.exists() or {path.name for path in index.iterdir()} <= {"shard-00", "shard-01", "shard-02"}
    built(index, "abc", shards=2)
    assert {path.name for path in index.iterdir()} == {"lock", "shard-00", "shard-01", "shards.json"}
