"""The folder of an index: the opening of its documents, and leases of its segments.

A lease is a reader's hold on the segments that it has opened, so that no writer removes them: a
shared lock on a segment's folder. Taking it needs no write permission and never waits. The system
frees it when the process that holds it ends.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from weakref import finalize

from . import manifest as manifests
from .documents import SegmentDocuments
from .integrity import check_own
from .manifest import DOCUMENTS, SEGMENTS, Manifest, SegmentInfo


def open_documents(folder: Path, segment: SegmentInfo, *, check: bool = True) -> SegmentDocuments:
    """Open the documents of a published segment; ``check`` compares its size and sample with the
    manifest.
    """
    place = folder / SEGMENTS / segment.name
    if check:
        check_own(place, segment, DOCUMENTS.__eq__)
    return SegmentDocuments(
        place / DOCUMENTS, segment.deleted, (segment.documents, segment.passages)
    )


@contextmanager
def all_documents(
    folder: Path, segments: Sequence[SegmentInfo]
) -> Iterator[list[SegmentDocuments]]:
    """Open the documents of published segments, and close them after use."""
    with ExitStack() as closed_last:
        yield [
            closed_last.enter_context(closing(open_documents(folder, segment)))
            for segment in segments
        ]


class Lease:
    """Holds folders until it is closed."""

    def __init__(self) -> None:
        self._handles: list[int] = []
        # A lease that nobody closed releases its folders when it is collected. At exit, the system
        # releases them; the modules that this would need may then be gone.
        finalize(self, _release, self._handles).atexit = False

    def take(self, folder: Path) -> bool:
        """Hold ``folder``; return whether it exists."""
        try:
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        except OSError:
            return False
        self._handles.append(handle)
        try:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return os.path.samestat(os.fstat(handle), folder.stat())
        except OSError:
            return False

    def close(self) -> None:
        """Release every folder."""
        _release(self._handles)


def _release(handles: list[int]) -> None:
    while handles:
        os.close(handles.pop())


def open_leased(folder: Path) -> tuple[Manifest, Lease]:
    """Read the manifest of the index in ``folder`` and hold its segments; a missing segment raises
    no error yet.
    """
    manifest = manifests.read(folder)
    while True:
        lease = Lease()
        if not take_segments(lease, folder, manifest):
            return manifest, lease
        # If a segment was removed between reading and holding, there is a newer manifest.
        newer = manifests.read(folder)
        if newer == manifest:
            return manifest, lease
        lease.close()
        manifest = newer


def take_segments(lease: Lease, folder: Path, manifest: Manifest) -> list[Path]:
    """Hold the segments that a manifest of the index in ``folder`` names; return the missing
    ones.
    """
    segments = [folder / SEGMENTS / segment.name for segment in manifest.segments]
    return [segment for segment in segments if not lease.take(segment)]


def remove_unless_held(folder: Path) -> bool:
    """Remove a folder that no manifest names any more, unless a reader holds it; return whether it
    was removed.
    """
    hidden = folder.with_name(f".{folder.name.lstrip('.')}")
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if hidden != folder:
            shutil.rmtree(hidden, ignore_errors=True)
            folder.rename(hidden)
        shutil.rmtree(hidden, ignore_errors=True)
        return True
    except OSError:
        return False
    finally:
        os.close(handle)
