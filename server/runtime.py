"""The served indexes by name, kept the same as what is published, and the processes that write them.

A thread looks at the manifests. A new snapshot is opened and tried beside the old one, answers from then on, and the
old one is closed when the last request that uses it has ended.
"""

from __future__ import annotations

import fcntl
import logging
import os
import re
import subprocess
import threading
import weakref
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from time import monotonic
from types import MappingProxyType
from typing import TYPE_CHECKING

import msgspec
from flask import Flask, current_app, request

from ..indexer import queue
from ..retrieval.encoders.runtime import SharedEncoders
from ..retrieval.errors import ConfigError, FactseekError, IndexStateError
from ..retrieval.languages import written_in
from ..retrieval.lucene.jvm import java_thread, start
from ..retrieval.search.index import open_index
from ..retrieval.search.opening import published_file
from ..retrieval.search.options import Search
from ..retrieval.subprocesses import command as child_command
from ..retrieval.subprocesses import environment
from .errors import UnknownIndexError
from .memory import give_memory_back
from .settings import Config

if TYPE_CHECKING:
    from ..retrieval.search.index import Index

READY = "ready"
UNAVAILABLE = "unavailable"
GONE = "gone"
"""The directory of the index is not there any more; what was opened of it may still answer."""
RESERVED = ("aliases", "claims", "indexes", "jobs")
LOOK_EVERY = 0.5
"""Seconds between two looks at the manifests."""
TRY_AGAIN = 30.0
"""Seconds until an index is tried again that could not be opened or failed a request."""
YOUNG = "24m"
"""Java's memory for what a search makes and drops."""
TIDY_EVERY = 20.0
"""Seconds between two times that memory is given back; where an index was put in its place, that is done at once."""
FRESH_SECONDS = 10.0
"""Seconds that somebody waits at most for a look at what was published just now."""
AGAIN = 2.0
"""Seconds between two starts by one worker: a writer that dies at once is not started at once."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_KEY = "factseek"
_USED = "factseek.used"
_FileIdentity = tuple[int, int, int]
_log = logging.getLogger("factseek.server")


@dataclass(frozen=True, slots=True, weakref_slot=True)
class ServedIndex:
    """A snapshot of an index under its name; ``retrievers`` holds those that it answers, its default first.

    A request holds on to it as long as it answers from the index.
    """

    name: str
    index: Index
    manifest_id: str
    retrievers: tuple[str, ...]


class IndexRegistry:
    """The configuration, the served indexes, and the state of each. Safe for threads."""

    def __init__(self, config: Config, indexes: Mapping[str, Index]) -> None:
        self.config = config
        self._served: dict[str, ServedIndex] = {}
        self.indexes: Mapping[str, ServedIndex] = MappingProxyType(self._served)
        """The served indexes by name; a value changes when a new manifest is published."""
        self.reloader: IndexReloader | None = None
        """Keeps the indexes up to date; without one, they are those that were opened."""
        self.writers: Writers | None = None
        """Starts what writes the indexes, where that is allowed."""
        self.failed: dict[str, bool] = {}
        """The names of indexes that could not answer a request."""
        self.recorded: dict[str, str] = {}
        """The state of each index that is known, :data:`READY` or what it is instead."""
        self._asking = threading.Lock()
        for name, index in indexes.items():
            self.publish(checked_name(name), index)

    def publish(self, name: str, index: Index) -> None:
        """Answer from this snapshot from now on; requests that began before keep theirs."""
        default = index.resolve().retriever
        others = [other for other in index.info.retrievers if other != default]
        served = ServedIndex(name, index, index.info.id, (default, *others))
        weakref.finalize(served, self._retire, index)
        self._served[name] = served

    def _retire(self, index: Index) -> None:
        if self.reloader is not None:
            self.reloader.retire(index)

    def refresh(self, name: str) -> None:
        """Return when the newest state of the index of this name is served."""
        if self.reloader is not None:
            self.reloader.refresh(name)

    def states(self) -> dict[str, str]:
        """Return the state of each index; one of which nobody knows it is asked for a search until it has answered."""
        with self._asking:
            for name, served in self.indexes.items():
                if name not in self.recorded and answers(name, served.index):
                    self.recorded[name] = READY
        return {name: self.recorded.get(name, UNAVAILABLE) for name in {**self.indexes, **self.recorded}}


def install(app: Flask, config: Config, indexes: Mapping[str, Index]) -> None:
    """Give ``app`` the indexes that it serves.

    Raises ConfigError if an index has a name that cannot be served.
    """
    app.extensions[_KEY] = IndexRegistry(config, indexes)


def registry() -> IndexRegistry:
    """Return the registry of the current application."""
    found: IndexRegistry = current_app.extensions[_KEY]
    return found


def index_named(name: str) -> ServedIndex:
    """Return the index that is served under this name, for as long as the current request lasts.

    Raises UnknownIndexError if there is none; IndexStateError if it cannot be opened at the moment.
    """
    serving = registry()
    served = serving.indexes.get(name)
    if served is not None:
        request.environ.setdefault(_USED, []).append(served)
        return served
    if name in serving.config.server.indexes:
        raise IndexStateError(f"{name} is not open")
    names = ", ".join(serving.indexes) or "none"
    raise UnknownIndexError(f"there is no index {name[:80]!r}; served are: {names}")


def suited_indexes(served: ServedIndex, query: str) -> list[str]:
    """Name the other served indexes whose language is written as ``query`` is, if that of this one is not."""
    if written_in(query, served.index.info.language):
        return []
    others = (other for other in registry().indexes.values() if other.name != served.name)
    return [other.name for other in others if written_in(query, other.index.info.language)]


def mark_failed() -> None:
    """Note that the index of the current request could not answer it."""
    for served in request.environ.get(_USED, ()):
        registry().failed[served.name] = True


def checked_name(name: str) -> str:
    """Return ``name`` if an index may be served under it: a name, never a path.

    Raises ConfigError if not.
    """
    if not _NAME.fullmatch(name):
        raise ConfigError(
            f"{name[:80]!r} cannot name an index",
            place="server.indexes",
            remedy="use up to 64 letters, digits, '.', '_' and '-', a letter or digit first",
        )
    if name in RESERVED:
        raise ConfigError(f"the name {name!r} is reserved", place="server.indexes", remedy="choose another")
    return name


def answers(name: str, index: Index) -> bool:
    """Return whether an index answers a search that opens all of its parts; log what goes wrong."""
    try:
        document = next(index.documents(), None)
        words = f"{document.title} {document.text}"[:200] if document else ""
        words = words if any(map(str.isalnum, words)) else "evidence"
        index.evidence("", index.search([words], Search(k=1))[0])
        for ranking in index.info.retrievers:  # so that no user waits for what is measured of a ranking once
            alone = Search(k=1, retriever=ranking)
            if index.resolve(alone).rankings == (ranking,):
                index.evidence("", index.search([words], alone)[0], alone)
    except FactseekError as error:
        _log.error("%s is not ready: %s", name, error.line)
    except Exception:  # noqa: BLE001  a damaged index may raise anything: the others go on
        _log.exception("%s is not ready", name)
    else:
        return True
    return False


class IndexReloader:
    """Opens, replaces and closes the indexes of a registry, all in one thread: Java asks for that."""

    def __init__(self, registry: IndexRegistry, config: Config) -> None:
        self._registry = registry
        self._config = config
        self._identities: dict[str, _FileIdentity | None] = {}
        self._encoders = SharedEncoders(config.encoder)
        self._again: dict[str, float] = {}
        self._tidied = 0.0
        self._asked: SimpleQueue[Index | tuple[str, threading.Event] | None] = SimpleQueue()
        """Snapshots to close, indexes that somebody waits for to be looked at, None to stop."""
        self._looked = threading.Event()
        self._thread = threading.Thread(target=self._run, name="reloader")
        registry.reloader = self
        registry.recorded.update(dict.fromkeys(config.server.indexes, UNAVAILABLE))

    def start(self) -> None:
        """Open every index that can be opened, then go on looking."""
        self._thread.start()
        self._looked.wait()

    def retire(self, index: Index) -> None:
        """Close an index that nobody answers from any more."""
        self._asked.put(index)

    def refresh(self, name: str) -> None:
        """Return when what was published before is served, or cannot be."""
        done = threading.Event()
        self._asked.put((name, done))
        done.wait(FRESH_SECONDS)

    def stop(self) -> None:
        """Close everything; no request may be under way."""
        self._asked.put(None)
        self._thread.join()

    def _run(self) -> None:
        try:
            start(self._config.java.heap, YOUNG)
            with java_thread():
                self._keep()
        except FactseekError as error:
            _log.error("nothing can be served: %s", error.line)
        finally:
            self._looked.set()

    def _keep(self) -> None:
        stop = False
        while not stop:
            for name, folder in self._config.server.indexes.items():
                self._look(name, Path(folder))
                if self._registry.writers is not None:
                    self._registry.writers.ensure_writer(Path(folder))
            self._looked.set()
            if monotonic() > self._tidied + TIDY_EVERY:  # what opens an index takes much for a moment
                give_memory_back()
                self._tidied = monotonic()
            stop = self._wait_for_next_look()
        for served in self._registry.indexes.values():
            served.index.close()
        self._encoders.close()

    def _wait_for_next_look(self) -> bool:
        """Close what nobody uses any more, and look at once where somebody waits; return whether to stop.

        It ends when it is time to look everywhere again.
        """
        until = monotonic() + LOOK_EVERY
        while (left := until - monotonic()) > 0:
            try:
                asked = self._asked.get(timeout=left)
            except Empty:
                return False
            if asked is None:
                return True
            if isinstance(asked, tuple):
                name, done = asked
                self._look(name, Path(self._config.server.indexes[name]))
                done.set()
            else:
                asked.close()
        return False

    def _look(self, name: str, folder: Path) -> None:
        states = self._registry.recorded
        try:
            status = published_file(folder).stat()
        except OSError:
            if self._identities.get(name, ()) is not None:
                _log.error("%s is not ready: the index is gone", name)
            self._identities[name] = None
            states[name] = GONE
            return
        identity = (status.st_ino, status.st_mtime_ns, status.st_size)
        if self._registry.failed.pop(name, None):
            states[name] = UNAVAILABLE
            self._again[name] = monotonic() + TRY_AGAIN
        if identity != self._identities.get(name) or monotonic() > self._again.get(name, float("inf")):
            self._identities[name] = identity
            self._again.pop(name, None)
            if not self._replaced(name, folder):
                states[name] = UNAVAILABLE
                self._again[name] = monotonic() + TRY_AGAIN

    def _replaced(self, name: str, folder: Path) -> bool:
        try:
            index = self._open(folder)
        except FactseekError as error:
            _log.error("%s is not ready: %s", name, error.line)
            return False
        except Exception:  # noqa: BLE001  a damaged index may raise anything: the others go on
            _log.exception("%s is not ready", name)
            return False
        if not answers(name, index):
            index.close()
            return False
        if name in self._registry.indexes:
            _log.info("%s serves manifest %s", name, index.info.id)
        self._registry.publish(name, index)
        self._registry.recorded[name] = READY
        self._tidied = 0.0
        return True

    def _open(self, folder: Path) -> Index:
        """Open an index: one in shards on the cluster, if there is one."""
        return open_index(folder, self._config, encoders=self._encoders)


class Writers:
    """Starts the processes that write: one an index, when there is something to write and nobody is at it.

    A writer holds a lock of its index from before it is started until it ends, however it ends: so there is never more
    than one, whichever worker starts it, and its place is free as soon as it is gone. Safe for threads.
    """

    def __init__(self, config: Config, lifeline: int) -> None:
        """Take the reading end of a pipe, whose other end the server holds open as long as it lives."""
        # Keys are no business of a process that nobody asks anything.
        server = msgspec.structs.replace(config.server, keys={})
        self._config = msgspec.json.encode(msgspec.structs.replace(config, server=server))
        self._lifeline = lifeline
        self._started: dict[Path, tuple[subprocess.Popen[bytes], float]] = {}

    def ensure_writer(self, folder: Path) -> None:
        """Start a writer of the index in ``folder`` if something waits to be written and there is none."""
        started = self._started.get(folder)
        if started is not None and (started[0].poll() is None or monotonic() - started[1] < AGAIN):
            return
        if queue.waits(folder):
            with suppress(OSError):  # a directory that is gone, or may not be written: nothing can wait there
                self._start(folder)

    def _start(self, folder: Path) -> None:
        handle = os.open(folder / queue.JOBS / queue.LOCK, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            process = subprocess.Popen(  # noqa: S603  this very program
                child_command("server.writer", str(folder.resolve()), str(handle), str(self._lifeline)),
                stdin=subprocess.PIPE,
                pass_fds=(handle, self._lifeline),
                env=environment(TQDM_DISABLE="1"),
            )
        except BlockingIOError:
            return
        finally:
            # The lock belongs to what is open, which the writer has too: it stays held until that ends.
            os.close(handle)
        self._started[folder] = process, monotonic()
        _log.info("process %d writes %s", process.pid, folder)
        if process.stdin is not None:
            with suppress(BrokenPipeError), process.stdin as pipe:
                pipe.write(self._config)
