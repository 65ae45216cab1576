"""A work that another process does: records go to it in batches, and to another one if it dies."""

from __future__ import annotations

import os
import secrets
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice
from time import monotonic, sleep
from typing import Any

from ...indexer.collections import Record
from ...indexer.journal import Journal
from ...indexer.lock import taken
from ...indexer.update_ledger import UpdateLedger
from ...indexer.work import Lap, SourcesChangedError
from ...indexer.works import WorkOrder
from ...retrieval.errors import IndexBusyError, MachineError, SourceError
from ...retrieval.manifest import LOCK
from ..faults import not_started
from ..ray_library import ray
from ..wire import packed
from .shard_builder import BuildAnswer, ShardTask

BATCH_RECORDS = 1_000
BATCH_CHARACTERS = 1_000_000
BATCHES_UNDER_WAY = 4
"""Batches that a shard may have before the reader waits for it: a bound on memory."""
START_SECONDS = 180.0
"""Within which a node has begun, which includes waiting for a builder that was lost to let go of the shard."""
MOST_DEATHS = 3
"""Deaths without a finished segment between them, after which a shard is given up."""
CLOSE_SECONDS = 30.0
KILLED_SECONDS = 2.0


class RemoteWork:
    """A :class:`factseek.indexer.works.PartWork` in a process of the cluster.

    When that dies, another one goes on from the shard's journal: it is given the records of the shard from the first,
    as a build is that was interrupted, and passes over those that are in finished segments.
    """

    def __init__(self, order: WorkOrder, start: Callable[[], Any]) -> None:
        """Begin to work; ``start`` starts a process of a :class:`.shard_builder.ShardBuilder`."""
        self._order = order
        self._folder = order.part.tools.folder.path
        self._start = start
        self._answers: deque[Any] = deque()
        self._batch: list[Record] = []
        self._characters = 0
        self._sent = 0
        self._clashes = 0
        self._deaths = 0
        self._segments = 0
        self._opened = self._finished = False
        self._ledger = UpdateLedger()
        self._last = BuildAnswer()
        self.updates = order.part.task.update
        self._token = self._folder / f".builder-{secrets.token_hex(8)}"
        self._folder.mkdir(parents=True, exist_ok=True)
        self._token.touch()
        self._actor = self._start()
        self._opening = self._open()

    @property
    def journal(self) -> Journal:
        """The journal when the process last answered."""
        return self._last.journal or Journal(fingerprint="", sources=(), first_segment=0)

    @property
    def resumed(self) -> bool:
        """Whether it went on where a build was interrupted."""
        return self._last.resumed

    def begin(self, _: Lap) -> None:
        """Wait until the process has opened the shard, and have it finish the segment that had been begun.

        Raises MachineError if no process comes to be there, and what keeps it from opening the shard.
        """
        try:
            self._wait_until_open()
        except self._death as error:
            self._go_on(error)
            return
        self._answers.append(self._actor.begin.remote())

    def take(self, record: Record) -> None:
        """Take the next record; it is sent with others.

        Raises SourcesChangedError, what the process raised, or MachineError if one after the other dies.
        """
        self._batch.append(record)
        self._characters += len(record.document.text)
        if len(self._batch) >= BATCH_RECORDS or self._characters >= BATCH_CHARACTERS:
            self._send_batch()

    def end(self) -> None:
        """Send the last records, and have the process finish its last segment."""
        self._send_batch()
        self._answers.append(self._actor.finish.remote())

    def finish(self) -> None:
        """Wait until the last segment is finished. Raises what :meth:`take` raises."""
        while not self._finished:
            try:
                while self._answers:
                    self._receive()
                self._fetch_unchanged()
                self._finished = True
            except self._death as error:
                self._go_on(error)
                self._answers.append(self._actor.finish.remote())

    def new_docids(self) -> Iterator[str]:
        """Yield the docids of the documents that the build wrote."""
        for info in self.journal.finished:
            documents = self._order.part.tools.folder.documents(info)
            try:
                yield from documents.docids()
            finally:
                documents.close()

    def docids(self) -> Iterator[str]:
        """Yield the docids of the documents that the build wrote, or found as they were read."""
        yield from self.new_docids()
        yield from self._ledger.docids()

    def close(self) -> None:
        """End the process; a segment that is not finished is given up."""
        self._token.unlink(missing_ok=True)
        if self._finished:
            with suppress(ray().exceptions.RayError):
                ray().get(self._actor.close.remote(), timeout=CLOSE_SECONDS)
        ray().kill(self._actor, no_restart=True)
        self._remove_lock()
        self._ledger.close()

    @property
    def _death(self) -> Any:
        """The errors of Ray that say that a process, or its node, is gone, or with it what it had been sent."""
        errors = ray().exceptions
        return errors.RayActorError, errors.NodeDiedError, errors.ObjectLostError, errors.WorkerCrashedError

    def _send_batch(self) -> None:
        batch, self._batch, self._characters = self._batch, [], 0
        try:
            self._send(batch)
        except self._death as error:
            self._sent += len(batch)
            self._go_on(error)
            return
        self._sent += len(batch)

    def _send(self, batch: list[Record]) -> None:
        while len(self._answers) >= BATCHES_UNDER_WAY:
            self._receive()
        self._answers.append(self._actor.take.remote(packed(batch)))

    def _go_on(self, error: Exception) -> None:
        """Start another process, and send it the records of the shard that were sent before.

        Raises MachineError if too many died, one after the other.
        """
        while True:
            self._deaths += 1
            if self._deaths > MOST_DEATHS:
                raise not_started(self._folder, "built", str(error)) from None
            try:
                self._begin_again()
            except self._death as another:
                error = another
            else:
                return

    def _begin_again(self) -> None:
        self._answers.clear()
        ray().kill(self._actor, no_restart=True)
        self._token.touch()
        self._actor = self._start()
        self._opening = self._open()
        self._wait_until_open()
        self._answers.append(self._actor.begin.remote())
        records, sent = islice(self._order.records(), self._sent), 0
        while batch := list(islice(records, BATCH_RECORDS)):
            self._send(batch)
            sent += len(batch)
        if sent < self._sent:
            raise SourceError("the sources changed while they were read", place=self._folder)

    def _open(self) -> Any:
        task, tools, asked = self._order.part
        anew = self._order.anew and not self._opened
        shard = ShardTask(
            self._folder.absolute(), self._token.name, task, tools.manifest, asked, self._order.config, anew
        )
        return self._actor.open.remote(packed(shard))

    def _wait_until_open(self) -> None:
        try:
            self._note(ray().get(self._opening, timeout=START_SECONDS))
        except ray().exceptions.GetTimeoutError:
            raise MachineError(
                f"no node of the cluster has begun to build it within {START_SECONDS:g} s",
                place=self._folder,
                remedy="look at ray status: a node must have cluster.cpus processors free",
            ) from None
        except self._death:
            raise
        except ray().exceptions.RayError as error:
            raise not_started(self._folder, "built", str(error)) from None
        self._opened = True
        self._token.unlink(missing_ok=True)

    def _receive(self) -> None:
        self._note(ray().get(self._answers.popleft()))

    def _note(self, answer: BuildAnswer) -> None:
        """Take note of an answer; raise what it says went wrong."""
        if answer.changed:
            raise SourcesChangedError
        if answer.error is not None:
            error = answer.error
            raise type(error)(f"{error.what}, on node {answer.node[:12]}", place=error.place, remedy=error.remedy)
        self._last = answer
        if len(self.journal.finished) > self._segments:
            self._segments, self._deaths = len(self.journal.finished), 0
        self._count(answer)

    def _count(self, answer: BuildAnswer) -> None:
        """Count the clashes that were not counted before: a process that took another one's place meets them again."""
        new = answer.clashes - self._clashes
        if new <= 0:
            return
        self._clashes = answer.clashes
        latest = answer.latest[-new:]
        bad_lines = self._order.options.bad_lines
        bad_lines.count += new - len(latest)
        for clash in latest:
            bad_lines.report(clash.place, clash.reason)

    def _remove_lock(self) -> None:
        """Remove the lock of the process once that is gone, unless it takes long to go."""
        lock, until = self._folder / LOCK, monotonic() + KILLED_SECONDS
        while lock.exists() and monotonic() < until:
            try:
                handle = taken(self._folder, 0.0)
            except IndexBusyError:
                sleep(0.05)
                continue
            lock.unlink(missing_ok=True)
            os.close(handle)

    def _fetch_unchanged(self) -> None:
        """Fetch, before anything is published, the docids that would be gone with the process."""
        after = 0
        while docids := ray().get(self._actor.unchanged.remote(after)):
            after += len(docids)
            for docid in docids:
                self._ledger.add(docid, "", "")
