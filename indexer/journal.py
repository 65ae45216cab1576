"""The journal of a build: it lists the finished segments, so that an interrupted build can
resume.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Container, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from ..core.errors import IndexStateError
from ..core.files import read_regular, write_atomically
from ..retrieval.store import manifest as manifests
from ..retrieval.store.index_folder import remove_unless_held
from ..retrieval.store.manifest import BUILD, LOCK, PART, SEGMENTS, SHARDS, SegmentInfo, SourceInfo

NAME = "journal.json"
FORMER = ".former-shards.json"
"""The file with the paths of shards that are about to be replaced; it exists until they are
removed.
"""
_SEGMENT = re.compile(r"\.?[0-9]{1,18}")
_SHARD = re.compile(r"shard-\d+")


class Progress(msgspec.Struct, kw_only=True):
    """The number of documents that a build had read when it last completed the text of a segment.

    ``duplicates`` and ``clashes`` were skipped: an earlier one has the same docid and the same or
    another content.
    """

    records: int = 0
    duplicates: int = 0
    clashes: int = 0


class Journal(msgspec.Struct, kw_only=True):
    """The state of a build.

    ``text_of`` names the segment whose text is complete but whose vectors may be missing.
    """

    fingerprint: str
    sources: tuple[SourceInfo, ...]
    first_segment: int
    progress: Progress = msgspec.field(default_factory=Progress)
    finished: list[SegmentInfo] = []
    text_of: str = ""

    @property
    def next_name(self) -> str:
        """The name of the segment that comes after the finished ones."""
        return f"{self.first_segment + len(self.finished):06d}"


def fingerprint(*parts: object) -> str:
    """Return a short digest of a build's request."""
    return hashlib.sha256(msgspec.json.encode(parts, order="deterministic")).hexdigest()[:16]


def begin(folder: Path, fingerprint: str, sources: tuple[SourceInfo, ...]) -> Journal:
    """Begin a build, after removing the leftovers of an earlier one."""
    clean(folder)
    (folder / BUILD).mkdir(parents=True, exist_ok=True)
    journal = Journal(fingerprint=fingerprint, sources=sources, first_segment=first_segment(folder))
    save(folder, journal)
    return journal


def recover_unfinished(folder: Path, fingerprint: str) -> Journal | None:
    """Return the journal of an unfinished build of the same request, or None if no segment's text
    is complete.

    Move the finished segments to their place, and remove a segment whose text is incomplete.
    """
    journal = read(folder)
    if (
        journal is None
        or journal.fingerprint != fingerprint
        or not (journal.finished or journal.text_of)
    ):
        return None
    for segment in journal.finished:
        built = folder / BUILD / segment.name
        if built.is_dir():
            (folder / SEGMENTS).mkdir(exist_ok=True)
            built.rename(folder / SEGMENTS / segment.name)
    for leftover in segments_in(folder / BUILD):
        if leftover.name != journal.text_of:
            shutil.rmtree(leftover)
    return journal


def read(folder: Path) -> Journal | None:
    """Return the journal of the build in ``folder``, or None if there is no readable journal."""
    try:
        return msgspec.json.decode(read_regular(folder / BUILD / NAME), type=Journal)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, OSError):
        return None


def save(folder: Path, journal: Journal) -> None:
    """Write the journal."""
    write_atomically(folder / BUILD / NAME, msgspec.json.encode(journal))


def give_up(folder: Path) -> None:
    """Remove the files of a build, unless a later build can resume from its segments."""
    journal = read(folder)
    if journal is None or not (journal.finished or journal.text_of):
        remove_build(folder)


def clean(folder: Path) -> None:
    """Remove leftovers of builds, and segments that no manifest names; one that is open waits for
    the next writer.
    """
    remove_build(folder)
    sweep(folder)


def remove_build(folder: Path) -> None:
    """Remove the leftovers of a build. An index or a foreign file in the folder of builds stays."""
    place = folder / BUILD
    for file in (place / NAME, *place.glob(f".{NAME}.*")):
        file.unlink(missing_ok=True)
    for segment in segments_in(place):
        shutil.rmtree(segment, ignore_errors=True)
    with suppress(OSError):
        place.rmdir()


