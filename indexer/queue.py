"""The queue of an index directory: single changes and bulks that wait for the one process that writes the index.

It is an SQLite database, so whoever serves the index can leave a change, answer for a bulk and see what became of
both, and a bulk outlives the process that took it. Changes and bulks are numbered in the order in which they were
accepted. While bulks wait, each single change is noted before it is published: a bulk leaves alone what was changed
after it was accepted, whatever becomes of the writer meanwhile.
"""

from __future__ import annotations

import logging
import os
import secrets
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple, Self

import msgspec

from ..retrieval.errors import IndexStateError, MachineError
from ..retrieval.files import os_errors_reported
from ..retrieval.store.manifest import NAME, SHARDS, now

JOBS = "jobs"
"""The folder in an index directory. No manifest names it: a snapshot leaves it out, a build leaves it alone."""
LOCK, FILE = "lock", "queue.sqlite"
"""Files of that folder: the one whose lock the writer holds, and the queue."""
MOST_REFUSALS = 100
"""Refused documents that a job names; the rest is counted."""
Mode = Literal["append", "update"]
State = Literal["queued", "running", "done", "failed"]
Result = Literal["created", "replaced", "unchanged", "deleted", "absent", "conflict", "unsure", "failed"]
_SECONDS = 5.0
"""How long one process waits for another that writes the queue."""
_FORGOTTEN = 3600.0
"""Seconds after which nobody asks for the outcome of a change any more."""
_TABLES = """
CREATE TABLE IF NOT EXISTS accepted (number INTEGER PRIMARY KEY AUTOINCREMENT);
CREATE TABLE IF NOT EXISTS change (
    number INTEGER PRIMARY KEY, content BLOB, boot TEXT, seconds REAL, taken INTEGER DEFAULT 0, outcome BLOB
);
CREATE TABLE IF NOT EXISTS bulk (
    number INTEGER PRIMARY KEY, id TEXT UNIQUE, record BLOB, documents BLOB, ended REAL
);
CREATE TABLE IF NOT EXISTS single (number INTEGER, docid TEXT, PRIMARY KEY (number, docid)) WITHOUT ROWID;
"""
_log = logging.getLogger("factseek.writer")


class BulkRefusal(msgspec.Struct, frozen=True, kw_only=True):
    """A document that was refused: its number among those of the job, from 1, and why; ``docid`` as far as known."""

    item: int
    docid: str
    reason: str


class Job(msgspec.Struct, kw_only=True):
    """A bulk of documents. ``handled`` says how many of ``documents`` are done with; times are UTC, or empty.

    ``skipped`` counts those that were changed after the bulk was accepted: they stay as they were changed.
    ``unread_dates`` counts the dates that were not understood, ``unread_date`` is the first of them.
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
    unread_dates: int = 0
    unread_date: str = ""
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
            reason = f"docid {docid!r} was changed after this bulk was accepted; the later change stays"
            self.skips.append(BulkRefusal(item=item, docid=docid, reason=reason))


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A document to put (``line``, as it is exported, with its ``checksum``) or, without one, to delete.

    ``states`` are those of which the document must have one now (``*``: any), none: whatever it has; ``absent`` says
    that it must not be there.
    """

    docid: str
    line: str = ""
    checksum: str = ""
    states: tuple[str, ...] = ()
    absent: bool = False

    @property
    def conditional(self) -> bool:
        """Whether to make it twice may end otherwise than to make it once."""
        return bool(self.states) or self.absent


class ChangeOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a change.

    ``conflict``: the document is not in the state that was asked for; ``unsure``: a writer was killed at it;
    ``failed``: ``error`` says why.
    """

    result: Result
    error: str = ""


class ClaimedChange(NamedTuple):
    """A change that the writer has taken; ``again`` says that another writer had taken it before."""

    number: int
    change: Change
    again: bool = False


class Queue:
    """The queue of one index, opened, for one thread at a time."""

    def __init__(self, folder: Path, *, to_read: bool = False) -> None:
        """Open the queue of the index in ``folder``, made if need be; one that is there ``to_read``, on any disk.

        Raises IndexStateError if there is no index or its queue is damaged,
        MachineError if it cannot be made.
        """
        if (folder / SHARDS).is_file():
            what = "is a sharded index, which accepts no changes over HTTP"
            raise IndexStateError(what, place=folder, remedy="factseek index --update and factseek delete change it")
        if not (folder / NAME).is_file():
            raise IndexStateError("there is no index any more", place=folder)
        place = folder / JOBS
        with os_errors_reported(place):
            place.mkdir(exist_ok=True)
        self._path = place / FILE
        with _reported(self._path):
            self._database = _connection(self._path, to_read=to_read)

    def close(self) -> None:
        """Close the queue."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # For whoever asks.

    def submit(self, change: Change) -> int:
        """Leave a change for the writer; return the number that it is answered under."""
        with self._transaction():
            number = self._next()
            row = (number, msgspec.json.encode(change), _boot_id(), time.monotonic())
            self._database.execute("INSERT INTO change (number, content, boot, seconds) VALUES (?, ?, ?, ?)", row)
        return number

    def outcome(self, number: int) -> ChangeOutcome | None:
        """Return the outcome of a change, once; None while it waits."""
        found = self._one("SELECT outcome FROM change WHERE number = ? AND outcome IS NOT NULL", number)
        if found is None:
            return None
        with self._transaction():
            self._database.execute("DELETE FROM change WHERE number = ?", (number,))
        return msgspec.json.decode(found[0], type=ChangeOutcome)

    def withdraw(self, number: int) -> bool:
        """Take a change back; return False if the writer has taken it."""
        with self._transaction():
            return self._database.execute("DELETE FROM change WHERE number = ? AND NOT taken", (number,)).rowcount > 0

    def submit_bulk(self, mode: Mode, documents: Sequence[bytes]) -> Job:
        """Leave documents, each a line of JSON, for the writer; they are on the disk when this returns."""
        job = Job(id=secrets.token_hex(12), mode=mode, documents=len(documents), created=now())
        row = (msgspec.json.encode(job), b"\n".join(documents))
        with self._transaction(durable=True):
            self._database.execute(
                "INSERT INTO bulk (number, id, record, documents) VALUES (?, ?, ?, ?)", (self._next(), job.id, *row)
            )
        return job

    def job(self, id_: str) -> Job | None:
        """Return the job of this id, or None if there is none."""
        found = self._one("SELECT record FROM bulk WHERE id = ?", id_)
        return msgspec.json.decode(found[0], type=Job) if found else None

    # For the writer.

    def changes_wait(self) -> bool:
        """Return whether a change waits, or was taken by a writer that died."""
        return self._one("SELECT 1 FROM change WHERE outcome IS NULL LIMIT 1") is not None

    def bulks(self) -> list[str]:
        """Return the ids of the jobs that have not ended, in the order in which they came."""
        with _reported(self._path):
            return [id_ for (id_,) in self._database.execute("SELECT id FROM bulk WHERE ended IS NULL ORDER BY number")]

    def claim(self, most: int, patience: float) -> list[ClaimedChange]:
        """Take and return the changes that wait, in the order in which they came: at most ``most``, and one a document.

        One for which nobody waits any more, after ``patience`` seconds, is dropped: its document may have changed
        since.
        """
        claimed: dict[str, ClaimedChange] = {}
        with self._transaction():
            rows = self._database.execute(
                "SELECT number, content, boot, seconds, taken FROM change WHERE outcome IS NULL ORDER BY number"
            ).fetchall()
            for number, content, boot, seconds, taken in rows:
                if boot != _boot_id() or not 0 <= time.monotonic() - seconds <= patience:
                    _log.warning("dropped a change: its client no longer waits")
                    self._database.execute("DELETE FROM change WHERE number = ?", (number,))
                    continue
                change = msgspec.json.decode(content, type=Change)
                if change.docid in claimed or len(claimed) == most:
                    break  # what comes after it may be about the same document: the order is kept
                self._database.execute("UPDATE change SET taken = 1 WHERE number = ?", (number,))
                claimed[change.docid] = ClaimedChange(number, change, bool(taken))
        return list(claimed.values())

    def answer(self, number: int, outcome: ChangeOutcome) -> None:
        """Leave the outcome of a change for whoever asked for it."""
        with self._transaction():
            row = (msgspec.json.encode(outcome), number)
            self._database.execute("UPDATE change SET outcome = ? WHERE number = ?", row)

    def documents(self, id_: str) -> list[bytes]:
        """Return the documents of a job that has not ended, each a line of JSON."""
        found = self._one("SELECT documents FROM bulk WHERE id = ?", id_)
        lines: list[bytes] = found[0].split(b"\n") if found and found[0] else []
        return lines

    def save(self, job: Job) -> None:
        """Write the progress of a job."""
        with self._transaction(durable=True):
            self._database.execute("UPDATE bulk SET record = ? WHERE id = ?", (msgspec.json.encode(job), job.id))

    def end(self, job: Job, error: str = "") -> None:
        """Write that a job is done or, with an ``error``, failed; its documents are not kept."""
        job.state, job.error, job.ended = ("failed" if error else "done"), error, now()
        with self._transaction(durable=True):
            self._database.execute(
                "UPDATE bulk SET record = ?, documents = NULL, ended = ? WHERE id = ?",
                (msgspec.json.encode(job), time.time(), job.id),
            )

    def note(self, singles: Iterable[tuple[int, str]]) -> None:
        """Note changes, by number and docid, that are about to be published, if bulks wait."""
        rows = list(singles)
        if rows and self.bulks():
            with self._transaction(durable=True):
                self._database.executemany("INSERT OR IGNORE INTO single VALUES (?, ?)", rows)

    def unnote(self, singles: Iterable[tuple[int, str]]) -> None:
        """Take back the notes of changes that were not published."""
        with self._transaction():
            self._database.executemany("DELETE FROM single WHERE number = ? AND docid = ?", list(singles))

    def newer_writes(self, id_: str) -> set[str]:
        """Return the docids of the documents that were changed after a job was accepted."""
        query = "SELECT docid FROM single WHERE number > (SELECT number FROM bulk WHERE id = ?)"
        with _reported(self._path):
            return {docid for (docid,) in self._database.execute(query, (id_,))}

    def remove_old(self, *, most: int, days: float) -> None:
        """Remove the jobs that ended more than ``days`` ago, all but the newest ``most``, and what nobody asks for."""
        with self._transaction():
            newest = "SELECT number FROM bulk WHERE ended IS NOT NULL ORDER BY number DESC LIMIT ?"
            self._database.execute(
                f"DELETE FROM bulk WHERE ended IS NOT NULL AND (ended < ? OR number NOT IN ({newest}))",  # noqa: S608
                (time.time() - days * 86_400, most),
            )
            self._database.execute(
                "DELETE FROM change WHERE outcome IS NOT NULL AND (boot != ? OR seconds < ?)",
                (_boot_id(), time.monotonic() - _FORGOTTEN),
            )
            self._database.execute("DELETE FROM single WHERE NOT EXISTS (SELECT 1 FROM bulk WHERE ended IS NULL)")

    def overtake(self, docids: Iterable[str]) -> None:
        """Note the documents that a command has just changed, if bulks wait."""
        if self.bulks():
            with self._transaction():
                number = self._next()
            self.note((number, docid) for docid in docids)

    def _next(self) -> int:
        """Return the number of what is accepted now."""
        number = self._database.execute("INSERT INTO accepted DEFAULT VALUES").lastrowid or 0
        self._database.execute("DELETE FROM accepted WHERE number < ?", (number,))
        return number

    def _one(self, query: str, *values: object) -> tuple[bytes] | None:
        with _reported(self._path):
            row: tuple[bytes] | None = self._database.execute(query, values).fetchone()
            return row

    @contextmanager
    def _transaction(self, *, durable: bool = False) -> Iterator[None]:
        """Make all of it, or nothing; what is ``durable`` is on the disk then."""
        with _reported(self._path):
            if durable:
                self._database.execute("PRAGMA synchronous = FULL")
            try:
                self._database.execute("BEGIN IMMEDIATE")
                try:
                    yield
                except BaseException:
                    self._database.execute("ROLLBACK")
                    raise
                self._database.execute("COMMIT")
            finally:
                if durable:
                    self._database.execute("PRAGMA synchronous = NORMAL")


