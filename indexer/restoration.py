"""Restoration: the state that a snapshot holds, published as that of an index."""

from __future__ import annotations

import os
import stat
from contextlib import closing, suppress
from pathlib import Path

from ..retrieval import manifest as manifests
from ..retrieval.errors import IndexStateError
from ..retrieval.files import os_errors_reported, sync_tree
from ..retrieval.index_folder import IndexFolder
from ..retrieval.integrity import check_files, file_faults
from ..retrieval.manifest import BUILD, SEGMENTS, Manifest, SegmentInfo
from ..retrieval.shards import layout
from ..retrieval.views import Tools
from . import generation as generations
from . import journal as journals
from .compaction import replaced
from .deletion import with_segments
from .encoders import Encoders
from .generation import Generation, IndexPart
from .lock import locked
from .merge import Merge, in_part, write_all
from .segment import settle
from .settings import Config
from .snapshot import Copied, Copier


def restore(source: Path, folder: Path, config: Config, *, overwrite: bool = False, wait: float = 0.0) -> Copied:
    """Publish the state that a snapshot holds as that of the index in ``folder``; its readers keep what they opened.

    Raises IndexStateError if the snapshot is none or damaged, or there is an index and ``overwrite`` is not given;
    MachineError if the disk is full. What was published before stays until all is there.
    """
    with generations.leased(source) as wanted:  # it may be an index that is written meanwhile
        _check_plain(source, wanted)
        for part, segment in wanted.segments:
            check_files(part.folder, segment)
        with locked(folder, wait), os_errors_reported(folder):
            _check_free(folder, overwrite=overwrite)
            restored = generations.new(folder, len(wanted.parts) if wanted.is_sharded else 0)
            generations.claim(restored)
            copier = Copier(share=True)
            paired = zip(wanted.parts, restored.parts, strict=True)
            manifest = restored.publish([_restored(copier, part, there.folder, config) for part, there in paired])
            return Copied(manifest, copier.files, copier.shared)


def _check_plain(source: Path, wanted: Generation) -> None:
    """Raise IndexStateError if what is to be read of a snapshot is no regular file in folders of its own.

    A snapshot may come from elsewhere, and a link in it would give away what it names. What is missing is left to be
    named by who reads it.
    """
    files = {Path(layout.NAME if wanted.is_sharded else manifests.NAME)}
    for path, part in zip(map(Path, wanted.paths), wanted.parts, strict=True):
        files.update(path / SEGMENTS / segment.name / name for segment in part.segments for name in segment.files)
    folders = set(map(Path, wanted.paths)).union(*(file.parents for file in files)) - {Path()}
    for path in sorted(files | folders):
        with suppress(FileNotFoundError):
            kind = os.lstat(source / path).st_mode
            if path.is_absolute() or not (stat.S_ISDIR(kind) if path in folders else stat.S_ISREG(kind)):
                what = f"is no {'folder' if path in folders else 'regular file'} of the snapshot"
                raise IndexStateError(what, place=source / path, remedy="take a snapshot of the index again")


def _restored(copier: Copier, part: IndexPart, folder: Path, config: Config) -> Manifest:
    """Copy a part of the snapshot to ``folder``; return its state there, not yet published."""
    source, wanted = part.folder, part.published
    live = _live(folder)
    journals.clean(folder)
    (folder / BUILD).mkdir(parents=True, exist_ok=True)
    taken = [segment for segment in wanted.segments if not _copied(copier, source, folder, segment, live)]
    return _renamed(source, folder, wanted, taken, config)


def _check_free(folder: Path, *, overwrite: bool) -> None:
    """Raise IndexStateError if there is an index and it may not be replaced; what is damaged may be."""
    if not generations.exists(folder):
        return
    if not overwrite:
        raise IndexStateError(
            "there is an index already",
            place=folder,
            remedy="say --overwrite to put the snapshot's state in its place",
        )
    with suppress(IndexStateError):
        generations.current(folder, whole=False)


def _live(folder: Path) -> dict[str, SegmentInfo]:
    """Return the published segments of the part of an index that is there by name, none if there is none."""
    if not (folder / manifests.NAME).exists():
        return {}
    try:
        return {segment.name: segment for segment in manifests.read(folder).segments}
    except IndexStateError:
        return {}  # what is damaged may be restored


def _copied(copier: Copier, source: Path, folder: Path, segment: SegmentInfo, live: dict[str, SegmentInfo]) -> bool:
    """Copy a segment of the snapshot to its place; return False if another segment has its name."""
    there = live.get(segment.name)
    if there is not None and there.files == segment.files and not any(file_faults(folder, there)):
        return True
    if (folder / SEGMENTS / segment.name).exists():
        return False
    copier.segment(source, segment, folder / BUILD / segment.name)
    sync_tree(folder / BUILD / segment.name)
    settle(folder / BUILD / segment.name, folder / SEGMENTS)
    return True


def _renamed(source: Path, folder: Path, wanted: Manifest, taken: list[SegmentInfo], config: Config) -> Manifest:
    """Return the manifest to publish, after writing again, under a new name, each segment whose name is taken."""
    if not taken:
        return wanted
    with closing(Encoders(config)) as encoders:
        tools = Tools(IndexFolder(folder), wanted, config, encoders)
        made = write_all(
            [Merge(in_part(source, [segment]), tools) for segment in taken], journals.first_segment(folder)
        )
    return with_segments(wanted, replaced(wanted.segments, [[segment] for segment in taken], made), folder)
