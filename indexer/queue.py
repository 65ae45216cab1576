"""The queue of an index directory: single changes and bulks that wait for the one process that
writes the index.

The queue is an SQLite database. Every process that serves the index can submit a change and look up
the result of a change or a bulk. A bulk survives the process that accepted it. Changes and bulks
are numbered in the order of acceptance. While bulks wait, each single change is recorded before it
is published. A bulk skips documents that were changed after the bulk was accepted, even if the
writer dies in between.
"""

from __future__ import annotations

import logging
import os
import secrets
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

import msgspec

from ..core.errors import IndexStateError, MachineError
from ..core.files import os_errors_reported
from ..retrieval.store.manifest import NAME, SHARDS, now

JOBS = "jobs"
"""The folder of the queue in an index directory.

No manifest names it, so snapshots and builds ignore it.
"""
LOCK, FILE, TROUBLE = "lock", "queue.sqlite", "trouble.json"
"""Three files in the folder ``JOBS``. The writer locks the first; the second is the queue.

The third says why changes and bulks wait. It keeps its size, so that the writer can say so on a
full disk.
"""
_TROUBLE_BYTES, _LONGEST_REASON = 4_096, 300
"""The size of the third file, and the most characters of one of its two reasons; JSON may escape
each in six bytes.
"""
MOST_REFUSALS = 100
"""The maximum number of refused documents, and of skipped ones, that a job lists; the others are
only counted.
"""
Mode = Literal["append", "update"]
State = Literal["queued", "running", "done", "failed"]
Result = Literal[
    "created",
    "replaced",
    "unchanged",
    "deleted",
    "restored",
    "absent",
    "dropped",
    "conflict",
    "unsure",
    "failed",
]
Work = Literal["changes", "bulks"]
"""The two kinds of work that wait in the queue."""
_SECONDS = 5.0
"""The maximum number of seconds that a process waits while another process writes to the queue."""
_FORGOTTEN = 3600.0
"""Seconds after which no client asks for the result of a change any more."""
_TABLES = """
CREATE TABLE IF NOT EXISTS accepted (number INTEGER PRIMARY KEY AUTOINCREMENT);
CREATE TABLE IF NOT EXISTS change (
    number INTEGER PRIMARY KEY, content BLOB, boot TEXT, seconds REAL,
    taken INTEGER DEFAULT 0, outcome BLOB
);
CREATE TABLE IF NOT EXISTS bulk (
    number INTEGER PRIMARY KEY, id TEXT UNIQUE, record BLOB, documents BLOB, ended REAL
);
CREATE TABLE IF NOT EXISTS bulk_documents (number INTEGER PRIMARY KEY, documents BLOB);
CREATE TABLE IF NOT EXISTS single (
    number INTEGER, docid TEXT, PRIMARY KEY (number, docid)
) WITHOUT ROWID;
"""
"""The documents of a bulk have a table of their own: SQLite writes a row as a whole, and the record
of a bulk changes after each slice. Queues of earlier versions have them in the table ``bulk``.
"""
_log = logging.getLogger("factseek.writer")