def waits(folder: Path) -> bool:
    """Return whether a change or a bulk waits in the index in ``folder``."""
    if not has_queue(folder):
        return False
    with Queue(folder, to_read=True) as queue:
        return queue.changes_wait() or bool(queue.bulks())


def bulks_waiting(folder: Path) -> int:
    """Return how many bulks wait in the index in ``folder``."""
    if not has_queue(folder):
        return 0
    with Queue(folder, to_read=True) as queue:
        return len(queue.bulks())


def has_queue(folder: Path) -> bool:
    """Return whether anything was ever left for the writer of the index in ``folder``."""
    return (folder / JOBS / FILE).is_file()


def overtake(folder: Path, docids: Iterable[str]) -> None:
    """Note the documents that a command has just changed, if bulks wait; the caller holds the index's lock."""
    if has_queue(folder):
        with Queue(folder) as queue:
            queue.overtake(docids)


def _connection(path: Path, *, to_read: bool) -> sqlite3.Connection:
    database = sqlite3.connect(path, timeout=_SECONDS, isolation_level=None, check_same_thread=False)
    until = time.monotonic() + _SECONDS
    while True:
        try:
            # A power cut loses at most the last changes, for which nobody waits after it; bulks are synced.
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("PRAGMA synchronous = NORMAL")
            database.executescript(_TABLES)
            return database
        except sqlite3.DatabaseError as error:
            # Where two make the queue at once, SQLite does not wait for the other by itself.
            if "locked" in str(error) and time.monotonic() < until:
                time.sleep(0.01)
                continue
            database.close()
            if not to_read or os.access(path, os.W_OK):
                raise
            break
    # Nobody writes there: without a log, the file alone is the queue.
    how = "mode=ro" if path.with_name(f"{path.name}-wal").is_file() else "immutable=1"
    return sqlite3.connect(f"{path.as_uri()}?{how}", uri=True, isolation_level=None, check_same_thread=False)


@contextmanager
def _reported(path: Path) -> Iterator[None]:
    """Raise an error of SQLite as one of ours."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise MachineError(f"{error}", place=path, remedy="make room, or let this user write there") from None
    except sqlite3.ProgrammingError:
        raise
    except sqlite3.DatabaseError as error:
        remedy = "stop the server, remove the file, and send unfinished changes again"
        raise IndexStateError(f"is damaged ({error})", place=path, remedy=remedy) from None


@cache
def _boot_id() -> str:
    """Return an id of this start of the machine, as far as it has one: nobody waits across a restart."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        return ""
