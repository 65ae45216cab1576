"""The files of a segment: checks against its manifest, and memory maps."""

from __future__ import annotations

import errno
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from ...core.errors import IndexStateError
from ...core.files import sample, sha256
from .manifest import FileInfo, SegmentInfo

REMEDY = "repair it with factseek verify-index --repair, or restore a snapshot"


@contextmanager
def damage_reported(path: Path) -> Iterator[None]:
    """Raise IndexStateError for OS errors while reading a file of an index."""
    try:
        yield
    except OSError as error:
        remedy = "let this user read it" if isinstance(error, PermissionError) else REMEDY
        raise IndexStateError(
            f"cannot be read: {error.strerror}", place=path, remedy=remedy
        ) from None


class Fault(NamedTuple):
    """A fault in a file of an index; ``segment`` is ``""`` for a fault of the index as a whole."""

    path: Path
    what: str
    segment: str

    def __str__(self) -> str:
        return f"{self.path}: {self.what}"


def file_faults(place: Path, segment: SegmentInfo, only: Sequence[str] = ()) -> Iterator[Fault]:
    """Yield the missing, changed and unlisted files of a segment in ``place``; ``only`` names the
    files to check.
    """
    for name, info in segment.files.items():
        if (not only or name in only) and (what := _fault(place / name, info)):
            yield Fault(place / name, what, segment.name)
    if not only and place.is_dir():
        for path in sorted(place.rglob("*")):
            if path.is_file() and path.relative_to(place).as_posix() not in segment.files:
                yield Fault(path, "is not in the manifest", segment.name)


def check_files(place: Path, segment: SegmentInfo, only: Sequence[str] = ()) -> None:
    """Raise IndexStateError, naming the file, if a file of a segment in ``place`` differs from the
    manifest.
    """
    for fault in file_faults(place, segment, only):
        raise IndexStateError(fault.what, place=fault.path, remedy=REMEDY)


def check_own(place: Path, segment: SegmentInfo, opened: Callable[[str], bool]) -> None:
    """Raise IndexStateError if a file to open differs from the manifest in its size or in its
    sample of bytes.

    ``place`` is the segment's folder; ``opened`` returns whether a path in that folder will be
    opened. A missing file is reported when it is opened.
    """
    for name, info in segment.files.items():
        if opened(name) and (what := _fault(place / name, info, quick=True)):
            raise IndexStateError(what, place=place / name, remedy=REMEDY)


def _fault(path: Path, info: FileInfo, *, quick: bool = False) -> str:
    """Return the fault of a file, or ``""`` if it has none; a ``quick`` look is for a file that is
    then opened.
    """
    try:
        there = path.stat()
        if not stat.S_ISREG(there.st_mode):
            return "is not a regular file"
        if there.st_size != info.bytes:
            return f"has {there.st_size} bytes, but the manifest says {info.bytes}"
        if not quick and sha256(path) != info.sha256:
            return "has changed: its SHA-256 is not that of the manifest"
        if info.sample and sample(path) != info.sample:
            is_intact = "is intact, but the sample in the manifest does not match it"
            return "is not the file that the manifest names" if quick else is_intact
    except OSError as error:
        is_missing = isinstance(error, FileNotFoundError)
        return "" if quick else "is missing" if is_missing else f"cannot be read: {error.strerror}"
    return ""


_Key = tuple[int, int, int, int, str, tuple[int, ...] | None]
_MAPPED: WeakValueDictionary[_Key, NDArray[Any]] = WeakValueDictionary()
"""The mapped files, each once, as long as anybody uses it: states of an index share segments, which
never change.
"""


def map_file(path: Path, dtype: str, shape: tuple[int, ...] | None = None) -> NDArray[Any]:
    """Map a non-empty file to an array, of one dimension if no shape is given.

    Raises OSError or ValueError.
    """
    there = path.stat()
    if not stat.S_ISREG(there.st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))
    key = (there.st_dev, there.st_ino, there.st_size, there.st_mtime_ns, dtype, shape)
    array = _MAPPED.get(key)
    if array is None:
        array = _MAPPED[key] = np.memmap(path, dtype=dtype, mode="r", shape=shape)
    return array
