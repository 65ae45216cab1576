"""The process that builds a shard on a node: it takes records and leaves finished segments in the shard's journal."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import msgspec

from ...indexer.collections import BadLines, ReadOptions, Record
from ...indexer.encoders import Encoders
from ...indexer.journal import Journal
from ...indexer.lock import taken
from ...indexer.settings import Config
from ...indexer.work import BuildTask, Lap, SourcesChangedError, Work
from ...indexer.works import PartOfWork
from ...retrieval.errors import FactseekError, IndexStateError
from ...retrieval.index_folder import IndexFolder
from ...retrieval.manifest import LOCK, Manifest
from ...retrieval.views import Tools, views
from ..ray_library import ray
from ..wire import unpacked

LOCK_SECONDS = 60.0
"""Seconds that the builder before this one, whose node was lost, has to end."""
DOCIDS_AT_ONCE = 50_000


class ShardTask(NamedTuple):
    """The task of building a shard: its folder, in which ``token`` names a file that shows that it is the same one."""

    folder: Path
    token: str
    task: BuildTask
    manifest: Manifest
    asked: str
    config: Config
    anew: bool


class Clash(NamedTuple):
    """A record whose docid another document has."""

    place: str
    reason: str


class BuildAnswer(NamedTuple):
    """The state of a build: its journal, how many clashes it has tolerated in all, and the latest of them.

    ``error`` is what it ended with; ``changed``: the sources do not begin with what an interrupted build had read.
    """

    journal: Journal | None = None
    resumed: bool = False
    clashes: int = 0
    latest: tuple[Clash, ...] = ()
    error: FactseekError | None = None
    changed: bool = False
    node: str = ""


@dataclass(slots=True)
class NotedClashes(BadLines):
    """Clashes that are counted and kept for whoever reads the sources, who knows how many may be tolerated."""

    latest: list[Clash] = field(default_factory=list)

    def report(self, place: str, reason: str) -> None:
        """Count and keep a clash."""
        self.count += 1
        self.latest.append(Clash(place, reason))


class ShardBuilder:
    """Builds one shard. An actor of Ray is made of it, whose calls are done one after another.

    What it cannot do ends it: every later call has the same answer.
    """

    def __init__(self, cpus: float) -> None:
        """Build with so many processors."""
        self._threads = max(1, int(cpus))
        os.environ["OMP_NUM_THREADS"] = str(self._threads)
        self._opened = ExitStack()
        self._clashes = NotedClashes(sys.maxsize)
        self._work: Work | None = None
        self._ended: BuildAnswer | None = None

    def open(self, packed_task: bytes) -> BuildAnswer:
        """Go on from the shard's journal, or begin one; another builder of the shard is waited for."""
        return self._answer(lambda: self._open(unpacked(packed_task)))

    def begin(self) -> BuildAnswer:
        """Finish the segment that an interrupted build had begun."""
        return self._answer(lambda: self._at_work.begin(Lap()))

    def take(self, packed_records: bytes) -> BuildAnswer:
        """Take the next records."""

        def take() -> None:
            records: list[Record] = unpacked(packed_records)
            for record in records:
                self._at_work.take(record)

        return self._answer(take)

    def finish(self) -> BuildAnswer:
        """Finish the last segment."""
        return self._answer(self._finish)

    def unchanged(self, after: int) -> list[str]:
        """Return some docids, after so many, of the documents that were there already as they were read."""
        return list(islice(self._at_work.unchanged_docids(), after, after + DOCIDS_AT_ONCE))

    def close(self) -> None:
        """Let go of the shard."""
        self._opened.close()

    @property
    def _at_work(self) -> Work:
        if self._work is None:
            raise LookupError("the shard was not opened")
        return self._work

    def _finish(self) -> None:
        self._at_work.finish()

    def _answer(self, do: Callable[[], object]) -> BuildAnswer:
        if self._ended is not None:
            return self._ended
        node = ray().get_runtime_context().get_node_id()
        try:
            do()
        except SourcesChangedError:
            self._ended = BuildAnswer(changed=True, node=node)
        except FactseekError as error:
            self._ended = BuildAnswer(error=error, node=node)
        except OSError as error:
            failed = IndexStateError(f"cannot be written: {error.strerror or error}", place=error.filename or "")
            self._ended = BuildAnswer(error=failed, node=node)
        if self._ended is not None:
            return self._ended
        latest, self._clashes.latest = tuple(self._clashes.latest), []
        work = self._at_work
        return BuildAnswer(work.journal, work.resumed, self._clashes.count, latest, node=node)

    def _open(self, task: ShardTask) -> None:
        if not (task.folder / task.token).is_file():
            raise IndexStateError(
                "is not the folder that the command writes to",
                place=task.folder,
                remedy="put the index on a disk that every node has at the same path",
            )
        self._opened.callback(os.close, taken(task.folder, LOCK_SECONDS))
        self._opened.callback((task.folder / LOCK).unlink, missing_ok=True)  # before it is let go of
        config = self._with_threads(task.config)
        encoders = self._opened.enter_context(closing(Encoders(config)))
        tools = Tools(IndexFolder(task.folder), task.manifest, config, encoders)
        for view in views(task.manifest):
            view.prepare(tools)
        journal = PartOfWork(task.task, tools, task.asked).journal(anew=task.anew)
        options = ReadOptions(language=task.manifest.language, bad_lines=self._clashes)
        self._work = self._opened.enter_context(closing(Work(task.task, config, tools, journal, options)))

    def _with_threads(self, config: Config) -> Config:
        """Return the settings with the threads of the encoder that the processors allow, unless they say how many."""
        encoder = config.encoder
        threads = encoder.threads or self._threads
        return msgspec.structs.replace(config, encoder=msgspec.structs.replace(encoder, threads=threads))
