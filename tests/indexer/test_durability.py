"""Power cuts: when a manifest takes its place, every file and name that it speaks of has been
synced.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from factseek.cluster import layout
from factseek.indexer.build import BuildRequest, build
from factseek.indexer.compaction import compact
from factseek.indexer.deletion import delete
from factseek.indexer.snapshot import restore, snapshot
from factseek.indexer.verification import repair
from factseek.retrieval.store import manifest as manifests
from factseek.settings import convert
from tests.indexer.test_compaction import DOCUMENTS, write

CONFIG = convert(
    {
        "index": {"segment_passages": 16, "max_segments": 2},
        "dense": {"auto_flat_below": 16, "exact_below": 1, "lists": 2, "scan_probes": 2},
    },
    "test",
)


class Disk:
    """Knows what has been synced, and looks, whenever a manifest takes its place, for what has
    not.
    """

    def __init__(self) -> None:
        self.on = self.hooked = False
        self.published = 0
        self.missed: list[str] = []
        self._synced: set[int] = set()
        self._fsync: Callable[[int], None] = os.fsync

    def fsync(self, handle: int) -> None:
        self._fsync(handle)
        self._synced.add(os.fstat(handle).st_ino)

    def heard(self, event: str, arguments: tuple[object, ...]) -> None:
        """Look when a file is renamed to a manifest, or to that of a sharded index."""
        if not self.on or event != "os.rename":
            return
        file, target = Path(str(arguments[0])), Path(str(arguments[1]))
        self.on = False
        if target.name == manifests.NAME:
            content = manifests.decoded_json(file, file.read_bytes())
            self._look([file], target.parent, manifests.convert_manifest(file, content))
        elif target.name == manifests.SHARDS:
            shards = msgspec.json.decode(file.read_bytes(), type=layout.Shards)
            for shard in shards.shards:
                folder = shard.folder(target.parent)
                self._look([file, folder], folder, shard.manifest)
        self.on = True

    def _look(self, files: list[Path], folder: Path, published: manifests.Manifest) -> None:
        if published.segments:
            files.append(folder / manifests.SEGMENTS)
        for segment in published.segments:
            place = folder / manifests.SEGMENTS / segment.name
            files += [place, place / "lucene", *(place / name for name in segment.files)]
        self.missed += [str(path) for path in files if path.stat().st_ino not in self._synced]
        self.published += 1


DISK = Disk()


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    if not DISK.hooked:
        sys.addaudithook(DISK.heard)  # for good: it hears nothing while it is off
        DISK.hooked = True
    monkeypatch.setattr(os, "fsync", DISK.fsync)
    DISK.published, DISK.missed = 0, []
    return DISK


def test_nothing_is_published_that_is_not_on_the_disk(tmp_path: Path, disk: Disk) -> None:
    index, new = tmp_path / "index", tmp_path / "new"
    source = write(tmp_path, "docs.jsonl", DOCUMENTS)
    changed = write(tmp_path, "changed.jsonl", [{**DOCUMENTS[0], "text": "Changed."}])
    disk.on = True
    try:
        build(BuildRequest(kind="jsonl", sources=(source,), folder=index), CONFIG)
        # And merges.
        build(BuildRequest(kind="jsonl", sources=(changed,), folder=index, verb="update"), CONFIG)
        delete(index, ["d1", "d2"])
        snapshot(index, tmp_path / "linked")
        compact(index, CONFIG)
        snapshot(index, tmp_path / "copied", copy=True)
        restore(tmp_path / "copied", new, CONFIG)
        restore(tmp_path / "linked", index, CONFIG, overwrite=True)
        name = manifests.read(new).segments[0].name
        (new / "segments" / name / "vectors.f32").unlink()
        repair(new, CONFIG)
    finally:
        disk.on = False
    assert disk.missed == []
    assert disk.published == 10
