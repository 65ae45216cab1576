"""The served indexes by name, kept up to date with what is published, and the processes that write
them.

A thread watches the manifests. It opens and tests a new snapshot next to the old one. From then on
the new one answers, and the old one is closed after its last request.
"""

from __future__ import annotations

import fcntl
import logging
import os
import re
import subprocess
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from time import monotonic, sleep
from types import MappingProxyType
from typing import TYPE_CHECKING

import msgspec
from flask import current_app, request

from ..core.errors import ConfigError, FactseekError, IndexStateError
from ..core.languages import foreign_language, written_in
from ..core.settings import to_mapping
from ..core.subprocesses import command as child_command
from ..core.subprocesses import environment
from ..indexer import queue
from ..retrieval.encoders.endpoint import EndpointError
from ..retrieval.encoders.opening import SharedEncoders
from ..retrieval.lucene.jvm import java_thread, start
from ..retrieval.search.index import open_index
from ..retrieval.search.opening import published_file
from ..retrieval.search.options import Search
from .errors import UnknownIndexError
from .memory import give_memory_back
from .metrics import Counts
from .settings import Config

if TYPE_CHECKING:
    from ..claims.verdicts.verdict import TrainedVerdicts
    from ..retrieval.search.index import Index
    from .api.rankers import ServedRanker

REGISTRY = "factseek"  # the key in app.extensions for the IndexRegistry
READY = "ready"
UNAVAILABLE = "unavailable"
GONE = "gone"  # the directory of the index no longer exists; the open index may still answer
RESERVED = ("aliases", "claims", "indexes", "jobs")
LOOK_EVERY = 0.5  # seconds between two checks of the manifests
TRY_AGAIN = 30.0  # seconds after which an index that failed is opened again
YOUNG = "24m"  # Java's memory for the short-lived objects of a search
# Seconds between two returns of memory to the system, unless an index is replaced.
TIDY_EVERY = 20.0
FRESH_SECONDS = 10.0  # the longest wait, in seconds, until a newly published state is served
WRITER_PAUSE = 2.0  # the least seconds between two starts of a writer, in case it dies at once
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_USED = "factseek.used"
_log = logging.getLogger("factseek.server")


@dataclass(frozen=True, slots=True, weakref_slot=True)
class ServedIndex:
    """A snapshot of an index with its retrievers, the default first.

    Each request keeps the snapshot that it uses.
    """

    name: str
    index: Index
    manifest_id: str
    retrievers: tuple[str, ...]


class IndexRegistry:
    """The configuration, the served indexes, and the state of each. Safe for threads."""

    def __init__(
        self, config: Config, indexes: Mapping[str, Index], counts: Counts | None = None
    ) -> None:
        """Serve open indexes; raise ConfigError if one has an invalid name."""
        self.config = config
        self.counts = counts or Counts()
        self._served: dict[str, ServedIndex] = {}
        self.indexes: Mapping[str, ServedIndex] = MappingProxyType(self._served)  # by name
        # Without it, the indexes opened at the start stay.
        self.reloader: IndexReloader | None = None
        # Starts the writers of the indexes, if writing is allowed.
        self.writers: Writers | None = None
        self.failed: dict[str, bool] = {}  # the names of indexes that could not answer a request
        # The last known state of each index: READY, UNAVAILABLE or GONE.
        self.recorded: dict[str, str] = {}
        self.rankers: Mapping[str, ServedRanker] = {}
        self.verdicts: Mapping[str, TrainedVerdicts] = {}
        # For calls that cannot be interrupted.
        self.beside = ThreadPoolExecutor(config.server.threads, "search")
        self._asking = threading.Lock()
        for name, index in indexes.items():
            self.publish(checked_name(name), index)

    def publish(self, name: str, index: Index) -> None:
        """Use this snapshot for new requests; earlier requests keep theirs."""
        default = index.resolve().retriever
        others = [other for other in index.info.retrievers if other != default]
        served = ServedIndex(name, index, index.info.id, (default, *others))
        if self.reloader is not None:
            # Looked up when called.
            weakref.finalize(served, self.reloader.tasks.put, lambda: index.close())  # noqa: PLW0108
        self._served[name] = served

    def named(self, name: str) -> ServedIndex:
        """Return an index; raise UnknownIndexError or IndexStateError."""
        served = self.indexes.get(name)
        if served is not None:
            return served
        if name in self.config.server.indexes:
            raise IndexStateError(f"{name} is not open")
        names = ", ".join(self.indexes) or "none"
        raise UnknownIndexError(f"there is no index {name[:80]!r}; the indexes are {names}")

    def suited_to(self, query: str, served: ServedIndex) -> list[str]:
        """Return the names of other indexes for texts in the script and the language of ``query``,
        if ``served`` is for another script.
        """
        if written_in(query, served.index.info.language):
            return []
        suited = []
        for other in self.indexes.values():
            language = other.index.info.language
            if written_in(query, language) and not foreign_language(query, (language,)):
                suited.append(other.name)
        return suited

    def refresh(self, name: str) -> None:
        """Wait until the newest state of this index is served, under each of its names, or could
        not be opened.
        """
        if self.reloader is None or name not in self.indexes:
            return
        folder = self.indexes[name].index.info.place.resolve()
        for other, served in list(self.indexes.items()):
            if served.index.info.place.resolve() == folder:
                self.reloader.refresh(other)

    def states(self) -> dict[str, str]:
        """Return the state of each index.

        If the state of an index is unknown, try a search to find it out.
        """
        with self._asking:
            for name, served in self.indexes.items():
                if name not in self.recorded:
                    with _errors_logged(name):
                        _try(served.index)
                        self.recorded[name] = READY
        return {
            name: self.recorded.get(name, UNAVAILABLE) for name in {**self.indexes, **self.recorded}
        }


