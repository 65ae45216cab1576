"""Restoration: the state that a snapshot holds, published as that of an index."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import msgspec

from ..retrieval import manifest as manifests
from ..retrieval.config import Config
from ..retrieval.errors import IndexStateError
from ..retrieval.files import sha256, sync_tree, told
from ..retrieval.integrity import check_files, file_faults
from ..retrieval.java import start
from ..retrieval.lease import open_leased
from ..retrieval.manifest import BUILD, SEGMENTS, Manifest, SegmentInfo
from . import journal as journals
from .compaction import replaced
from .deletion import with_segments
from .lock import locked
from .merge import Merge, write_all
from .segment import settle
from .snapshot import Copied, Copier


def restore(source: Path, folder: Path, config: Config, *, overwrite: bool = False, wait: float = 0.0) -> Copied:
    """Publish the state that a snapshot holds as that of the index in ``folder``; its readers keep what they opened.

    Raises IndexStateError if the snapshot is none or damaged, or there is an index and ``overwrite`` is not given;
    MachineError if the disk is full. What was published before stays until all is there.
    """
    wanted, lease = open_leased(source)  # it may be an index that is written meanwhile
    with closing(lease):
        for segment in wanted.segments:
            check_files(source, segment)
        with locked(folder, wait), told(folder):
            return _restored(source, folder, wanted, config, overwrite=overwrite)


def _restored(source: Path, folder: Path, wanted: Manifest, config: Config, *, overwrite: bool) -> Copied:
    live = _live(folder, overwrite)
    journals.clean(folder)
    (folder / BUILD).mkdir()
    copier = Copier(share=True)
    taken = [segment for segment in wanted.segments if not _copied(copier, source, folder, segment, live)]
    quantizer = _quantizer(copier, source, folder, wanted)
    manifest = _renamed(source, folder, msgspec.structs.replace(wanted, quantizer=quantizer), taken, config)
    manifests.publish(folder, manifest)
    journals.clean(folder)
    return Copied(manifest, copier.files, copier.shared)


def _live(folder: Path, overwrite: bool) -> dict[str, SegmentInfo]:
    """Return the segments of the index that is there by name, none if there is none.

    Raises IndexStateError if there is one and it may not be replaced.
    """
    if not (folder / manifests.NAME).exists():
        return {}
    if not overwrite:
        raise IndexStateError(
            f"{folder}: there is an index already; say --overwrite to put the snapshot's state in its place"
        )
    try:
        return {segment.name: segment for segment in manifests.read(folder).segments}
    except IndexStateError:
        return {}  # what is damaged may be restored


def _copied(copier: Copier, source: Path, folder: Path, segment: SegmentInfo, live: dict[str, SegmentInfo]) -> bool:
    """See that a segment of the snapshot is in its place; say no if another one is."""
    there = live.get(segment.name)
    if there is not None and there.files == segment.files and not any(file_faults(folder, there)):
        return True
    if (folder / SEGMENTS / segment.name).exists():
        return False
    copier.segment(source, segment, folder / BUILD / segment.name)
    sync_tree(folder / BUILD / segment.name)
    settle(folder / BUILD / segment.name, folder / SEGMENTS)
    return True


def _quantizer(copier: Copier, source: Path, folder: Path, wanted: Manifest) -> str:
    """See that the snapshot's quantizer is there, under a name that no other has; return its name."""
    name = wanted.quantizer
    if not name or not (source / name).exists():
        return name
    if (folder / name).exists() and sha256(folder / name) != sha256(source / name):
        name = f"quantizer-{journals.first_segment(folder):06d}.faiss"
        (folder / name).unlink(missing_ok=True)
    if not (folder / name).exists():
        copier.file(source / wanted.quantizer, folder / name)
    return name


def _renamed(source: Path, folder: Path, wanted: Manifest, taken: list[SegmentInfo], config: Config) -> Manifest:
    """Return the manifest to publish, after writing again, under a new name, each segment whose name is taken."""
    if not taken:
        return wanted
    start(config.java.heap)
    merges = [Merge(source, folder, wanted, [segment], config) for segment in taken]
    made = write_all(merges, journals.first_segment(folder))
    return with_segments(wanted, replaced(wanted.segments, [[segment] for segment in taken], made), folder)