class RefusedDocument(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A refused document of a bulk: its number from 1, its docid if known, and the reason."""

    item: int
    docid: str
    reason: str


class Job(msgspec.Struct, kw_only=True):
    """A bulk of documents. ``handled`` is the number of finished ``documents``.

    ``by`` names the key of the client, ``kind`` is the kind under which the documents are stored.
    ``created``, ``started`` and ``ended`` are times in UTC, or empty. ``skipped`` counts the
    documents that were changed after the bulk was accepted. ``unread_date`` is the first of the
    ``unread_dates``, which were not understood. ``attempts`` counts the processes that have worked
    on the next slice: above one, some were killed.
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
    refusals: list[RefusedDocument] = []
    skipped: int = 0
    skips: list[RefusedDocument] = []
    unread_dates: int = 0
    unread_date: str = ""
    attempts: int = 0
    by: str = ""
    kind: str = ""
    created: str = ""
    started: str = ""
    ended: str = ""
    error: str = ""

    def refuse(self, item: int, docid: str, reason: str) -> None:
        """Count a refused document, and list it if the list is not full."""
        self.refused += 1
        if len(self.refusals) < MOST_REFUSALS:
            self.refusals.append(RefusedDocument(item=item, docid=docid, reason=reason))

    def skip(self, item: int, docid: str) -> None:
        """Count a document that was changed after the bulk was accepted, and list it if the list is
        not full.
        """
        self.skipped += 1
        if len(self.skips) < MOST_REFUSALS:
            reason = (
                f"docid {docid!r} was changed after this bulk was accepted; the later change stays"
            )
            self.skips.append(RefusedDocument(item=item, docid=docid, reason=reason))


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A change: it writes a document (``line``, as exported, with ``checksum``), brings the version
    in the state ``restore`` back, which an earlier change deleted or replaced, or else deletes it.

    If ``states`` is not empty, the document must be in one of these states before the change
    (``*``: any state). If ``absent``, the document must not exist. ``by`` names the key of the
    client. ``kind`` is the kind under which the document is stored, ``""``: JSON lines.
    """

    docid: str
    line: str = ""
    checksum: str = ""
    restore: str = ""
    by: str = ""
    kind: str = ""
    states: tuple[str, ...] = ()
    absent: bool = False


class ChangeOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a change, with the reason if it ``failed``.

    ``conflict``: the document is not in the required state. ``dropped``: the version to restore is
    not in the index any more. ``unsure``: a writer was killed while it made the change.
    """

    result: Result
    error: str = ""


class ClaimedChange(NamedTuple):
    """A change that the writer has taken.

    ``again`` means that another writer had taken it before.
    """

    number: int
    change: Change
    again: bool = False


class Queue:
    """The open queue of one index, for one thread at a time."""

    def __init__(self, folder: Path, *, to_read: bool = False) -> None:
        """Open or create the queue of an index; ``to_read`` opens an existing queue even on a
        read-only disk.

        Raises IndexStateError if there is no index, it has shards, or its queue is damaged. A queue
        that was there before the index was divided into shards can be read.
        """
        if not to_read:
            _check_writable(folder)
        place = folder / JOBS
        if to_read and not (place / FILE).is_file():
            raise IndexStateError("has no queue", place=folder)
        if not to_read:
            with os_errors_reported(place):
                place.mkdir(exist_ok=True)
        self._path, self._trouble = place / FILE, place / TROUBLE
        with _errors_reported(self._path):
            self._database = _connection(self._path, to_read=to_read)
        if not to_read and not self._trouble.is_file():
            with suppress(MachineError):
                self._write_troubles({})

    def close(self) -> None:
        """Close the queue."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def submit(self, change: Change) -> int:
        """Add a change for the writer, and return its number."""
        with self._transaction():
            number = self._next()
            row = (number, msgspec.json.encode(change), _boot_id(), time.monotonic())
            self._database.execute(
                "INSERT INTO change (number, content, boot, seconds) VALUES (?, ?, ?, ?)", row
            )
        return number

    def outcome(self, number: int) -> ChangeOutcome | None:
        """Return the result of a change, and remove the change from the queue; return None while
        the change waits.
        """
        found = self._column(
            "SELECT outcome FROM change WHERE number = ? AND outcome IS NOT NULL", number
        )
        if not found:
            return None
        with suppress(MachineError):  # on a full disk, the result stays until remove_old removes it
            self._change("DELETE FROM change WHERE number = ?", number)
        return msgspec.json.decode(found[0], type=ChangeOutcome)

    def withdraw(self, number: int) -> bool:
        """Withdraw a change. Return False if the writer has already taken it."""
        with self._transaction():
            return self._drop(number)

    def submit_bulk(
        self, mode: Mode, documents: Sequence[bytes], by: str = "", kind: str = ""
    ) -> Job:
        """Add documents, each a line of JSON, for the writer; ``by`` names the key of the client.

        They are stored under ``kind``, ``""``: JSON lines. They are durable on disk when this
        method returns.
        """
        job = Job(
            id=secrets.token_hex(12),
            mode=mode,
            documents=len(documents),
            by=by,
            kind=kind,
            created=now(),
        )
        with self._transaction(durable=True):
            number = self._next()
            self._database.execute(
                "INSERT INTO bulk (number, id, record) VALUES (?, ?, ?)",
                (number, job.id, msgspec.json.encode(job)),
            )
            self._database.execute(
                "INSERT INTO bulk_documents VALUES (?, ?)", (number, b"\n".join(documents))
            )
        return job

    def job(self, id_: str) -> Job | None:
        """Return the job with this id, or None."""
        found = self._column("SELECT record FROM bulk WHERE id = ?", id_)
        return msgspec.json.decode(found[0], type=Job) if found else None

    def changes_wait(self) -> bool:
        """Return whether a change waits, or was taken by a writer that died."""
        return bool(self._column("SELECT 1 FROM change WHERE outcome IS NULL LIMIT 1"))

    def bulks(self) -> list[str]:
        """Return the ids of the jobs that have not ended, oldest first."""
        return self._column("SELECT id FROM bulk WHERE ended IS NULL ORDER BY number")

    def claim(self, most: int, patience: float) -> list[ClaimedChange]:
        """Take and return at most ``most`` of the waiting changes, oldest first, up to a second
        change of a document.

        A change that has waited longer than ``patience`` seconds is dropped: its client no longer
        waits, and its document may have changed since.
        """
        claimed: dict[str, ClaimedChange] = {}
        with self._transaction():
            rows = self._database.execute(
                "SELECT number, content, boot, seconds, taken FROM change WHERE outcome IS NULL "
                "ORDER BY number"
            ).fetchall()
            for number, content, boot, seconds, taken in rows:
                if boot != _boot_id() or not 0 <= time.monotonic() - seconds <= patience:
                    _log.warning("dropped a change: its client no longer waits")
                    if not self._drop(number):
                        self._database.execute("DELETE FROM change WHERE number = ?", (number,))
                    continue
                change = msgspec.json.decode(content, type=Change)
                if change.docid in claimed or len(claimed) == most:
                    break  # later changes may be about the same document, so the order is kept
                self._database.execute("UPDATE change SET taken = 1 WHERE number = ?", (number,))
                claimed[change.docid] = ClaimedChange(number, change, bool(taken))
        return list(claimed.values())

    def release(self, numbers: Iterable[int]) -> None:
        """Put changes that were taken, but not made, back into the queue: their clients can
        withdraw them again.
        """
        with self._transaction():
            rows = [(number,) for number in numbers]
            self._database.executemany("UPDATE change SET taken = 0 WHERE number = ?", rows)

    def answer(self, number: int, outcome: ChangeOutcome) -> None:
        """Store the result of a change for the client."""
        self._change(
            "UPDATE change SET outcome = ? WHERE number = ?", msgspec.json.encode(outcome), number
        )

    def documents(self, id_: str) -> list[bytes]:
        """Return the documents of an unfinished job, each a line of JSON."""
        found = self._column(
            "SELECT COALESCE(own.documents, bulk.documents) FROM bulk "
            "LEFT JOIN bulk_documents own USING (number) WHERE id = ?",
            id_,
        )
        return found[0].split(b"\n") if found and found[0] else []

    def save(self, job: Job) -> None:
        """Store the progress of a job."""
        self._change(
            "UPDATE bulk SET record = ? WHERE id = ?",
            msgspec.json.encode(job),
            job.id,
            durable=True,
        )

    def end(self, job: Job, error: str = "") -> None:
        """Mark a job as done or, with an ``error``, as failed, and drop its documents."""
        job.state, job.error, job.ended = ("failed" if error else "done"), error, now()
        row = (msgspec.json.encode(job), time.time(), job.id)
        with self._transaction(durable=True):
            self._database.execute(
                "UPDATE bulk SET record = ?, documents = NULL, ended = ? WHERE id = ?", row
            )
            self._database.execute(
                "DELETE FROM bulk_documents WHERE number IN (SELECT number FROM bulk WHERE id = ?)",
                (job.id,),
            )

    def note_trouble(self, work: Work, reason: str) -> None:
        """Store why the waiting changes or bulks cannot be made at the moment; ``""`` says that
        they can.
        """
        reasons = {**self._troubles(), work: reason[:_LONGEST_REASON]}
        self._write_troubles(reasons)

    def trouble(self, work: Work) -> str:
        """Return why the waiting changes or bulks cannot be made at the moment, or ``""``."""
        return self._troubles().get(work, "")

    def _troubles(self) -> dict[str, str]:
        try:
            return msgspec.json.decode(self._trouble.read_bytes(), type=dict[str, str])
        # There is none, or it is just being written.
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            return {}

    def _write_troubles(self, reasons: dict[str, str]) -> None:
        content = msgspec.json.encode(reasons).ljust(_TROUBLE_BYTES)
        with os_errors_reported(self._trouble):
            handle = os.open(self._trouble, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
            try:
                os.pwrite(handle, content, 0)
            finally:
                os.close(handle)

    def record_writes(self, writes: Iterable[tuple[int, str]]) -> None:
        """If bulks wait, record the changes (number, docid) that are about to be published."""
        rows = list(writes)
        if rows and self.bulks():
            with self._transaction(durable=True):
                self._database.executemany("INSERT OR IGNORE INTO single VALUES (?, ?)", rows)

    def forget_writes(self, writes: Iterable[tuple[int, str]]) -> None:
        """Remove the records of changes that were not published."""
        with self._transaction():
            self._database.executemany(
                "DELETE FROM single WHERE number = ? AND docid = ?", list(writes)
            )

    def newer_writes(self, id_: str) -> set[str]:
        """Return the docids of the documents that were changed after a job was accepted."""
        return set(
            self._column(
                "SELECT docid FROM single WHERE number > (SELECT number FROM bulk WHERE id = ?)",
                id_,
            )
        )

    def remove_old(self, *, most: int, days: float) -> None:
        """Remove ended jobs that are older than ``days`` days or not among the ``most`` newest.

        Also remove results that no client asks for any more, and records of changes that no waiting
        bulk needs.
        """
        with self._transaction():
            newest = "SELECT number FROM bulk WHERE ended IS NOT NULL ORDER BY number DESC LIMIT ?"
            self._database.execute(
                "DELETE FROM bulk WHERE ended IS NOT NULL "  # noqa: S608
                f"AND (ended < ? OR number NOT IN ({newest}))",
                (time.time() - days * 86_400, most),
            )
            self._database.execute(
                "DELETE FROM change WHERE outcome IS NOT NULL AND (boot != ? OR seconds < ?)",
                (_boot_id(), time.monotonic() - _FORGOTTEN),
            )
            self._database.execute(
                "DELETE FROM single WHERE NOT EXISTS (SELECT 1 FROM bulk WHERE ended IS NULL)"
            )

    def record_command(self, docids: Iterable[str]) -> None:
        """If bulks wait, record the documents that a command has just changed."""
        if self.bulks():
            with self._transaction():
                number = self._next()
            self.record_writes((number, docid) for docid in docids)

    def _drop(self, number: int) -> bool:
        """Remove a change that no writer has taken, and the record of a writer that had to put it
        back.
        """
        dropped = (
            self._database.execute(
                "DELETE FROM change WHERE number = ? AND NOT taken", (number,)
            ).rowcount
            > 0
        )
        if dropped:
            self._database.execute("DELETE FROM single WHERE number = ?", (number,))
        return dropped

    def _next(self) -> int:
        number = self._database.execute("INSERT INTO accepted DEFAULT VALUES").lastrowid or 0
        self._database.execute("DELETE FROM accepted WHERE number < ?", (number,))
        return number

    def _column(self, query: str, *values: object) -> list[Any]:
        with _errors_reported(self._path):
            return [value for (value,) in self._database.execute(query, values)]

    def _change(self, statement: str, *values: object, durable: bool = False) -> int:
        """Run a statement in its own transaction; return the number of changed rows."""
        with self._transaction(durable=durable):
            return self._database.execute(statement, values).rowcount

    @contextmanager
    def _transaction(self, *, durable: bool = False) -> Iterator[None]:
        """Run the block completely or not at all.

        If ``durable``, its effect is on disk afterwards.
        """
        with _errors_reported(self._path):
            if durable:
                self._database.execute("PRAGMA synchronous = FULL")
            try:
                with self._database:
                    self._database.execute("BEGIN IMMEDIATE")
                    yield
            finally:
                if durable:
                    self._database.execute("PRAGMA synchronous = NORMAL")


def _check_writable(folder: Path) -> None:
    """Raise IndexStateError if an index has shards, or there is none."""
    if (folder / SHARDS).is_file():
        what, remedy = (
            "accepts no changes over HTTP",
            "change it with factseek index --update or factseek delete",
        )
        raise IndexStateError(f"is a sharded index, which {what}", place=folder, remedy=remedy)
    if not (folder / NAME).is_file():
        raise IndexStateError("there is no index any more", place=folder)


def has_queue(folder: Path) -> bool:
    """Return whether the index in ``folder`` has a queue; an index in shards has none, even if one
    was left over.
    """
    is_whole = (folder / NAME).is_file() and not (folder / SHARDS).is_file()
    return is_whole and (folder / JOBS / FILE).is_file()


def waiting(folder: Path) -> tuple[bool, int]:
    """Return whether a change waits for the index in ``folder``, and how many bulks wait."""
    if not has_queue(folder):
        return False, 0
    with Queue(folder, to_read=True) as queue:
        return queue.changes_wait(), len(queue.bulks())


def record_command(folder: Path, docids: Iterable[str]) -> None:
    """If bulks wait, record the documents that a command has just changed.

    The caller holds the index's lock.
    """
    if has_queue(folder):
        with Queue(folder) as queue:
            queue.record_command(docids)


def _connection(path: Path, *, to_read: bool) -> sqlite3.Connection:
    database = sqlite3.connect(
        path, timeout=_SECONDS, isolation_level=None, check_same_thread=False
    )
    until = time.monotonic() + _SECONDS
    while True:
        try:
            # A power cut loses at most the last changes, whose clients no longer wait afterwards.
            # Bulks are synced.
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("PRAGMA synchronous = NORMAL")
            database.executescript(_TABLES)
            return database
        except sqlite3.DatabaseError as error:
            # If two processes create the queue at once, SQLite does not wait, so this loop does.
            if "locked" in str(error) and time.monotonic() < until:
                time.sleep(0.01)
                continue
            database.close()
            if not to_read or not path.is_file():
                raise
            break
    # The disk is read-only or full. Without a write-ahead log, the file alone contains the queue.
    how = "mode=ro" if path.with_name(f"{path.name}-wal").is_file() else "immutable=1"
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?{how}", uri=True, isolation_level=None, check_same_thread=False
    )


@contextmanager
def _errors_reported(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_FULL:
            raise MachineError("the disk is full", place=path, remedy="free disk space") from None
        raise MachineError(
            f"{error}", place=path, remedy="free disk space, or let this user write the file"
        ) from None
    except sqlite3.ProgrammingError:
        raise
    except sqlite3.DatabaseError as error:
        remedy = "stop the server, remove the file, and send unfinished changes again"
        raise IndexStateError(f"is damaged ({error})", place=path, remedy=remedy) from None


@cache
def _boot_id() -> str:
    """Return an id of this boot of the machine, ``""`` if unknown.

    No client waits across a restart of the machine.
    """
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        return ""
