"""Indexes that lie in the folder of another one: no verb on that removes or changes them."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from factseek.cluster import build as of_shards
from factseek.cluster import layout
from factseek.indexer import verification
from factseek.indexer.build import BuildRequest, Verb
from factseek.indexer.snapshot import restore, snapshot
from factseek.settings import Config
from tests.cluster.verbs import build, compact, delete, divide, exported, verify

CONFIG = Config()
Act = Callable[[Path], object]
INSIDE = ("shard-1", "shard-7", "shard-09", "build", "segments", "segments/000077")


def built(index: Path, docids: str, verb: Verb = "", shards: int = 0) -> None:
    source = index.parent / f"{docids}.jsonl"
    source.parent.mkdir(parents=True, exist_ok=True)
    source.write_text(
        "".join(f'{{"docid": "{docid}", "text": "Ice melts."}}\n' for docid in docids), "utf-8"
    )
    build(
        BuildRequest(kind="jsonl", sources=(source,), folder=index, verb=verb, dense=False),
        CONFIG,
        shards,
    )
    source.unlink()


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


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
    "repair": lambda index: (of_shards if layout.is_sharded(index) else verification).repair(
        index, CONFIG
    ),
    "restore": restored,
    "divide": lambda index: divide(index, 3, CONFIG),
    "undivide": lambda index: divide(index, 0, CONFIG),
}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("shards", [0, 2])
def test_no_verb_touches_an_index_that_lies_in_the_folder_of_another(
    tmp_path: Path, shards: int, verb: str
) -> None:
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
    assert verify(index, CONFIG).faults == []
    for inside in INSIDE:
        assert exported(index / inside) == exported(other), inside
        kept = files(other) if inside not in ("build", "segments") else {}
        assert files(index / inside).items() >= kept.items(), inside
        assert verify(index / inside, CONFIG).faults == []


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
