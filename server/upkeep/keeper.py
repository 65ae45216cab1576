"""Keeps what is served the same as what is published: a thread that looks at the manifests.

A new snapshot is opened and tried beside the old one, which is closed when the last request that uses it has ended.
"""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from queue import Empty, SimpleQueue
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from ...retrieval.encoders.shared import SharedEncoders
from ...retrieval.errors import FactseekError
from ...retrieval.index.local import open_index
from ...retrieval.index.opening import published_file
from ...retrieval.lucene.jvm import java_thread, start
from ..memory import give_memory_back
from ..settings import Config
from .readiness import GONE, READY, UNAVAILABLE, answers
from .service import Service

if TYPE_CHECKING:
    from ...retrieval.index.local import Index

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
_FileIdentity = tuple[int, int, int]
_log = logging.getLogger("factseek.server")


class _Look(NamedTuple):
    """Somebody waits for a look at an index."""

    name: str
    done: threading.Event


class Keeper:
    """Opens, replaces and closes the indexes of a service, all in one thread: Java asks for that."""

    def __init__(self, service: Service, config: Config) -> None:
        self._service = service
        self._config = config
        self._identities: dict[str, _FileIdentity | None] = {}
        self._encoders = SharedEncoders(config.encoder)
        self._again: dict[str, float] = {}
        self._tidied = 0.0
        self._asked: SimpleQueue[Index | _Look | None] = SimpleQueue()
        self._looked = threading.Event()
        self._thread = threading.Thread(target=self._run, name="keeper")
        service.retire = self._asked.put
        service.refresh = self.refresh
        for name in config.server.indexes:
            service.readiness.record(name, UNAVAILABLE)

    def start(self) -> None:
        """Open every index that can be opened, then go on looking."""
        self._thread.start()
        self._looked.wait()

    def refresh(self, name: str) -> None:
        """Return when what was published before is served, or cannot be."""
        look = _Look(name, threading.Event())
        self._asked.put(look)
        look.done.wait(FRESH_SECONDS)

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
                if self._service.writers is not None:
                    self._service.writers.ensure_writer(Path(folder))
            self._looked.set()
            self._tidy()
            stop = self._wait_for_next_look()
        for served in self._service.indexes.values():
            served.index.close()
        self._encoders.close()

    def _tidy(self) -> None:
        """Give back, now and then, what lies free: what opens an index or compiles Java takes much for a moment."""
        if monotonic() > self._tidied + TIDY_EVERY:
            give_memory_back()
            self._tidied = monotonic()

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
            if isinstance(asked, _Look):
                self._look(asked.name, Path(self._config.server.indexes[asked.name]))
                asked.done.set()
            else:
                asked.close()
        return False

    def _look(self, name: str, folder: Path) -> None:
        identity = _identity_of(published_file(folder))
        readiness = self._service.readiness
        if identity is None:
            if self._identities.get(name, ()) is not None:
                _log.error("%s is not ready: the index is gone", name)
            self._identities[name] = None
            readiness.record(name, GONE)
            return
        failed = self._service.failed.pop(name, None)
        if failed:
            readiness.record(name, UNAVAILABLE)
            self._again[name] = monotonic() + TRY_AGAIN
        if identity != self._identities.get(name) or monotonic() > self._again.get(name, float("inf")):
            self._identities[name] = identity
            self._again.pop(name, None)
            if not self._replaced(name, folder):
                readiness.record(name, UNAVAILABLE)
                self._again[name] = monotonic() + TRY_AGAIN

    def _replaced(self, name: str, folder: Path) -> bool:
        index = self._opened(name, folder)
        if index is None:
            return False
        if not answers(name, index):
            index.close()
            return False
        if name in self._service.indexes:
            _log.info("%s serves manifest %s", name, index.info.id)
        self._service.publish(name, index)
        self._service.readiness.record(name, READY)
        self._tidied = 0.0
        return True

    def _open(self, folder: Path) -> Index:
        """Open an index: one in shards on the cluster, if there is one."""
        return open_index(folder, self._config, encoders=self._encoders)

    def _opened(self, name: str, folder: Path) -> Index | None:
        try:
            return self._open(folder)
        except FactseekError as error:
            _log.error("%s is not ready: %s", name, error.line)
        except Exception:  # noqa: BLE001  a damaged index may raise anything: the others go on
            _log.exception("%s is not ready", name)
        return None


def _identity_of(path: Path) -> _FileIdentity | None:
    """Return the identity of a manifest's file, which changes when it is replaced, or None if there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size