def registry() -> IndexRegistry:
    """Return the registry of the current application."""
    found: IndexRegistry = current_app.extensions[REGISTRY]
    return found


def index_named(name: str) -> ServedIndex:
    """Return the index and keep it open for the current request; raise UnknownIndexError or
    IndexStateError.
    """
    served = registry().named(name)
    request.environ.setdefault(_USED, []).append(served)
    return served


def mark_failed() -> None:
    """Record that the index of the current request could not answer."""
    for served in request.environ.get(_USED, ()):
        registry().failed[served.name] = True


def is_replaced() -> bool:
    """Return whether an index of the current request has a newer state by now, which may have to be
    opened first.
    """
    serving = registry()
    used: list[ServedIndex] = request.environ.pop(_USED, [])
    for each in used:
        if serving.reloader is not None and serving.indexes.get(each.name) is each:
            serving.reloader.await_replacement(each.name)
    if any(serving.indexes.get(each.name) is not each for each in used):
        return True
    request.environ[_USED] = used
    return False


def checked_name(name: str) -> str:
    """Return ``name`` if it is a valid name for an index, and no path; raise ConfigError if it is
    not.
    """
    if not _NAME.fullmatch(name):
        remedy = "use up to 64 letters, digits, '.', '_' and '-', a letter or digit first"
        raise ConfigError(
            f"{name[:80]!r} is not a valid name of an index", place="server.indexes", remedy=remedy
        )
    if name in RESERVED:
        raise ConfigError(
            f"the name {name!r} is reserved", place="server.indexes", remedy="choose another"
        )
    return name


@contextmanager
def _errors_logged(name: str) -> Iterator[None]:
    try:
        yield
    except FactseekError as error:
        _log.error("%s is not ready: %s", name, error.line)
    except Exception:  # noqa: BLE001  a damaged index may raise any error; the others continue
        _log.exception("%s is not ready", name)


def _try(index: Index) -> None:
    """Search an index so that all of its parts are opened.

    An endpoint that does not answer is no reason to serve nothing: words are searched without it.
    """
    document = next(index.documents(), None)
    words = f"{document.title} {document.text}"[:200] if document else ""
    words = words if any(map(str.isalnum, words)) else "evidence"
    first = Search(k=1)
    with suppress(EndpointError):
        index.evidence("", index.search([index.trial_query(words, first)], first)[0])
    # The first hits of a vector ranking also measure the cosines of random queries. No user should
    # wait for that.
    for ranking in index.info.retrievers:
        alone = Search(k=1, retriever=ranking)
        if index.resolve(alone).rankings == (ranking,):
            query = index.trial_query(words, alone)
            with suppress(EndpointError):
                index.evidence("", index.search([query], alone)[0], alone)


