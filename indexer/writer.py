"""The writer of a served index: the one process that carries out the changes and bulks in the
index's queue.

Single documents go before bulks. Bulks are written slice by slice, so that no single change waits
for a whole bulk. Changes that arrive while a batch is published form the next batch, so each change
costs less under load. If the machine prevents the work (a full disk, for example), changes and
bulks stay in the queue, and the writer tries again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from time import monotonic
from typing import NamedTuple

import msgspec

from ..core.errors import IndexBusyError, UserError
from ..core.files import os_errors_reported
from ..retrieval.store import manifest as manifests
from ..retrieval.store.documents import checksum, state_of
from ..retrieval.store.index_folder import all_documents
from ..retrieval.store.manifest import SHARDS, SourceInfo
from . import journal as journals
from .build import BuildRequest, build_locked
from .collections import kinds, reader
from .collections.jsonl import Refused, export_document, read_line, unread_date
from .compaction import merge_surplus
from .deletion import deleted_version, publish_restored, publish_without
from .encoders import Encoders
from .lock import locked
from .queue import JOBS, Change, ChangeOutcome, ClaimedChange, Job, Queue, Result, Work
from .settings import Config
from .trouble import Failure, of_process, passes, reason_of

SOURCE = SourceInfo(name="http", bytes=0, sha256="")
"""Every document that arrives over HTTP has this one source, so that the list of sources does not
grow.
"""
SLICE = 200
"""The maximum number of documents of a bulk to publish together.

A single change waits for at most one such slice.
"""
MOST_CHANGES = 200
"""The maximum number of changes to publish together."""
LOOK_EVERY, BUSY_EVERY, TROUBLED_EVERY = 0.02, 0.2, 2.0
"""Seconds between two looks for work; also while another process writes the index, and after an
error of the folder.
"""
FIRST_DELAY, LONGEST_DELAY = 0.5, 5.0
"""Seconds before work is tried again that the machine prevented; each delay is twice as long as the
one before.
"""
PAUSE_SECONDS, PAUSE_EVERY = 0.1, 1.0
"""The seconds of a pause in which another process can take the lock, and of continuous changes
before such a pause.

The writer also pauses after every slice of a bulk.
"""
PATIENCE = 5.0
"""Seconds added to ``write_seconds``.

