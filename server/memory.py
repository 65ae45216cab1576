"""The memory that a worker may spend on bodies and answers, charged before it is taken, and given back.

Whoever serves the application leaves the :class:`Charge` of each request in its environ; without one, as in tests, an
answer takes what it needs.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from flask import request

from ..retrieval.deadline import WRITTEN, Memory, Unbounded
from ..retrieval.domain import Document
from .errors import OverloadedError

if TYPE_CHECKING:
    from ..retrieval.search.index import Index

MEMORY = "factseek.memory"
"""The key of an environ under which the :class:`Charge` of a request stands."""
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8
_LARGE = 1 << 20
"""Bytes from which on a block of memory is mapped by itself."""


class NoMemoryError(OverloadedError):
    """There is no memory for what is asked beside what others are being answered."""

    def __init__(self) -> None:
        super().__init__("requests and answers fill the memory that this server has for them; try again")


class Budget:
    """A number of bytes, taken and given back. Safe for threads."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self.held = 0
        self._most = 0
        self._eldest: Charge | None = None
        """Who has held something for the longest."""

    def take(self, size: int, holder: Charge, share: float = 1.0) -> bool:
        """Take ``size`` bytes more for a holder out of a share of the budget; return whether they could be had.

        Whoever is alone, or has held something for the longest, gets what it asks: else what is larger than the whole
        budget would be refused for ever, and answers that are made side by side would all be given up.
        """
        with self._lock:
            self._eldest = self._eldest or holder
            favoured = self.held <= holder.held or holder is self._eldest
            if not favoured and self.held + size > self._limit * share:
                return False
            self.held += size
            holder.held += size
            self._most = max(self._most, self.held)
            return True

    def give(self, size: int, holder: Charge) -> None:
        """Give back so many bytes of what a holder has, all of it if that is less."""
        with self._lock:
            size = min(size, holder.held)
            self.held -= size
            holder.held -= size
            if not holder.held and holder is self._eldest:
                self._eldest = None

    def calmed(self, much: int) -> bool:
        """Return whether nothing is held any more of what, since the last time, was more than ``much``."""
        with self._lock:
            if self.held or self._most <= much:
                return False
            self._most = 0
            return True


class Charge:
    """What one request holds of a budget. Safe for threads."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self.held = 0

    def spend(self, size: int) -> None:
        """Take so many bytes more.

        Raises NoMemoryError if they cannot be had.
        """
        if not self._budget.take(size, self):
            raise NoMemoryError

    def give_back(self, size: int) -> None:
        """Give back so many bytes."""
        self._budget.give(size, self)

    def keep(self, size: int, share: float = 1.0) -> None:
        """Hold exactly so many bytes from now on, of a share of the budget.

        Raises NoMemoryError if that is more than before and cannot be had.
        """
        if size < self.held:
            self.give_back(self.held - size)
        elif size > self.held and not self._budget.take(size - self.held, self, share):
            raise NoMemoryError


class PartMemory:
    """What one part of a streamed answer holds of the memory: taken while it is made, given back as it is sent."""

    def __init__(self, memory: Memory, most: int | None = None) -> None:
        """Hold nothing yet; a part that needs more than ``most`` bytes is refused whatever there is."""
        self._memory = memory
        self._most = most
        self._held = self._spent = self._needed = 0

    def spend(self, size: int) -> None:
        """Charge so many bytes.

        Raises NoMemoryError if they cannot be had, or are too many for one part.
        """
        spent = self._spent + size
        self._needed = max(self._needed, spent)
        if self._most is not None and spent > self._most:
            raise NoMemoryError
        self._hold(spent)
        self._spent = spent

    def give_back(self, size: int) -> None:
        """Let what follows in the same part use so many bytes again."""
        self._spent -= size

    def take_again(self) -> None:
        """Take at once what the part was found to need before it was refused.

        Raises NoMemoryError if that cannot be had: so nothing is read to no purpose.
        """
        self._spent = 0
        self._hold(self._needed)

    def keep(self, size: int) -> None:
        """Give back all but so many bytes."""
        if size < self._held:
            self._memory.give_back(self._held - size)
            self._held = size

    def _hold(self, size: int) -> None:
        if size > self._held:
            self._memory.spend(size - self._held)
            self._held = size


def answer_memory() -> Memory:
    """Return the memory of the current request."""
    memory: Memory = request.environ.get(MEMORY) or Unbounded()
    return memory


def charged_document(index: Index, docid: str) -> Document:
    """Return a document after charging what it takes to write it out.

    Raises NotFoundError if there is none of this id, NoMemoryError if there is no memory for it.
    """
    document = index.document(docid)
    answer_memory().spend((1 + WRITTEN) * sys.getsizeof(document.text))
    return document


def give_memory_back() -> None:
    """Return to the system the memory that lies free between blocks in use."""
    with suppress(AttributeError, OSError):  # only glibc has this
        ctypes.CDLL(None).malloc_trim(0)


def share_memory_among_threads() -> None:
    """Set the C library to keep two arenas, not eight a core, of which each would grow to what one thread once needed.

    What is large goes back to the system at once: left to itself, the library raises the bound of what is large.
    """
    with suppress(AttributeError, OSError):  # only glibc has this
        library = ctypes.CDLL(None)
        library.mallopt(_M_ARENA_MAX, 2)
        library.mallopt(_M_MMAP_THRESHOLD, _LARGE)
        library.mallopt(_M_TRIM_THRESHOLD, _LARGE)
