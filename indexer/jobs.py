"""Bulk jobs: documents that wait in an index directory to be written, and the outcome of each job.

A job is a record (JSON) and, until it has ended, its documents (JSON lines). Both are files of the index directory, so
whoever serves the index can answer for a job, and a job outlives the process that took it.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec

from ..retrieval.errors import IndexStateError
from ..retrieval.files import os_errors_reported, read_regular, write_atomically
from ..retrieval.store.manifest import NAME, SHARDS, now

JOBS = "jobs"
"""The folder in an index directory. No manifest names it: a snapshot leaves it out, a build leaves it alone."""
MOST_REFUSALS = 100
"""Refused documents that a job names; the rest is counted."""
ORPHANED = 3600.0
"""Seconds after which a file is removed that nobody can be waiting for."""
DAMAGED = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""The errors of reading a record that a power cut, or somebody else, has damaged."""
_ID = re.compile(r"[0-9a-f]{24}")

Mode = Literal["append", "update"]
State = Literal["queued", "running", "done", "failed"]


class BulkRefusal(msgspec.Struct, frozen=True, kw_only=True):
    """A document that was refused: its number among those of the job, from 1, and why; ``docid`` as far as known."""

    item: int
    docid: str
    reason: str


class Job(msgspec.Struct, kw_only=True):
    """A bulk of documents. ``handled`` says how many of ``documents`` are done with; times are UTC, or empty.

    ``skipped`` counts those that were changed after the bulk was accepted: they stay as they were changed.
    ``attempts`` counts the processes that were at what comes next: more than one if one was killed.
    """

    id: str
    mode: Mode
    documents: int
    state: State = "queued"
    handled: int = 0
    added: int = 0
    replaced: int = 0
    unchanged: int = 0
    refused: int = 0
    refusals: list[BulkRefusal] = []
    skipped: int = 0
    skips: list[BulkRefusal] = []
    attempts: int = 0
    created: str = ""
    started: str = ""
    ended: str = ""
    error: str = ""

    def refuse(self, item: int, docid: str, reason: str) -> None:
        """Count a refused document, and name it while there are not too many."""
        self.refused += 1
        if len(self.refusals) < MOST_REFUSALS:
            self.refusals.append(BulkRefusal(item=item, docid=docid, reason=reason))

    def skip(self, item: int, docid: str) -> None:
        """Count a document that was changed since, and name it while there are not too many."""
        self.skipped += 1
        if len(self.skips) < MOST_REFUSALS:
            reason = f"docid {docid!r} was changed after this bulk was accepted; it stays as it was changed"
            self.skips.append(BulkRefusal(item=item, docid=docid, reason=reason))


def submit(folder: Path, mode: Mode, documents: Sequence[bytes]) -> Job:
    """Store a new job, each document a line of JSON, in the index in ``folder``, and return it.

    Raises IndexStateError if there is no index any more, MachineError if it cannot be written.
    """
    place = made_folder(folder)
    job = Job(id=new_id(place), mode=mode, documents=len(documents), created=now())
    write_atomically(payload(folder, job.id), b"".join(line + b"\n" for line in documents))
    try:
        write_atomically(place / f"{job.id}.json", msgspec.json.encode(job))
    except BaseException:
        payload(folder, job.id).unlink(missing_ok=True)  # on a full disk nobody needs it
        raise
    return job


def made_folder(folder: Path) -> Path:
    """Return the folder of the jobs of an index, made if need be.

    Raises IndexStateError if there is no index, MachineError if the folder cannot be made.
    """
    if (folder / SHARDS).is_file():
        what = "is an index in shards, which takes no changes over HTTP"
        raise IndexStateError(what, place=folder, remedy="factseek index --update and factseek delete change it")
    if not (folder / NAME).is_file():
        raise IndexStateError("there is no index any more", place=folder)
    place = folder / JOBS
    with os_errors_reported(place):
        place.mkdir(exist_ok=True)
    return place


def new_id(place: Path) -> str:
    """Return a new id, which sorts after those of all jobs and changes in ``place``, also if the clock is set."""
    latest = max((int(path.stem[:16], 16) for path in place.iterdir() if _ID.fullmatch(path.stem)), default=-1)
    return f"{max(time.time_ns(), latest + 1):016x}{secrets.token_hex(4)}"


def read(folder: Path, name: str) -> Job | None:
    """Return the job of this id, or None if there is none."""
    if not _ID.fullmatch(name):
        return None
    try:
        return msgspec.json.decode(read_regular(folder / JOBS / f"{name}.json"), type=Job)
    except (OSError, *DAMAGED):
        return None


def save(folder: Path, job: Job) -> None:
    """Write the progress of a job."""
    write_atomically(folder / JOBS / f"{job.id}.json", msgspec.json.encode(job))


def end(folder: Path, job: Job, error: str = "") -> None:
    """Write that a job is done or, with an ``error``, failed; its documents are not kept."""
    job.state, job.error, job.ended = ("failed" if error else "done"), error, now()
    save(folder, job)
    payload(folder, job.id).unlink(missing_ok=True)


def payload(folder: Path, name: str) -> Path:
    """Return the path of the documents of a job."""
    return folder / JOBS / f"{name}.jsonl"


def waiting(folder: Path) -> list[str]:
    """Return the ids of the jobs that have not ended, in the order in which they came."""
    payloads = (path for path in (folder / JOBS).glob("*.jsonl") if _ID.fullmatch(path.stem))
    return sorted(path.stem for path in payloads if path.with_suffix(".json").exists())


def remove_old(folder: Path, *, most: int, days: float) -> None:
    """Remove the jobs that ended more than ``days`` ago, all but the newest ``most``, and files left behind."""
    if not (folder / JOBS).is_dir():
        return
    records = sorted(path for path in (folder / JOBS).glob("*.json") if _ID.fullmatch(path.stem))
    ended = [path for path in records if not path.with_suffix(".jsonl").exists()]
    oldest = time.time() - days * 86_400
    for number, path in enumerate(ended):
        if len(ended) - number > most or _older(path, oldest):
            path.unlink(missing_ok=True)
    for path in (folder / JOBS).iterdir():
        known = path.suffix == ".json" or path.with_suffix(".json").exists() or path.name in (LOCK, LEDGER)
        if not known and path.is_file() and _older(path, time.time() - ORPHANED):
            path.unlink(missing_ok=True)


LOCK, LEDGER = "lock", "singles"
"""The file in the folder of jobs whose lock the writer holds; the single changes that were made while bulks waited."""


def _older(path: Path, when: float) -> bool:
    try:
        return path.stat().st_mtime < when
    except OSError:
        return False
