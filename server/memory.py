"""The memory that a worker may spend on bodies and answers, and memory that all workers share.

Bodies and answers are charged before use. The gateway stores the :class:`Charge` of a request in
its environ. Without a charge, as in tests and in ``factseek mcp``, memory is unlimited.
"""

from __future__ import annotations

import ctypes
import fcntl
import mmap
import os
import sys
import tempfile
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ..core.deadline import WRITTEN, Memory
from ..core.domain import Document
from .errors import OverloadedError

if TYPE_CHECKING:
    from ..retrieval.search.index import Index

MEMORY = "factseek.memory"  # the key in the environ for the Charge of a request
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8
_LARGE = 1 << 20  # the C library maps blocks of memory of at least this size separately


class NoMemoryError(OverloadedError):
    """The memory left by other requests is too small for this one."""

    def __init__(self) -> None:
        super().__init__(
            "requests and answers fill the memory that this server has for them; try again"
        )


class SharedMemory:
    """Memory that all workers share, under a lock that dies with its holder.

    Create it before the workers fork.
    """

    def __init__(self, size: int) -> None:
        self._memory = mmap.mmap(-1, size)
        self._file, name = tempfile.mkstemp(prefix="factseek-lock-")
        Path(name).unlink()
        weakref.finalize(self, os.close, self._file)
        self._threads = threading.Lock()

    @contextmanager
    def lock(self) -> Iterator[mmap.mmap]:
        """Hold the lock and yield the memory."""
        with self._threads:
            fcntl.lockf(self._file, fcntl.LOCK_EX)
            try:
                yield self._memory
            finally:
                fcntl.lockf(self._file, fcntl.LOCK_UN)


class Budget:
    """A number of bytes that requests take and give back. Safe for threads."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.lock = threading.Lock()
        self.held = 0
        # The most bytes held since the last call of ``has_calmed`` that returned True.
        self.peak = 0
        self.eldest: Charge | None = None  # the charge that has held memory for the longest time

    def has_calmed(self, much: int) -> bool:
        """Return True if nothing is held, but over ``much`` bytes were held since the last call
        that returned True.
        """
        with self.lock:
            if self.held or self.peak <= much:
                return False
            self.peak = 0
            return True


class Charge:
    """The part of a budget that one request holds. Safe for threads."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._closed = False
        self.held = 0

    def spend(self, size: int, share: float = 1.0) -> None:
        """Take ``size`` more bytes, within ``share`` of the budget, or raise NoMemoryError."""
        with self._budget.lock:
            self._take(size, share)

    def give_back(self, size: int) -> None:
        """Give back ``size`` bytes, or all that it holds if that is less."""
        with self._budget.lock:
            self._release(size)

    def keep(self, size: int, share: float = 1.0) -> None:
        """Hold exactly ``size`` bytes from now on, within ``share`` of the budget, or raise
        NoMemoryError.
        """
        with self._budget.lock:
            if size > self.held:
                self._take(size - self.held, share)
            else:
                self._release(self.held - size)

    def close(self) -> None:
        """Give back everything, and refuse more: a thread that the request has left behind must not
        take any.
        """
        with self._budget.lock:
            self._closed = True
            self._release(self.held)

    def _take(self, size: int, share: float) -> None:
        budget = self._budget
        if self._closed:
            raise NoMemoryError
        budget.eldest = budget.eldest or self
        # Favour some requests: else a request larger than the whole budget would never succeed, and
        # parallel answers would all fail.
        favoured = budget.held <= self.held or self is budget.eldest
        if not favoured and budget.held + size > budget.limit * share:
            raise NoMemoryError
        budget.held += size
        self.held += size
        budget.peak = max(budget.peak, budget.held)

    def _release(self, size: int) -> None:
        budget = self._budget
        size = min(size, self.held)
        budget.held -= size
        self.held -= size
        if not self.held and self is budget.eldest:
            budget.eldest = None


class PartMemory(Memory):
    """The memory of a part of a streamed answer: taken while it is made, given back as it is sent.

    Safe for threads.
    """

    def __init__(self, memory: Memory, most: int | None = None) -> None:
        """Hold nothing yet. A part that needs more than ``most`` bytes is always refused."""
        self._memory = memory
        self._most = most
        self._lock = threading.Lock()
        self._held = self._spent = self._needed = 0

    def spend(self, size: int) -> None:
        """Charge ``size`` bytes; raise NoMemoryError if the budget or the limit of a part does not
        allow it.
        """
        with self._lock:
            spent = self._spent + size
            self._needed = max(self._needed, spent)
            if self._most is not None and spent > self._most:
                raise NoMemoryError
            self._hold(spent)
            self._spent = spent

    def give_back(self, size: int) -> None:
        """Let the rest of the same part use ``size`` bytes again."""
        with self._lock:
            # A thread of an earlier try may give back what `take_again` no longer counts.
            self._spent = max(0, self._spent - size)

    def take_again(self) -> None:
        """Take at once what the refused part needed, or raise NoMemoryError, so that the part is
        not read in vain.
        """
        with self._lock:
            self._spent = 0
            self._hold(self._needed)

    def keep(self, size: int) -> None:
        """Give back all but ``size`` bytes."""
        with self._lock:
            if size < self._held:
                self._memory.give_back(self._held - size)
                self._held = size

    def _hold(self, size: int) -> None:
        if size > self._held:
            self._memory.spend(size - self._held)
            self._held = size


def charged_document(memory: Memory, index: Index, docid: str) -> Document:
    """Return a document after charging the memory to write it; raise NotFoundError or
    NoMemoryError.
    """
    document = index.document(docid)
    memory.spend((1 + WRITTEN) * sys.getsizeof(document.text))
    return document


def give_memory_back() -> None:
    """Give free memory between used blocks back to the system."""
    with suppress(AttributeError, OSError):  # only glibc has this
        ctypes.CDLL(None).malloc_trim(0)


def share_memory_among_threads() -> None:
    """Limit the C library to two arenas, each of which keeps the most that it ever used; free large
    blocks at once.
    """
    with suppress(AttributeError, OSError):  # only glibc has this
        library = ctypes.CDLL(None)
        library.mallopt(_M_ARENA_MAX, 2)
        library.mallopt(_M_MMAP_THRESHOLD, _LARGE)
        library.mallopt(_M_TRIM_THRESHOLD, _LARGE)