After the sum, the client has certainly withdrawn its change, or died.
"""
IDLE = 300.0
"""Seconds without work after which the writer ends; the next change starts another writer."""
FAILURES = 5
"""The number of consecutive failures after which the writer ends; a new process may get the missing
resources.
"""
ATTEMPTS = 3
"""The number of processes that may die at one slice of a job; after that, the job fails."""
INTERNAL_ERROR = "an internal error occurred; see the server's log"
_log = logging.getLogger("factseek.writer")


class DocumentState(NamedTuple):
    """A published document: the checksum of its content and the id of its state."""

    checksum: str
    state: str


StateOfDocument = Callable[[str], DocumentState | None]
"""A function that returns the state of the document with a docid, or None if the index does not
contain it.
"""


@contextmanager
def published_documents(folder: Path) -> Iterator[StateOfDocument]:
    """Yield a function that looks up published documents of an index.

    The caller holds the index's lock.
    """
    with all_documents(folder, manifests.read(folder).segments) as segments:

        def state_of_document(docid: str) -> DocumentState | None:
            for documents in segments:
                if seen := documents.look_up(docid):
                    return DocumentState(seen[0], state_of(seen[0], documents.spans(docid)))
            return None

        yield state_of_document


def put(
    folder: Path,
    lines: Sequence[str],
    config: Config,
    encoders: Encoders | None = None,
    *,
    by: str = "",
    kind: str = "",
) -> None:
    """Publish documents, as :func:`build` does.

    Each replaces the published one with the same docid. ``by`` names the key of the client who sent
    them, and ``kind`` is the kind under which they are stored, ``""``: JSON lines.

    ``lines`` come from :func:`factseek.indexer.collections.jsonl.export_document`; no docid occurs
    twice. The caller holds the index's lock.
    """
    source = folder / JOBS / "batch"
    journals.clean(folder)  # all batches have the same fingerprint, and none may resume another
    try:
        source.write_text("".join(f"{line}\n" for line in lines), "utf-8")
        request = BuildRequest(
            kind="jsonl",
            sources=(source,),
            folder=folder,
            verb="update",
            by=by,
            stored_as=_stored_as(kind),
        )
        # The index keeps its own analyzer; the configured one applies only to new indexes.
        index = msgspec.structs.replace(config.index, analyzer="")
        build_locked(request, msgspec.structs.replace(config, index=index), (SOURCE,), encoders)
    except BaseException:
        with suppress(OSError):  # half a segment takes room that the next attempt may need
            journals.clean(folder)
        raise
    finally:
        source.unlink(missing_ok=True)


def _stored_as(kind: str) -> str:
    """Return ``kind`` if a document of it can be written again from its text alone, else ``""``."""
    return kind if kind in kinds() and not getattr(reader(kind), "SENTENCES", False) else ""


class _Item(NamedTuple):
    """A document of a job: its exported line, or the reason why it is refused.

    ``repeated``: an earlier item is the same. ``unread_date``: the document's date, if it was not
    understood.
    """

    number: int
    docid: str = ""
    line: str = ""
    checksum: str = ""
    refused: str = ""
    repeated: bool = False
    unread_date: str = ""

    @classmethod
    def of(cls, number: int, line: bytes, language: str) -> _Item:
        document = read_line(line.decode("utf-8", "replace"), language)
        if isinstance(document, Refused):
            return cls(number, refused=document.reason)
        try:
            digest = checksum(document)
            line_of = export_document(document, digest)
        except RecursionError:
            return cls(number, document.docid, refused="is nested too deeply")
        return cls(number, document.docid, line_of, digest, unread_date=unread_date(document))


class Bulk:
    """A job with its documents."""

    def __init__(self, job: Job, lines: Sequence[bytes], language: str) -> None:
        """Check the documents of a job, each a line of JSON.

        ``language`` applies to documents without one.
        """
        self.job = job
        self._items: list[_Item] = []
        first: dict[str, _Item] = {}
        for number, line in enumerate(lines, 1):
            item = _Item.of(number, line, language)
            if not item.refused and (before := first.setdefault(item.docid, item)) is not item:
                reason = (
                    f"docid {item.docid!r} is already item {before.number}, with different content"
                )
                same = before.checksum == item.checksum
                item = item._replace(repeated=True) if same else item._replace(refused=reason)
            self._items.append(item)

    @property
    def done(self) -> bool:
        """Whether all documents are handled."""
        return self.job.handled >= len(self._items)

    def next(self, live: StateOfDocument, newer: Container[str] = ()) -> tuple[Job, list[str]]:
        """Return the job as it will be after its next slice, and the lines of the documents to
        publish for this slice.

        ``newer`` contains the docids of documents that changed after the job was accepted. The job
        skips them.
        """
        job = msgspec.structs.replace(
            self.job, refusals=[*self.job.refusals], skips=[*self.job.skips]
        )
        lines = []
        for item in self._items[self.job.handled : self.job.handled + SLICE]:
            job.handled += 1
            if item.refused:
                job.refuse(item.number, item.docid, item.refused)
                continue
            if item.docid in newer:
                job.skip(item.number, item.docid)
                continue
            if item.unread_date:
                job.unread_dates += 1
                job.unread_date = (
                    job.unread_date or f"{item.unread_date[:40]!r} (item {item.number})"
                )
            there = live(item.docid)
            other = there is not None and there.checksum != item.checksum
            if other and job.mode == "append" and not item.repeated:
                what = "already exists with different content; to replace it, use mode=update"
                job.refuse(item.number, item.docid, f"docid {item.docid!r} {what}")
            elif item.repeated or (there and not other):
                job.unchanged += 1
            else:
                job.replaced += other
                job.added += not other
                lines.append(item.line)
        return job, lines


class Writer:
    """Carries out the changes and the bulks that wait in the queue of one index."""

    def __init__(
        self,
        folder: Path,
        config: Config,
        write_seconds: float,
        keep_jobs: int,
        keep_job_days: float,
    ) -> None:
        """A client waits ``write_seconds`` for a change; at most so many ended jobs are kept, for
        so many days.
        """
        self._folder = folder
        self._config = config
        self._patience = write_seconds + PATIENCE
        self._keep_jobs, self._keep_job_days = keep_jobs, keep_job_days
        self._encoders = Encoders(config)
        self._opened: Queue | None = None
        self._bulk: Bulk | None = None
        self._begun: set[str] = set()  # the jobs whose attempts count this process
        self._delays: dict[Work, float] = {}
        self._not_before: dict[Work, float] = {}
        self._noted: dict[Work, str] = {}
        self._logged = ""
        self._paused = monotonic()
        self._failures = 0

    @property
    def _queue(self) -> Queue:
        self._opened = self._opened or Queue(self._folder)
        return self._opened

    def run(self, stopped: Callable[[float], bool]) -> None:
        """Work until there is nothing to do for ``IDLE`` seconds, or until ``stopped(seconds)``
        returns true.

        ``stopped`` waits that many seconds. The writer also ends after ``FAILURES`` failures in a
        row that another process may not have.
        """
        self._try(self._remove_old)
        last = monotonic()
        pause = 0.0
        while self._failures < FAILURES and not stopped(pause) and monotonic() - last < IDLE:
            if (self._folder / SHARDS).is_file():  # the index was divided meanwhile
                return
            pause = self._turn()
            last = last if pause == LOOK_EVERY else monotonic()

    def _turn(self) -> float:
        try:
            if not self.work():
                return LOOK_EVERY
            if self._bulk is None and monotonic() - self._paused < PAUSE_EVERY:
                return 0.0
            self._paused = monotonic()
            return PAUSE_SECONDS
        except IndexBusyError:
            return BUSY_EVERY
        # The directory is missing or read-only, perhaps only for a while.
        except (UserError, OSError) as error:
            self._log_once(str(error))
            self._count(Failure("", passes=passes(error), of_process=of_process(error)))
            return TROUBLED_EVERY

    def work(self) -> bool:
        """Make the waiting changes; if there are none, publish the next slice of the oldest job.

        Return whether there was work. After work that the machine prevented, there is none for a
        while. Raises IndexBusyError, and changes nothing, while another process writes the index.
        """
        changes = self._queue.changes_wait()
        waiting = [] if changes else self._queue.bulks()
        # No bulk overtakes the changes, even if the machine prevents them for a while.
        kind: Work = "changes" if changes else "bulks"
        if not (changes or waiting) or monotonic() < self._not_before.get(kind, 0.0):
            return False
        try:
            with locked(self._folder), os_errors_reported(self._folder):
                failure = self._make_changes() if changes else self._advance(waiting[0])
                if failure is None:
                    # A failure to merge small segments does not undo what was published.
                    self._try(lambda: merge_surplus(self._folder, self._config))
        except (UserError, OSError) as error:
            self._note(kind, reason_of(error, self._folder))
            raise
        self._count(failure)
        self._wait_after(kind, failure)
        return True

    def close(self) -> None:
        """Close the queue and the encoders, and record that the writer did not die during the
        current job.
        """
        if self._bulk is not None:
            job = self._bulk.job
            job.attempts = max(0, job.attempts - 1)
            self._try(lambda: self._queue.save(job))
        if self._opened is not None:
            self._opened.close()
        self._encoders.close()

    def _count(self, failure: Failure | None) -> None:
        """Count consecutive failures, except those that another process would have as well."""
        if failure is None:
            self._failures = 0
        elif failure.of_process or not failure.passes:
            self._failures += 1

    def _wait_after(self, kind: Work, failure: Failure | None) -> None:
        """Let the next attempt at a kind of work wait, longer each time, if the machine prevented
        the last one.
        """
        if failure is None or not failure.passes:
            self._delays.pop(kind, None)
            self._note(kind, "")
            self._logged = ""
            return
        delay = self._delays.get(kind, FIRST_DELAY)
        self._delays[kind] = min(2 * delay, LONGEST_DELAY)
        self._not_before[kind] = monotonic() + delay
        self._note(kind, failure.line)

    def _note(self, kind: Work, reason: str) -> None:
        """Store, for clients, why the work waits, if that is new; the disk may be too full for
        it.
        """
        if (
            self._noted.get(kind) != reason
            and self._try(lambda: self._queue.note_trouble(kind, reason)) is None
        ):
            self._noted[kind] = reason

    def _make_changes(self) -> Failure | None:
        folder, results = self._folder, dict[int, Result]()
        claimed = self._queue.claim(MOST_CHANGES, self._patience)

        def judge() -> None:
            with published_documents(folder) as live:
                results.update(
                    (each.number, result_of(each, live(each.change.docid))) for each in claimed
                )
            for each in claimed:
                if results[each.number] == "restored" and not _is_kept(folder, each.change):
                    results[each.number] = "dropped"

        def with_result(*names: Result) -> list[ClaimedChange]:
            return [each for each in claimed if results[each.number] in names]

        if failure := self._try(judge):
            self._answer(claimed, results, failure)
            return failure
        gone, restored = with_result("deleted"), with_result("restored")
        docids = [each.change.docid for each in gone]
        versions = [(each.change.docid, each.change.restore) for each in restored]
        failures = [
            self._settle(
                with_result("unchanged", "absent", "dropped", "conflict", "unsure"),
                results,
                lambda: None,
            ),
            *self._put_all(with_result("created", "replaced"), results),
            self._settle(
                gone, results, lambda: publish_without(folder, manifests.read(folder), docids)
            ),
            self._settle(
                restored,
                results,
                lambda: publish_restored(folder, manifests.read(folder), versions),
            ),
        ]
        return next((failure for failure in failures if failure), None)

    def _put_all(
        self, puts: Sequence[ClaimedChange], results: Mapping[int, Result]
    ) -> Iterator[Failure | None]:
        """Publish documents, those of each key and kind together, as a segment has one of each."""
        groups: dict[tuple[str, str], list[ClaimedChange]] = {}
        for each in puts:
            groups.setdefault((each.change.by, each.change.kind), []).append(each)
        for (by, kind), group in groups.items():
            lines = [each.change.line for each in group]
            publish = partial(
                put, self._folder, lines, self._config, self._encoders, by=by, kind=kind
            )
            yield self._settle(group, results, publish)

    def _settle(
        self,
        claimed: Sequence[ClaimedChange],
        results: Mapping[int, Result],
        publish: Callable[[], object],
    ) -> Failure | None:
        """Publish changes, and store the result of each.

        First record them, so that earlier bulks do not undo them.
        """
        if not claimed:
            return None
        # A client relies on an answer "unchanged" or "absent" too.
        kept = [each for each in claimed if results[each.number] not in ("conflict", "unsure")]
        writes = [(each.number, each.change.docid) for each in kept]
        before = self._published()
        failure = self._try(lambda: self._queue.record_writes(writes)) or self._try(publish)
        if failure and failure.passes and self._published() != before:
            # They were published all the same, so they stay taken, and the next attempt finds them
            # made.
            return failure
        if failure:
            self._try(lambda: self._queue.forget_writes(writes))
        self._answer(claimed, results, failure)
        return failure

    def _published(self) -> str:
        """Return the id of the published manifest, or ``""`` if it cannot be read."""
        try:
            return manifests.read(self._folder).id
        except (UserError, OSError):
            return ""

    def _answer(
        self,
        claimed: Sequence[ClaimedChange],
        results: Mapping[int, Result],
        failure: Failure | None,
    ) -> None:
        """Store the result of each change, or put the changes back into the queue if the failure
        passes.
        """
        if failure and failure.passes:
            self._try(lambda: self._queue.release(each.number for each in claimed))
            return
        for each in claimed:
            outcome = ChangeOutcome(result="failed", error=failure.line) if failure else None
            self._queue.answer(each.number, outcome or ChangeOutcome(result=results[each.number]))

    def _advance(self, id_: str) -> Failure | None:
        """Publish the next slice of a job; end the job after its last slice, or if it can never
        succeed.
        """
        if (self._bulk is None or self._bulk.job.id != id_) and (failure := self._start(id_)):
            return failure
        bulk = self._bulk
        if bulk is None:
            return None

        def publish_slice() -> None:
            with published_documents(self._folder) as live:
                after, lines = bulk.next(live, self._queue.newer_writes(id_))
            if lines:
                put(
                    self._folder,
                    lines,
                    self._config,
                    self._encoders,
                    by=bulk.job.by,
                    kind=bulk.job.kind,
                )
            bulk.job = after
            # The job advanced, so earlier processes did not die at the next slice.
            after.attempts, after.state = 1, "running"
            self._queue.save(after)

        failure = self._try(publish_slice)
        if failure and failure.passes:
            self._keep(bulk.job)
        elif failure or bulk.done:
            self._queue.end(bulk.job, failure.line if failure else "")
            self._bulk = None
            self._remove_old()
        return failure

    def _start(self, id_: str) -> Failure | None:
        """Begin a job, or resume one that another writer left; end a job that cannot begin."""
        self._bulk = None
        job = self._queue.job(id_)
        if job is None:
            return None
        if id_ not in self._begun:
            job.attempts += 1
            self._begun.add(id_)
        job.state, job.started = "running", job.started or manifests.now()
        if job.attempts > ATTEMPTS:
            handled = f"{job.handled} of {job.documents} documents were handled"
            self._queue.end(job, f"the writer died {ATTEMPTS} times at the same place: {handled}")
            return None
        self._queue.save(job)

        def read() -> None:
            self._bulk = Bulk(
                job, self._queue.documents(id_), manifests.read(self._folder).language
            )

        failure = self._try(read)
        if failure and failure.passes:
            self._keep(job)
        elif failure:
            self._queue.end(job, failure.line)
        return failure

    def _keep(self, job: Job) -> None:
        """Leave a job in the queue that the machine prevents; nobody died at it."""
        job.state, job.attempts = "queued", 0
        self._try(lambda: self._queue.save(job))

    def _remove_old(self) -> None:
        self._queue.remove_old(most=self._keep_jobs, days=self._keep_job_days)

    def _try(self, call: Callable[[], object]) -> Failure | None:
        """Run ``call``; return its failure, or None.

        The line of the failure does not contain the path of the index, which clients must not see.
        """
        try:
            with os_errors_reported(self._folder):
                call()
        # The client gets the error, and the writer continues.
        except Exception as error:  # noqa: BLE001
            if passes(error):
                self._log_once(error.line if isinstance(error, UserError) else str(error))
                return Failure(
                    reason_of(error, self._folder), passes=True, of_process=of_process(error)
                )
            if not isinstance(error, UserError):
                _log.exception("a change could not be made")
                return Failure(INTERNAL_ERROR)
            _log.error("%s", error.line)
            place = "the index" if error.place.startswith(str(self._folder)) else error.place
            line = type(error)(error.what, place=place, remedy=error.remedy).line
            return Failure(INTERNAL_ERROR if str(self._folder) in line else line)
        return None

    def _log_once(self, line: str) -> None:
        """Log why the machine prevents work, but not again with each attempt."""
        if line != self._logged:
            _log.error("%s", line)
        self._logged = line


def _is_kept(folder: Path, change: Change) -> bool:
    """Return whether the index still has the version that a change restores."""
    with all_documents(folder, manifests.read(folder).segments) as opened:
        return deleted_version(opened, change.docid, change.restore) is not None


def result_of(claimed: ClaimedChange, there: DocumentState | None) -> Result:
    """Return the result of a change; ``there`` is the document's state, or None if the index does
    not contain it.
    """
    change = claimed.change
    if claimed.again and (change.states or change.absent):  # the change may have been made already
        return "unsure"
    met = not change.states
    if there is not None:
        met = not change.absent and (
            not change.states or "*" in change.states or there.state in change.states
        )
    if not met:
        return "conflict"
    if change.restore:
        return "restored"
    if not change.line:
        return "deleted" if there else "absent"
    if there is None:
        return "created"
    return "unchanged" if there.checksum == change.checksum else "replaced"
