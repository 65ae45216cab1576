"""The writer of a served index: the one process that makes the changes and jobs waiting in its directory.

Single documents go before bulks. Bulks are written slice by slice, so that no single change waits for a whole bulk.
Changes that arrive while a batch is published form the next batch, so each change costs less under load.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from time import monotonic
from typing import NamedTuple

from ..retrieval.errors import IndexBusyError, UserError
from ..retrieval.files import os_errors_reported
from ..retrieval.store import manifest as manifests
from .compaction import merge_surplus
from .deletion import publish_without
from .encoders import Encoders
from .lock import locked
from .publishing import Bulk, DocumentState, published_documents, put
from .queue import ChangeOutcome, ClaimedChange, Queue, Result
from .settings import Config

MOST = 200
"""The most changes to publish together."""
LOOK_EVERY = 0.02
BUSY_EVERY = 0.2
BREATH = 0.1
TROUBLED_EVERY = 2.0
"""Seconds, in this order: between two looks for work, and between two tries while another process writes the index.
The third is a pause in which another process can take the lock; the fourth follows an error of the directory.
"""
BREATH_EVERY = 1.0
"""Seconds of continuous changes after which the writer pauses. It also pauses after every slice of a bulk."""
PATIENCE = 5.0
"""Seconds beyond ``write_seconds`` after which the client has certainly withdrawn its change, or died."""
IDLE = 300.0
"""Seconds without work after which the writer ends; the next change starts another."""
FAILURES = 5
"""Consecutive failures after which the writer ends: a new process may get files or memory that this one lacks."""
ATTEMPTS = 3
"""The number of processes that die at one slice of a job before the job fails."""
UNTOLD = "an internal error occurred; see the server's log"
_log = logging.getLogger("factseek.writer")


class WriterLimits(NamedTuple):
    """The seconds that a client waits for a change, how many ended jobs are kept, and for how many days."""

    write_seconds: float
    keep_jobs: int
    keep_job_days: float


class Writer:
    """Makes the changes and the jobs that wait in one index."""

    def __init__(self, folder: Path, config: Config, limits: WriterLimits) -> None:
        self._folder = folder
        self._config = config
        self._limits = limits
        self._encoders = Encoders(config)
        self._opened: Queue | None = None
        self._bulk: Bulk | None = None
        self._breathed = monotonic()
        self._failures = 0

    @property
    def _queue(self) -> Queue:
        """The queue, opened on first use: the index may be missing for a while."""
        self._opened = self._opened or Queue(self._folder)
        return self._opened

    def run(self, stopped: Callable[[float], bool]) -> None:
        """Work until there is nothing to do for ``IDLE`` seconds, or until ``stopped(seconds)`` returns true.

        ``stopped`` waits that many seconds. The writer also ends after ``FAILURES`` failures in a row.
        """
        self._tried(self._remove_old)
        last = monotonic()
        pause = 0.0
        while self._failures < FAILURES and not stopped(pause) and monotonic() - last < IDLE:
            pause = self._turn()
            last = last if pause == LOOK_EVERY else monotonic()

    def _turn(self) -> float:
        """Do the next piece of work; return the seconds to wait before the next one."""
        try:
            if not self.work():
                return LOOK_EVERY
            if self._bulk is None and monotonic() - self._breathed < BREATH_EVERY:
                return 0.0
            self._breathed = monotonic()
            return BREATH
        except IndexBusyError:
            return BUSY_EVERY
        except (UserError, OSError) as error:  # the directory is missing or read-only, perhaps only for a while
            _log.error("%s", error)
            self._failures += 1
            return TROUBLED_EVERY

    def work(self) -> bool:
        """Make the waiting changes; if there are none, publish the next slice of the oldest job.

        Return whether there was work. Raises IndexBusyError, and changes nothing, while another process writes the
        index.
        """
        changes = self._queue.changes_wait()
        waiting = [] if changes else self._queue.bulks()
        if not changes and not waiting:
            return False
        with locked(self._folder), os_errors_reported(self._folder):
            if changes:
                self._make(self._queue.claim(MOST, self._limits.write_seconds + PATIENCE))
            else:
                self._advance(waiting[0])
            # A failure to merge small segments does not undo what was published.
            self._tried(lambda: merge_surplus(self._folder, self._config))
        return True

    def close(self) -> None:
        """Close the queue and the encoders, and record that the writer did not die during the current job."""
        if self._bulk is not None:
            job = self._bulk.job
            job.attempts -= 1
            self._tried(lambda: self._queue.save(job))
        if self._opened is not None:
            self._opened.close()
        self._encoders.close()

    # Single documents.

    def _make(self, claimed: Sequence[ClaimedChange]) -> None:
        """Publish the claimed changes, and store the result of each."""
        results: dict[int, Result] = {}

        def judge() -> None:
            with published_documents(self._folder) as live:
                for each in claimed:
                    results[each.number] = result_of(each, live(each.change.docid))

        def with_result(*names: str) -> list[ClaimedChange]:
            return [each for each in claimed if results.get(each.number, "") in names]

        error = self._tried(judge)
        puts, gone = with_result("created", "replaced"), with_result("deleted")
        others = [each for each in claimed if each not in puts and each not in gone]
        # A client relies on an answer "unchanged" or "absent", so bulks accepted earlier must not change that state.
        same = _singles(with_result("unchanged", "absent"))
        self._answer(others, results, error or self._tried(lambda: self._queue.note(same)))
        if puts:
            self._publish_singles(puts, results, lambda: self._put([each.change.line for each in puts]))
        if gone:
            docids, folder = [each.change.docid for each in gone], self._folder
            self._publish_singles(gone, results, lambda: publish_without(folder, manifests.read(folder), docids))

    def _publish_singles(
        self, claimed: Sequence[ClaimedChange], results: dict[int, Result], publish: Callable[[], object]
    ) -> None:
        """Publish changes that earlier bulks must not undo, and store the result of each."""
        singles = _singles(claimed)
        error = self._tried(lambda: self._queue.note(singles)) or self._tried(publish)
        if error:
            self._tried(lambda: self._queue.unnote(singles))
        self._answer(claimed, results, error)

    def _answer(self, claimed: Sequence[ClaimedChange], results: dict[int, Result], error: str) -> None:
        if claimed:
            self._count(error)
        for each in claimed:
            result = "failed" if error else results[each.number]
            self._queue.answer(each.number, ChangeOutcome(result=result, error=error))

    # Bulks.

    def _advance(self, id_: str) -> None:
        """Publish the next slice of a job; end the job if that was the last slice or publishing failed."""
        if self._bulk is None or self._bulk.job.id != id_:
            self._bulk = self._start(id_)
        bulk = self._bulk
        if bulk is None:
            return
        error = self._tried(lambda: self._publish_slice(bulk))
        self._count(error)
        if error or bulk.done:
            self._queue.end(bulk.job, error)
            self._bulk = None
            self._remove_old()

    def _start(self, id_: str) -> Bulk | None:
        """Begin a job, or resume one that another writer left; end a job that cannot begin."""
        job = self._queue.job(id_)
        if job is None:
            return None
        job.attempts += 1
        job.state, job.started = "running", job.started or manifests.now()
        if job.attempts > ATTEMPTS:
            handled = f"{job.handled} of {job.documents} documents were handled"
            self._queue.end(job, f"the writer died {ATTEMPTS} times at the same place: {handled}")
            return None
        self._queue.save(job)
        bulks: list[Bulk] = []

        def read() -> None:
            bulks.append(Bulk(job, self._queue.documents(id_), manifests.read(self._folder).language))

        if error := self._tried(read):
            self._queue.end(job, error)
            return None
        return bulks[0]

    def _publish_slice(self, bulk: Bulk) -> None:
        with published_documents(self._folder) as live:
            after, lines = bulk.next(live, self._queue.newer_writes(bulk.job.id))
        if lines:
            self._put(lines)
        after.attempts = 1  # the job advanced, so earlier processes did not die at the next slice
        self._queue.save(after)
        bulk.job = after

    # Both.

    def _put(self, lines: Sequence[str]) -> None:
        put(self._folder, lines, self._config, self._encoders)

    def _count(self, error: str) -> None:
        """Count consecutive failures; a success resets the count."""
        self._failures = self._failures + 1 if error else 0

    def _remove_old(self) -> None:
        self._queue.remove_old(most=self._limits.keep_jobs, days=self._limits.keep_job_days)

    def _tried(self, call: Callable[[], object]) -> str:
        """Run ``call``; return its error in one line without the path of the index, which clients must not see."""
        try:
            with os_errors_reported(self._folder):
                call()
        except UserError as error:
            _log.error("%s", error.line)
            place = "the index" if error.place.startswith(str(self._folder)) else error.place
            line = type(error)(error.what, place=place, remedy=error.remedy).line
            return UNTOLD if str(self._folder) in line else line
        except Exception:  # noqa: BLE001  the client gets the error, and the writer continues
            _log.exception("a change could not be made")
            return UNTOLD
        return ""


def _singles(claimed: Iterable[ClaimedChange]) -> list[tuple[int, str]]:
    return [(each.number, each.change.docid) for each in claimed]


def result_of(claimed: ClaimedChange, there: DocumentState | None) -> Result:
    """Return the result of a change; ``there`` is the document's state, or None if the index does not contain it."""
    change = claimed.change
    if claimed.again and change.conditional:
        return "unsure"
    met = not change.states
    if there is not None:
        met = not change.absent and (not change.states or "*" in change.states or there.state in change.states)
    if not met:
        return "conflict"
    if not change.line:
        return "deleted" if there else "absent"
    if there is None:
        return "created"
    return "unchanged" if there.checksum == change.checksum else "replaced"