def segments_in(folder: Path) -> list[Path]:
    """Return the subfolders with names of segments, even hidden ones, except complete or incomplete
    indexes.
    """
    named = (path for path in folder.glob("*") if _SEGMENT.fullmatch(path.name))
    return [
        path
        for path in named
        if not any((path / name).exists() for name in (manifests.NAME, SHARDS, LOCK))
    ]


def parts_in(folder: Path) -> list[Path]:
    """Return the folders that factseek has marked as parts of the index in ``folder``, and those
    that it has emptied.

    They lie in ``folder``, except former shards.
    """
    named = [path for path in folder.glob("shard-*") if _SHARD.fullmatch(path.name)]
    return [
        path
        for path in (*named, *_former_parts(folder))
        if (path / PART).is_file() or _is_empty(path)
    ]


def remember_former(folder: Path, paths: Sequence[str]) -> None:
    """Store the paths of shards that are about to be replaced: a shard may lie anywhere."""
    write_atomically(folder / FORMER, msgspec.json.encode(paths))


def forget_former(folder: Path, published: Container[Path] = ()) -> None:
    """Remove what :func:`remember_former` stored, unless a reader still holds a shard that is not
    ``published``.
    """
    left = [
        part
        for part in _former_parts(folder)
        if (part / PART).is_file() and part.resolve() not in published
    ]
    if not left:
        (folder / FORMER).unlink(missing_ok=True)


def _former_parts(folder: Path) -> list[Path]:
    try:
        paths = msgspec.json.decode(read_regular(folder / FORMER), type=list[str])
    except (msgspec.DecodeError, UnicodeDecodeError, OSError):
        return []
    return [folder / path for path in paths]


def _is_empty(folder: Path) -> bool:
    return folder.is_dir() and not any(folder.iterdir())


def remove_part(part: Path) -> None:
    """Remove a folder that was a part of an index.

    Open segments are removed later; files of other programs stay.
    """
    if remove_index(part) and {path.name for path in part.iterdir()} <= {LOCK, PART}:
        for name in (LOCK, PART):
            (part / name).unlink(missing_ok=True)
        with suppress(OSError):  # the part may be a link
            part.rmdir()


def remove_index(folder: Path) -> bool:
    """Remove the manifest and the segments in a folder; return False if it is missing, or a reader
    holds a segment.
    """
    if not folder.is_dir():
        return False
    for file in (folder / manifests.NAME, *folder.glob(f".{manifests.NAME}.*.tmp")):
        file.unlink(missing_ok=True)
    remove_build(folder)
    gone = [remove_unless_held(segment) for segment in segments_in(folder / SEGMENTS)]
    if all(gone):
        with suppress(OSError):  # files that factseek did not write stay
            (folder / SEGMENTS).rmdir()
    return all(gone)


def sweep(folder: Path) -> None:
    """Remove the leftovers of an interrupted writer, but keep a build that can resume."""
    if not (folder / SHARDS).exists():
        for part in parts_in(folder):
            remove_part(part)
        forget_former(folder)
    for leftover in folder.glob(f".{manifests.NAME}.*.tmp"):
        leftover.unlink(missing_ok=True)
    kept = _read_names(folder)
    if kept is None:
        return
    if journal := read(folder):
        kept |= {segment.name for segment in journal.finished}
    else:
        remove_build(folder)
    for leftover in segments_in(folder / SEGMENTS):
        if leftover.name not in kept:
            remove_unless_held(leftover)


def first_segment(folder: Path) -> int:
    """Return one more than the highest number of a segment in ``folder``, including segments that
    only readers use.
    """
    names = (_read_names(folder) or set()) | {path.name for path in folder.glob(f"{SEGMENTS}/*")}
    return max((int(name) for name in names if name.isdigit()), default=-1) + 1


def _read_names(folder: Path) -> set[str] | None:
    """Return the names of the segments in the manifest, or None if it cannot be read: then all
    segments must stay.
    """
    if not (folder / manifests.NAME).is_file():
        return set()
    try:
        return {segment.name for segment in manifests.read(folder).segments}
    except IndexStateError:
        return None
