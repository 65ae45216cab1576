"""The writer of a served index: the one process that makes the changes and jobs waiting in its directory.

Single documents go before bulks, which are written slice by slice, so that nobody waits for a whole bulk. What came
while a batch was made is the next batch: the more is asked at once, the less each change costs.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from time import monotonic
from typing import NamedTuple

from ..retrieval.errors import IndexBusyError, UserError
from ..retrieval.files import os_errors_reported
from ..retrieval.store import manifest as manifests
from . import changes, jobs
from .bulk import Bulk
from .changes import Change, ChangeOutcome, Result, Taken
from .compaction import merge_surplus
from .encoders import Encoders
from .jobs import Job
from .lock import locked
from .overtaking import Single, forget, note, overtaken
from .publishing import DocumentState, held, put, remove
from .settings import Config

MOST = 200
"""Changes that are published together."""
LOOK_EVERY = 0.02
BUSY_EVERY = 0.2
BREATH = 0.1
TROUBLED_EVERY = 2.0
"""Seconds between two looks; between two tries while another process writes; in which another process that waits for
the lock gets it; and after the directory failed."""
BREATH_EVERY = 1.0
"""Seconds of changes that follow each other after which there is a breath; between slices of a bulk there always is."""
PATIENCE = 5.0
"""Seconds after ``write_seconds`` in which whoever asked for a change has surely withdrawn it, or died."""
IDLE = 300.0
"""Seconds without anything to do after which the writer ends; the next change starts another."""
FAILURES = 5
"""Failures in a row after which the writer ends: what it lacks (files that it may open, memory) another may have."""
ATTEMPTS = 3
"""Processes that may die at one slice of a job before it is given up."""
UNTOLD = "something went wrong; the server's log has it"
_PUT: frozenset[Result] = frozenset({"created", "replaced"})
_SAME: frozenset[Result] = frozenset({"unchanged", "absent"})
_log = logging.getLogger("factseek.writer")


class WriterLimits(NamedTuple):
    """The seconds that a change is waited for, and how many ended jobs are kept for how many days."""

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
        self._bulk: Bulk | None = None
        self._breathed = monotonic()
        self._failures = 0

    def run(self, stopped: Callable[[float], bool]) -> None:
        """Make what waits, until nothing comes any more, or ``stopped``, which waits for so many seconds, returns true.

        It ends as well when nothing succeeds any more.
        """
        self._tried(self._remove_old)
        last = monotonic()
        pause = 0.0
        while self._failures < FAILURES and not stopped(pause) and monotonic() - last < IDLE:
            pause = self._turn()
            last = last if pause == LOOK_EVERY else monotonic()

    def _turn(self) -> float:
        """Do the next piece of work; return the seconds to wait until there may be more."""
        try:
            if not self.work():
                return LOOK_EVERY
            if self._bulk is None and monotonic() - self._breathed < BREATH_EVERY:
                return 0.0
            self._breathed = monotonic()
            return BREATH
        except IndexBusyError:
            return BUSY_EVERY
        except (UserError, OSError) as error:  # a directory that is gone, or may not be written: it may come back
            _log.error("%s", error)
            self._failures += 1
            return TROUBLED_EVERY

    def work(self) -> bool:
        """Make the changes that wait, or else the next slice of the oldest job; return whether there was either.

        Raises IndexBusyError, and leaves everything as it is, while another process writes the index.
        """
        if changes.any_waiting(self._folder):
            with locked(self._folder), os_errors_reported(self._folder):
                self._make(changes.take_waiting(self._folder, MOST, self._limits.write_seconds + PATIENCE))
                self._merge()
            return True
        waiting = jobs.waiting(self._folder)
        if not waiting:
            return False
        with locked(self._folder), os_errors_reported(self._folder):
            self._advance(waiting[0])
        return True

    def close(self) -> None:
        """Close the encoder, and note that the writer did not die of the job under way."""
        if self._bulk is not None:
            job = self._bulk.job
            job.attempts -= 1
            self._tried(lambda: jobs.save(self._folder, job))
        self._encoders.close()

    # Single documents.

    def _make(self, taken: Sequence[Taken]) -> None:
        """Publish the changes that were taken, and leave the outcome of each."""
        results: dict[str, Result] = {}

        def judge() -> None:
            with held(self._folder) as live:
                results.update(
                    {
                        request.name: result_of(request, live.state_of_document(request.change.docid))
                        for request in taken
                    }
                )

        error = self._tried(judge)
        puts = [request for request in taken if results.get(request.name) in _PUT]
        gone = [request for request in taken if results.get(request.name) == "deleted"]
        others = [request for request in taken if request not in puts and request not in gone]
        # Whoever is told that a document is as asked, or is not there, is told of what stays so.
        same = [request for request in others if results.get(request.name) in _SAME]
        error = error or self._noted(same)
        self._answer(others, results, error)
        if puts:
            lines = [request.change.line for request in puts]
            self._answer(puts, results, self._overtaking(puts, lambda: self._put(lines)))
        if gone:
            docids = [request.change.docid for request in gone]
            self._answer(gone, results, self._overtaking(gone, lambda: remove(self._folder, docids)))

    def _overtaking(self, taken: Sequence[Taken], publish: Callable[[], object]) -> str:
        """Publish changes that bulks accepted before them must not undo; return what went wrong, or ``""``."""
        error = self._noted(taken) or self._tried(publish)
        if error:
            self._noted(taken, undone=True)
        return error

    def _noted(self, taken: Sequence[Taken], *, undone: bool = False) -> str:
        singles = [Single(request.name, request.change.docid) for request in taken]
        return self._tried(lambda: note(self._folder, singles, undone=undone))

    def _answer(self, taken: Sequence[Taken], results: dict[str, Result], error: str) -> None:
        if taken:
            self._count(error)
        for request in taken:
            outcome = (
                ChangeOutcome(result="failed", error=error) if error else ChangeOutcome(result=results[request.name])
            )
            changes.answer(self._folder, request.name, outcome)

    # Bulks.

    def _advance(self, name: str) -> None:
        """Publish the next slice of a job; end it if that was the last, or if it cannot be published."""
        if self._bulk is None or self._bulk.job.id != name:
            self._bulk = self._begun(name)
        bulk = self._bulk
        if bulk is None:
            return
        error = self._tried(lambda: self._publish(bulk))
        self._count(error)
        if error or bulk.done:
            jobs.end(self._folder, bulk.job, error)
            self._bulk = None
            self._remove_old()
        self._merge()

    def _begun(self, name: str) -> Bulk | None:
        """Begin a job, or go on with one that another writer left; one that cannot be begun is ended."""
        job = jobs.read(self._folder, name)
        if job is None:
            lost = Job(id=name, mode="update", documents=0)
            jobs.end(self._folder, lost, "what was known of this bulk is damaged; send its documents again")
            return None
        if job.state in ("done", "failed"):
            jobs.payload(self._folder, name).unlink(missing_ok=True)
            return None
        job.attempts += 1
        job.state, job.started = "running", job.started or manifests.now()
        if job.attempts > ATTEMPTS:
            done = f"{job.handled} of {job.documents} documents were handled"
            jobs.end(self._folder, job, f"the writer died {ATTEMPTS} times at the same place: {done}")
            return None
        jobs.save(self._folder, job)
        return self._read(job)

    def _read(self, job: Job) -> Bulk | None:
        bulks: list[Bulk] = []

        def read() -> None:
            bulks.append(Bulk(self._folder, job, manifests.read(self._folder).language))

        if error := self._tried(read):
            jobs.end(self._folder, job, error)
            return None
        return bulks[0]

    def _publish(self, bulk: Bulk) -> None:
        with held(self._folder) as live:
            after, lines = bulk.next(live, overtaken(self._folder, bulk.job.id))
        if lines:
            self._put(lines)
        after.attempts = 1  # it went on: whoever died before did not die at what comes now
        jobs.save(self._folder, after)
        bulk.job = after

    # Both.

    def _count(self, error: str) -> None:
        """Count a failure; a success sets the count back, for this writer is able to write."""
        self._failures = self._failures + 1 if error else 0

    def _put(self, lines: Sequence[str]) -> None:
        put(self._folder, lines, self._config, self._encoders)

    def _merge(self) -> None:
        """Merge small segments if there are too many; what was published stands either way."""
        self._tried(lambda: merge_surplus(self._folder, self._config))

    def _remove_old(self) -> None:
        jobs.remove_old(self._folder, most=self._limits.keep_jobs, days=self._limits.keep_job_days)
        forget(self._folder)

    def _tried(self, call: Callable[[], object]) -> str:
        """Run ``call``; return what went wrong in one line, or ``""``."""
        try:
            with os_errors_reported(self._folder):
                call()
        except UserError as error:
            _log.error("%s", error.line)
            return plain(error, self._folder)
        except Exception:  # noqa: BLE001  whoever waits is told, and the writer goes on
            _log.exception("a change could not be made")
            return UNTOLD
        return ""


def result_of(taken: Taken, there: DocumentState | None) -> Result:
    """Return the result of a change of a document whose state is ``there``: None if the index does not hold it."""
    change = taken.change
    if taken.again and change.conditional:
        return "unsure"
    if not _met(change, there):
        return "conflict"
    if not change.line:
        return "deleted" if there else "absent"
    if there is None:
        return "created"
    return "unchanged" if there.checksum == change.checksum else "replaced"


def _met(change: Change, there: DocumentState | None) -> bool:
    if there is None:
        return not change.states
    return not change.absent and (not change.states or "*" in change.states or there.state in change.states)


def plain(error: UserError, folder: Path) -> str:
    """Return the message of an error on one line, without the path of the index, which clients must not see."""
    place = "the index" if error.place.startswith(str(folder)) else error.place
    line = type(error)(error.what, place=place, remedy=error.remedy).line
    return UNTOLD if str(folder) in line else line
