"""The journal of a build: what is finished, so that an interrupted build can go on."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import msgspec

from retrieval import manifest as manifests
from retrieval.errors import IndexStateError
from retrieval.files import write_atomically
from retrieval.manifest import BUILD, SEGMENTS, SegmentInfo

NAME = "journal.json"


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """How far reading had come when a segment's text was complete."""

    records: int = 0
    duplicates: int = 0


class Journal(msgspec.Struct, kw_only=True):
    """The state of a build. ``text_of`` is the segment whose text is complete while its vectors may not be."""

    fingerprint: str
    first_segment: int
    progress: Progress = Progress()
    finished: list[SegmentInfo] = []
    text_of: str = ""

    @property
    def next_name(self) -> str:
        """Name the segment that comes after the finished ones."""
        return f"{self.first_segment + len(self.finished):06d}"


def fingerprint(*parts: object) -> str:
    """Return a short name for what a build was asked to do."""
    return hashlib.sha256(msgspec.json.encode(parts, order="deterministic")).hexdigest()[:16]


def begin(folder: Path, print_: str, first_segment: int) -> Journal:
    """Go on with the unfinished build in ``folder`` if it is the same, else begin a new one.

    Raises IndexStateError if an unfinished build of something else is there.
    """
    path = folder / BUILD / NAME
    if not path.is_file():
        clean(folder)
        (folder / BUILD).mkdir(parents=True, exist_ok=True)
        journal = Journal(fingerprint=print_, first_segment=first_segment)
        save(folder, journal)
        return journal
    journal = _read(path)
    if journal.fingerprint != print_:
        raise IndexStateError(
            f"{folder}: holds an unfinished build of other sources or settings; run that command again to finish it, "
            f"or remove {folder / BUILD} to give it up"
        )
    _settle(folder, journal)
    return journal


def save(folder: Path, journal: Journal) -> None:
    """Write the journal."""
    write_atomically(folder / BUILD / NAME, msgspec.json.encode(journal))


def clean(folder: Path) -> None:
    """Remove what no manifest names: leftovers of a build that was given up or published."""
    shutil.rmtree(folder / BUILD, ignore_errors=True)
    if not (folder / manifests.NAME).is_file():
        shutil.rmtree(folder / SEGMENTS, ignore_errors=True)
        return
    live = {segment.name for segment in manifests.read(folder).segments}
    for leftover in sorted((folder / SEGMENTS).iterdir()) if (folder / SEGMENTS).is_dir() else []:
        if leftover.name not in live:
            shutil.rmtree(leftover, ignore_errors=True)


def _read(path: Path) -> Journal:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Journal)
    except (msgspec.DecodeError, OSError) as error:
        raise IndexStateError(f"{path}: cannot be read ({error}); remove {path.parent} and build again") from None


def _settle(folder: Path, journal: Journal) -> None:
    """Bring the folders to what the journal says: a finished segment in its place, half a text gone."""
    for segment in journal.finished:
        built = folder / BUILD / segment.name
        if built.is_dir():
            (folder / SEGMENTS).mkdir(exist_ok=True)
            built.rename(folder / SEGMENTS / segment.name)
    for leftover in sorted((folder / BUILD).iterdir()):
        if leftover.is_dir() and leftover.name != journal.text_of:
            shutil.rmtree(leftover)
