"""The memory that one worker process may spend on bodies that it reads and answers that wait for their readers."""

from __future__ import annotations

import threading


class Budget:
    """A number of bytes, taken and given back. Safe for threads."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self.held = 0
        self._most = 0
        self._eldest: object = None
        """Who has held something for the longest."""

    def calmed(self, much: int) -> bool:
        """Return whether nothing is held any more of what, since the last time, was more than ``much``."""
        with self._lock:
            if self.held or self._most <= much:
                return False
            self._most = 0
            return True

    def take(self, size: int, own: int = 0, holder: object = None) -> bool:
        """Take ``size`` bytes beside ``own`` that the ``holder`` has already; return whether they could be had.

        Whoever is alone, or has held something for the longest, gets what it asks: else what is larger than the whole
        budget would be refused for ever, and answers that are made side by side would all be given up.
        """
        with self._lock:
            if self._eldest is None:
                self._eldest = holder
            favoured = self.held <= own or (holder is not None and holder is self._eldest)
            if not favoured and self.held + size > self._limit:
                return False
            self.held += size
            self._most = max(self._most, self.held)
            return True

    def give(self, size: int, gone: object = None) -> None:
        """Give back what was taken; ``gone`` is a holder that has nothing left."""
        with self._lock:
            self.held -= size
            if gone is self._eldest:
                self._eldest = None


class Charge:
    """The share of a budget that one request, or one answer, holds. Safe for threads."""

    def __init__(self, budget: Budget, beside: Charge | None = None) -> None:
        """Hold nothing yet; what ``beside`` holds is of the same request."""
        self._budget = budget
        self._beside = beside
        self._lock = threading.Lock()
        self.held = 0

    def take(self, size: int) -> bool:
        """Take more; return whether it could be had."""
        holder = self._beside or self
        own = self.held + (self._beside.held if self._beside else 0)
        if not self._budget.take(size, own, holder):
            return False
        with self._lock:
            self.held += size
        return True

    def give_back(self, size: int) -> None:
        """Give back so many bytes of what is held, all of it if it is less."""
        with self._lock:
            size = min(size, self.held)
            self.held -= size
        self._budget.give(size, None if self.held else self)

    def release(self, keep: int = 0) -> None:
        """Give back what is held beyond ``keep`` bytes."""
        self.give_back(max(0, self.held - keep))
