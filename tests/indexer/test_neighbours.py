"""Indexes that lie in the folder of another one: no verb on that removes or changes them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from factseek.cluster import build as of_shards
from factseek.cluster import layout
from factseek.indexer import verification
from factseek.indexer.build import BuildRequest, Verb
from factseek.indexer.snapshot import restore, snapshot
from factseek.retrieval.errors import IndexStateError, SourceError
from factseek.settings import Config
from tests.cluster.verbs import build, compact, delete, divide, exported, verify

CONFIG = Config()
Act = Callable[[Path], object]
INSIDE = ("shard-1", "shard-7", "shard-09", "build", "segments", "segments/000077")


def built(index: Path, docids: str, verb: Verb = "", shards: int = 0) -> None:
    source = index.parent / f"{docids}.jsonl"
    source.parent.mkdir(parents=True, exist_ok=True)
    source.write_text("".join(f'{{"docid": "{docid}", "text": "Ice melts."}}\n' for docid in docids), "utf-8")
    build(BuildRequest(kind="jsonl", sources=(source,), folder=index, verb=verb, dense=False), CONFIG, shards)
    source.unlink()


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def restored(index: Path) -> None:
    if not layout.is_sharded(index):
        restore(index.with_name("snap"), index, CONFIG, overwrite=True)


VERBS: dict[str, Act] = {
    "append": lambda index: built(index, "xy", "append"),
    "update": lambda index: built(index, "ax", "update"),
    "overwrite": lambda index: built(index, "xy", "overwrite"),
    "delete": lambda index: delete(index, ["a"]),
    "delete nothing": lambda index: delete(index, ["nope"]),
    "compact": lambda index: compact(index, CONFIG),
    "repair": lambda index: (of_shards if layout.is_sharded(index) else verification).repair(index, CONFIG),
    "restore": restored,
    "divide": lambda index: divide(index, 3, CONFIG),
    "undivide": lambda index: divide(index, 0, CONFIG),
}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("shards", [0, 2])
def test_no_verb_touches_an_index_that_lies_in_the_folder_of_another(tmp_path: Path, shards: int, verb: str) -> None:
    index, other = tmp_path / "index", tmp_path / "other"
    built(other, "abc")
    (other / "lock").unlink()  # as where it was copied without
    built(index, "abcd", shards=shards)
    if not shards:
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


@pytest.mark.parametrize("lock", [True, False])
def test_no_shard_is_made_over_another_index(tmp_path: Path, lock: bool) -> None:
    index = tmp_path / "index"
    for other in (index / "shard-01", index / "shard-03"):
        built(other, "xyz")
        if not lock:
            (other / "lock").unlink()
    before = files(index)
    built(index, "abcd", shards=2)
    assert [shard.path for shard in layout.read(index).shards] == ["shard-00", "shard-02"]
    divide(index, 3, CONFIG)
    divide(index, 0, CONFIG)
    divide(index, 2, CONFIG)
    built(index, "e", "append")
    assert sorted(exported(index)) == list("abcde")
    assert files(index).items() >= before.items()


def test_a_change_does_not_touch_an_index_in_the_place_of_a_shard(tmp_path: Path) -> None:
    index = tmp_path / "index"
    built(index, "abcd", shards=2)
    shutil.rmtree(index / "shard-01")
    built(tmp_path / "other", "xyzabcd")
    (tmp_path / "other").rename(index / "shard-01")
    before = files(index / "shard-01")
    with pytest.raises(IndexStateError, match="is another index, or another shard"):
        delete(index, ["a"])
    assert files(index / "shard-01").items() >= before.items()


def test_a_spare_shard_that_is_held_goes_later_and_an_index_in_its_place_stays(tmp_path: Path) -> None:
    index = tmp_path / "index"
    built(index, "abcdefgh", shards=3)
    _, lease = layout.open_leased(index)
    divide(index, 1, CONFIG)
    assert (index / "shard-01" / "segments").is_dir()
    shutil.rmtree(index / "shard-02")
    built(index / "shard-02", "xyz")
    (index / "shard-01" / "notes.txt").write_text("mine", "utf-8")
    lease.close()
    built(index, "i", "append")
    assert "segments" not in {path.name for path in (index / "shard-01").iterdir()}
    assert (index / "shard-01" / "notes.txt").read_text("utf-8") == "mine"
    assert sorted(exported(index / "shard-02")) == ["x", "y", "z"]
    assert {path.name for path in index.iterdir()} == {"lock", "shard-01", "shard-02", "shard-03", "shards.json"}


def test_what_a_build_of_other_shards_left_is_removed(tmp_path: Path) -> None:
    index = tmp_path / "index"
    bad = tmp_path / "bad.jsonl"
    bad.write_text("".join(json.dumps({"docid": f"d{n}", "text": "Ice."}) + "\n" for n in range(40)) + "{\n", "utf-8")
    request = BuildRequest(kind="jsonl", sources=(bad,), folder=index, dense=False)
    with pytest.raises(SourceError, match=r"bad\.jsonl"):
        build(request, CONFIG, 3)
    assert not index.exists() or {path.name for path in index.iterdir()} <= {"shard-00", "shard-01", "shard-02"}
    built(index, "abc", shards=2)
    assert {path.name for path in index.iterdir()} == {"lock", "shard-00", "shard-01", "shards.json"}
