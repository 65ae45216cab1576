"""Bulks that were overtaken: documents changed after a bulk was accepted, which it leaves as they are then.

While a bulk waits, every single change is noted here before it is published, and what a command changed before the
command ends, so that the order in which they were accepted outlives the writer. Names of changes and of jobs sort in
that order.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from ..retrieval.files import read_regular, sync_folder
from . import jobs
from .jobs import DAMAGED, JOBS, LEDGER


class _Note(msgspec.Struct, frozen=True, kw_only=True):
    docid: str
    change: str
    undone: bool = False


class Single(NamedTuple):
    """A single change: the name under which it was left, and the document that it is of."""

    name: str
    docid: str


def note(folder: Path, singles: Iterable[Single], *, undone: bool = False) -> None:
    """Note changes that are about to be published, durably, if bulks wait; ``undone`` ones were not published."""
    lines = [msgspec.json.encode(_Note(docid=each.docid, change=each.name, undone=undone)) for each in singles]
    if not lines or not jobs.waiting(folder):
        return
    path = folder / JOBS / LEDGER
    new = not path.exists()
    with path.open("ab") as file:
        # What a crash cut off ends with the line end before each note, not with the next note.
        file.write(b"".join(b"\n" + line for line in lines))
        file.flush()
        os.fsync(file.fileno())
    if new:
        sync_folder(path.parent)


def overtake(folder: Path, docids: Iterable[str]) -> None:
    """Note the documents that a command has just changed, if bulks wait; the caller holds the index's lock."""
    if jobs.waiting(folder):
        name = jobs.new_id(folder / JOBS)
        note(folder, [Single(name, docid) for docid in docids])


def overtaken(folder: Path, job: str) -> set[str]:
    """Return the docids of the documents that were changed after a job was accepted."""
    latest: dict[str, set[str]] = {}
    for each in _notes(folder):
        changes = latest.setdefault(each.docid, set())
        (changes.discard if each.undone else changes.add)(each.change)
    return {docid for docid, changes in latest.items() if any(change > job for change in changes)}


def forget(folder: Path) -> None:
    """Forget all changes, once no bulk waits that any of them could overtake."""
    if not jobs.waiting(folder):
        (folder / JOBS / LEDGER).unlink(missing_ok=True)


def _notes(folder: Path) -> Iterator[_Note]:
    try:
        content = read_regular(folder / JOBS / LEDGER)
    except FileNotFoundError:
        return
    for line in content.split(b"\n"):
        try:
            yield msgspec.json.decode(line, type=_Note)
        except DAMAGED:
            continue  # cut off: its change was not published