class IndexReloader:
    """Opens, replaces and closes the indexes of a registry, all in one thread, as Java requires."""

    def __init__(self, registry: IndexRegistry, config: Config) -> None:
        self._registry = registry
        self._config = config
        self._identities: dict[str, tuple[int, int, int] | None] = {}
        self._encoders = SharedEncoders(config.encoder, only_configured=True)
        self._again: dict[str, float] = {}
        # The last logged reason why the changes of an index cannot be written.
        self._unwritable: dict[str, str] = {}
        self._tidied = 0.0
        # For this thread; None stops it.
        self.tasks: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        self._looked = threading.Event()
        self._thread = threading.Thread(target=self._run, name="reloader")
        registry.reloader = self
        registry.recorded.update(dict.fromkeys(config.server.indexes, UNAVAILABLE))

    def start(self) -> None:
        """Open every index that can be opened, then keep watching."""
        self._thread.start()
        self._looked.wait()

    def refresh(self, name: str) -> None:
        """Wait until the published state is served or could not be opened, at most
        :data:`FRESH_SECONDS`.
        """
        done = threading.Event()
        self.tasks.put(partial(self._look, name))
        self.tasks.put(done.set)
        done.wait(FRESH_SECONDS)

    def await_replacement(self, name: str) -> None:
        """If something else is at the place of an index by now, wait until it is served or could
        not be opened.
        """
        if self._identity(name) is None:
            # Whoever moves another folder to the place of an index leaves the place empty for a
            # moment.
            sleep(LOOK_EVERY)
        if self._identity(name) not in (None, self._identities.get(name)):
            self.refresh(name)

    def stop(self) -> None:
        """Close everything. No request may be running."""
        self.tasks.put(None)
        self._thread.join()

    def _run(self) -> None:
        try:
            start(self._config.java.heap, YOUNG)
            with java_thread():
                while self._look_at_all():
                    pass
                for served in self._registry.indexes.values():
                    served.index.close()
                self._encoders.close()
        except FactseekError as error:
            _log.error("nothing can be served: %s", error.line)
        finally:
            self._looked.set()

    def _look_at_all(self) -> bool:
        """Check all indexes, then do the tasks of other threads until the next check; return False
        to stop.
        """
        for name, folder in self._config.server.indexes.items():
            self._look(name)
            if self._registry.writers is not None:
                self._ensure_writer(self._registry.writers, name, Path(folder))
        self._looked.set()
        if monotonic() > self._tidied + TIDY_EVERY:  # opening an index briefly takes much memory
            give_memory_back()
            self._tidied = monotonic()
        until = monotonic() + LOOK_EVERY
        with suppress(Empty):
            while (left := until - monotonic()) > 0:
                task = self.tasks.get(timeout=left)
                if task is None:
                    return False
                task()
        return True

    def _ensure_writer(self, writers: Writers, name: str, folder: Path) -> None:
        reason = ""
        try:
            writers.ensure_writer(folder)
        # Its queue cannot be read, for example; other indexes continue.
        except (FactseekError, OSError) as error:
            reason = " ".join(str(error).split())
        if reason and reason != self._unwritable.get(name):
            _log.error("%s cannot be changed: %s", name, reason)
        self._unwritable[name] = reason

    def _identity(self, name: str) -> tuple[int, int, int] | None:
        """Return what distinguishes the published file of an index from an earlier one; None if
        there is none.
        """
        try:
            status = published_file(Path(self._config.server.indexes[name])).stat()
        except OSError:
            return None
        return status.st_ino, status.st_mtime_ns, status.st_size

    def _look(self, name: str) -> None:
        states, folder = self._registry.recorded, Path(self._config.server.indexes[name])
        identity = self._identity(name)
        if identity is None:
            if self._identities.get(name, ()) is not None:
                _log.error("%s is not ready: the index is gone", name)
            self._identities[name] = None
            states[name] = GONE
            return
        if self._registry.failed.pop(name, None):
            states[name] = UNAVAILABLE
            self._again[name] = monotonic() + TRY_AGAIN
        if identity != self._identities.get(name) or monotonic() > self._again.get(
            name, float("inf")
        ):
            self._again.pop(name, None)
            if not self._replace(name, folder):
                states[name] = UNAVAILABLE
                self._again[name] = monotonic() + TRY_AGAIN
            # Only now: `await_replacement` waits while the index is being opened.
            self._identities[name] = identity

    def _replace(self, name: str, folder: Path) -> bool:
        with _errors_logged(name):
            index = open_index(folder, self._config, encoders=self._encoders)
            try:
                _try(index)
            except BaseException:
                index.close()
                raise
            if name in self._registry.indexes:
                _log.info("%s serves manifest %s", name, index.info.id)
            self._registry.publish(name, index)
            self._registry.recorded[name] = READY
            self._tidied = 0.0
            return True
        return False


class Writers:
    """Starts writer processes: at most one per index, if changes wait and no writer runs.

    Safe for threads.

    A writer holds a lock of its index from before its start until its end, however it ends, so
    there is only one.
    """

    def __init__(self, config: Config, lifeline: int) -> None:
        """Take the reading end of a pipe. The server keeps the other end open while it runs."""
        # The writer answers no clients, so it gets no keys.
        server = msgspec.structs.replace(config.server, keys={})
        self._config = msgspec.json.encode(
            to_mapping(msgspec.structs.replace(config, server=server))
        )
        self._lifeline = lifeline
        self._started: dict[Path, tuple[subprocess.Popen[bytes], float]] = {}

    def ensure_writer(self, folder: Path) -> None:
        """Start a writer of the index in ``folder``, if something waits to be written and no writer
        runs.
        """
        started = self._started.get(folder)
        if started is not None and (
            started[0].poll() is None or monotonic() - started[1] < WRITER_PAUSE
        ):
            return
        if not any(queue.waiting(folder)):
            return
        # The directory is gone or read-only, so nothing can wait there; or a writer runs.
        with suppress(OSError):
            handle = os.open(folder / queue.JOBS / queue.LOCK, os.O_RDWR | os.O_CREAT, 0o644)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                process = subprocess.Popen(  # noqa: S603  this very program
                    child_command(
                        "server.writer", str(folder.resolve()), str(handle), str(self._lifeline)
                    ),
                    stdin=subprocess.PIPE,
                    pass_fds=(handle, self._lifeline),
                    env=environment(TQDM_DISABLE="1"),
                )
            finally:
                # The lock belongs to the open file, which the writer has inherited.
                os.close(handle)
            self._started[folder] = process, monotonic()
            _log.info("process %d writes %s", process.pid, folder)
            if process.stdin is not None:
                with process.stdin as pipe:
                    pipe.write(self._config)
