"""Snapshots: a consistent copy of a published state.

Published files never change, so a copy on the same file system shares them: it costs names, not bytes. A snapshot is an
index itself.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from ..retrieval.errors import IndexStateError
from ..retrieval.files import os_errors_reported, sync_file, sync_folder, sync_tree
from ..retrieval.integrity import REMEDY, faults_in
from ..retrieval.manifest import LOCK, SEGMENTS, Manifest, SegmentInfo
from . import generation as generations
from .generation import IndexPart
from .lock import locked

_UNSHARED = {errno.EXDEV, errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS}


class Copied(NamedTuple):
    """The result of a snapshot or a restoration: its manifest, its files, and how many of them are shared."""

    manifest: Manifest
    files: int
    shared: int


def snapshot(folder: Path, target: Path, *, copy: bool = False) -> Copied:
    """Copy the published state of an index to ``target``, which is there whole or not at all.

    It takes no lock: others read and write meanwhile. Files are shared where the file system can, unless ``copy``;
    what is copied is compared with the manifest.
    Raises IndexStateError if there is no index, ``target`` is not free, or a file is damaged; MachineError if the disk
    is full or may not be written.
    """
    with generations.leased(folder) as state, os_errors_reported(target), _place_for(folder, target) as place:
        copier = Copier(share=not copy)
        copied = generations.new(place, len(state.parts) if state.is_sharded else 0)
        for part, there in zip(state.parts, copied.parts, strict=True):
            _copy(copier, part, there.folder)
        sync_tree(place)
        manifest = copied.publish([part.published for part in state.parts])
        place.rename(target)
        sync_folder(target.parent)
    return Copied(manifest, copier.files, copier.shared)


def _copy(copier: Copier, part: IndexPart, place: Path) -> None:
    """Copy what the manifest of a part names to a new folder."""
    (place / SEGMENTS).mkdir(parents=True)
    for segment in part.segments:
        copier.segment(part.folder, segment, place / SEGMENTS / segment.name)


class Copier:
    """Copies files, or shares them by hard links, and counts them."""

    def __init__(self, *, share: bool) -> None:
        self._share = share
        self.files = 0
        self.shared = 0

    def segment(self, folder: Path, segment: SegmentInfo, place: Path) -> None:
        """Copy the files of a segment of the index in ``folder`` to ``place``.

        Raises IndexStateError if one is missing or, when it was copied, is not what the manifest says.
        """
        shared = self.shared
        for name in segment.files:
            try:
                self.file(folder / SEGMENTS / segment.name / name, place / name)
            except FileNotFoundError as error:
                raise IndexStateError("is missing", place=error.filename, remedy=REMEDY) from None
        if self.shared - shared < len(segment.files):
            for fault in faults_in(place, segment):
                raise IndexStateError(f"{fault.path.name} {fault.what}", place=f"segment {segment.name}", remedy=REMEDY)

    def file(self, source: Path, target: Path) -> None:
        """Copy a file, durably, or share it."""
        if source.exists() and not source.is_file():
            raise IndexStateError("is not a regular file", place=source, remedy=REMEDY)
        target.parent.mkdir(parents=True, exist_ok=True)
        self.files += 1
        if self._share and not source.is_symlink():  # what a link names may change
            try:
                os.link(source, target)
                self.shared += 1
                return
            except OSError as error:
                if error.errno not in _UNSHARED:
                    raise
        shutil.copyfile(source, target)
        sync_file(target)


@contextmanager
def _place_for(folder: Path, target: Path) -> Iterator[Path]:
    """Make a folder beside ``target``, in which a snapshot can grow; it is gone if that fails.

    Raises IndexStateError if ``target`` is not free, or lies in the index.
    """
    if target.resolve().is_relative_to(folder.resolve()):
        raise IndexStateError(f"lies in the index {folder}", place=target, remedy="put the snapshot somewhere else")
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise IndexStateError("is there already", place=target, remedy="name a new folder for the snapshot")
    if not target.absolute().parent.is_dir():
        raise IndexStateError(f"there is no folder {target.parent}", place=target, remedy="make it first")
    place = target.with_name(f".{target.name}.partial")
    with locked(place):
        for left in place.iterdir():
            if left.name != LOCK:
                shutil.rmtree(left) if left.is_dir() else left.unlink()
        try:
            yield place
        except BaseException:
            shutil.rmtree(place, ignore_errors=True)
            raise
