"""Snapshots: copy a published state consistently, and restore it as an index.

Published files never change, so a copy on the same file system shares them by hard links and takes
almost no space. A snapshot is itself an index.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from ..core.errors import IndexStateError
from ..core.files import make_folder_of, os_errors_reported, sync_file, sync_folder, sync_tree
from ..retrieval.store import manifest as manifests
from ..retrieval.store.index_folder import open_leased
from ..retrieval.store.integrity import REMEDY, check_files, file_faults
from ..retrieval.store.manifest import BUILD, LOCK, SEGMENTS, Manifest, SegmentInfo
from ..retrieval.views import Tools
from . import journal as journals
from .deletion import with_segments
from .encoders import Encoders
from .lock import locked
from .segment import Merge, merged_segments, settle
from .settings import Config

_UNSHARED = {errno.EXDEV, errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS}


class Copied(NamedTuple):
    """The result of a snapshot or a restoration: the manifest, the number of files, and how many of
    them are shared.
    """

    manifest: Manifest
    files: int
    shared: int


def snapshot(folder: Path, target: Path, *, copy: bool = False) -> Copied:
    """Copy the published state of an index to ``target``, completely or not at all.

    The index is not locked, so other processes can read and write it meanwhile. Without ``copy``,
    files are shared if the file system allows it. Copied files are compared with the manifest.
    Raises IndexStateError if there is no index, if ``target`` is not a new or empty folder, or if a
    file is damaged. Raises MachineError if the disk is full or not writable.
    """
    manifest, lease = open_leased(folder)
    with closing(lease), os_errors_reported(target), _place_for(folder, target) as place:
        (place / SEGMENTS).mkdir(parents=True)
        shared = sum(
            _copy(folder, each, place / SEGMENTS / each.name, share=not copy)
            for each in manifest.segments
        )
        sync_tree(place)
        manifests.publish(place, manifest)
        place.rename(target)
        sync_folder(target.parent)
    return Copied(manifest, sum(len(segment.files) for segment in manifest.segments), shared)


def _copy(folder: Path, segment: SegmentInfo, place: Path, *, share: bool) -> int:
    """Copy the files of a segment of an index to ``place``, or share them; return how many are
    shared.

    Raises IndexStateError if a file is missing or damaged.
    """
    shared = 0
    for name in segment.files:
        try:
            shared += _copy_file(folder / SEGMENTS / segment.name / name, place / name, share=share)
        except FileNotFoundError as error:
            raise IndexStateError("is missing", place=error.filename, remedy=REMEDY) from None
    if shared < len(segment.files):
        for fault in file_faults(place, segment):
            raise IndexStateError(
                f"{fault.path.name} {fault.what}", place=f"segment {segment.name}", remedy=REMEDY
            )
    return shared


def _copy_file(source: Path, target: Path, *, share: bool) -> bool:
    """Copy a file durably, or share it by a hard link; return whether it is shared."""
    if source.exists() and not source.is_file():
        raise IndexStateError("is not a regular file", place=source, remedy=REMEDY)
    target.parent.mkdir(parents=True, exist_ok=True)
    if share and not source.is_symlink():  # the target of a link may change
        try:
            os.link(source, target)
            return True
        except OSError as error:
            if error.errno not in _UNSHARED:
                raise
    shutil.copyfile(source, target)
    sync_file(target)
    return False


@contextmanager
def _place_for(folder: Path, target: Path) -> Iterator[Path]:
    """Create a folder next to ``target`` for an unfinished snapshot, and remove it if the snapshot
    fails.
    """
    if target.resolve().is_relative_to(folder.resolve()):
        raise IndexStateError(
            f"lies in the index {folder}", place=target, remedy="put the snapshot somewhere else"
        )
    if target == Path() or (target.exists() and (not target.is_dir() or any(target.iterdir()))):
        raise IndexStateError(
            "already exists", place=target, remedy="give a new folder for the snapshot"
        )
    make_folder_of(target)
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


def restore(
    source: Path, folder: Path, config: Config, *, overwrite: bool = False, wait: float = 0.0
) -> Copied:
    """Make the state of a snapshot the published state of the index in ``folder``, when the copy is
    complete.

    Raises IndexStateError if ``source`` is not a snapshot or is damaged, or if an index exists and
    ``overwrite`` is not given. Raises MachineError if the disk is full.
    """
    wanted, lease = open_leased(source)
    with closing(lease):  # the source may be an index that another process writes meanwhile
        _check_plain(source, wanted)
        for segment in wanted.segments:
            check_files(source / SEGMENTS / segment.name, segment)
        with locked(folder, wait), os_errors_reported(folder):
            if (folder / manifests.NAME).is_file() and not overwrite:
                remedy = "use --overwrite to replace it with the snapshot"
                raise IndexStateError("there is an index already", place=folder, remedy=remedy)
            manifests.check_whole(folder)
            live: dict[str, SegmentInfo] = {}
            with suppress(IndexStateError):  # a damaged index may be replaced
                live = {segment.name: segment for segment in manifests.read(folder).segments}
            journals.clean(folder)
            (folder / BUILD).mkdir(parents=True, exist_ok=True)
            renamed, files, shared = list[SegmentInfo](), 0, 0
            for each in wanted.segments:
                there, built = live.get(each.name), folder / BUILD / each.name
                if (
                    there
                    and there.files == each.files
                    and not any(file_faults(folder / SEGMENTS / each.name, there))
                ):
                    continue
                # The index has another segment with this name.
                if (folder / SEGMENTS / each.name).exists():
                    renamed.append(each)
                    continue
                files, shared = (
                    files + len(each.files),
                    shared + _copy(source, each, built, share=True),
                )
                sync_tree(built)
                settle(built, folder / SEGMENTS)
            manifest = wanted
            if renamed:
                with closing(Encoders(config)) as encoders:
                    tools = Tools(folder, wanted, config, encoders)
                    merges = [Merge([(source, segment)], tools) for segment in renamed]
                    manifest = with_segments(
                        wanted, merged_segments(wanted.segments, merges, folder), folder
                    )
            manifests.publish(folder, manifest)
            journals.clean(folder)
            return Copied(manifest, files, shared)


def _check_plain(source: Path, wanted: Manifest) -> None:
    """Raise IndexStateError if a path of a snapshot is not a regular file or a real folder.

    A snapshot may come from elsewhere, and a link in it would expose the file that it points to. A
    missing file is reported later, by the code that reads it.
    """
    files = {
        Path(SEGMENTS, segment.name, name) for segment in wanted.segments for name in segment.files
    }
    files.add(Path(manifests.NAME))
    folders = set().union(*(file.parents for file in files)) - {Path()}
    for path in sorted(files | folders):
        with suppress(FileNotFoundError):
            kind = os.lstat(source / path).st_mode
            if not (stat.S_ISDIR(kind) if path in folders else stat.S_ISREG(kind)):
                what = (
                    f"is not a {'folder' if path in folders else 'regular file'}, but should "
                    "be one in the snapshot"
                )
                raise IndexStateError(
                    what, place=source / path, remedy="take a snapshot of the index again"
                )
