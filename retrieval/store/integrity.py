"""Integrity checks: the files of a segment against its manifest."""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from ..errors import IndexStateError
from ..files import sample, sha256
from .manifest import SEGMENTS, FileInfo, SegmentInfo

REMEDY = "repair it with factseek verify-index --repair, or restore a snapshot"


@contextmanager
def damage_reported(path: Path) -> Iterator[None]:
    """Raise IndexStateError for OS errors while reading a file of an index."""
    try:
        yield
    except OSError as error:
        remedy = "let this user read it" if isinstance(error, PermissionError) else REMEDY
        raise IndexStateError(f"cannot be read: {error.strerror}", place=path, remedy=remedy) from None


class Fault(NamedTuple):
    """A fault in a file of an index; ``segment`` is ``""`` for a fault of the index as a whole."""

    path: Path
    what: str
    segment: str

    def __str__(self) -> str:
        return f"{self.path}: {self.what}"


def file_faults(folder: Path, segment: SegmentInfo, only: Sequence[str] = ()) -> Iterator[Fault]:
    """Yield the faults in the files of a segment of the index in ``folder``, as :func:`faults_in` does."""
    return faults_in(folder / SEGMENTS / segment.name, segment, only)


def faults_in(place: Path, segment: SegmentInfo, only: Sequence[str] = ()) -> Iterator[Fault]:
    """Yield the missing, changed and unlisted files of a segment in ``place``; ``only`` names the files to check."""
    for name, info in segment.files.items():
        if (not only or name in only) and (what := file_fault(place / name, info)):
            yield Fault(place / name, what, segment.name)
    if not only and place.is_dir():
        for path in sorted(place.rglob("*")):
            if path.is_file() and path.relative_to(place).as_posix() not in segment.files:
                yield Fault(path, "is not in the manifest", segment.name)


def file_fault(path: Path, info: FileInfo) -> str:
    """Return the fault of a file, or ``""`` if it has none."""
    try:
        size = path.stat().st_size
        if size != info.bytes:
            return f"has {size} bytes, but the manifest says {info.bytes}"
        if sha256(path) != info.sha256:
            return "has changed: its SHA-256 is not that of the manifest"
        if info.sample and sample(path) != info.sample:
            return "is intact, but the sample in the manifest does not match it"
    except FileNotFoundError:
        return "is missing"
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    return ""


def check_files(folder: Path, segment: SegmentInfo, only: Sequence[str] = ()) -> None:
    """Raise IndexStateError, naming the file, if one of the segment's files differs from the manifest."""
    for fault in file_faults(folder, segment, only):
        raise IndexStateError(fault.what, place=fault.path, remedy=REMEDY)


def check_own(place: Path, segment: SegmentInfo, opened: Callable[[str], bool]) -> None:
    """Raise IndexStateError if a file to open differs from the manifest in its size or in its sample of bytes.

    ``place`` is the segment's folder; ``opened`` returns whether a path in that folder will be opened. A missing file
    is reported when it is opened.
    """
    for name, info in segment.files.items():
        if opened(name) and (what := _other(place / name, info)):
            raise IndexStateError(what, place=place / name, remedy=REMEDY)


def _other(path: Path, info: FileInfo) -> str:
    try:
        there = path.stat()
        if not stat.S_ISREG(there.st_mode):
            return "is not a regular file"
        if there.st_size != info.bytes:
            return f"has {there.st_size} bytes, but the manifest says {info.bytes}"
        if info.sample and sample(path) != info.sample:
            return "is not the file that the manifest names"
    except OSError:
        pass
    return ""
