"""The time limit of a search, and the retrievers that it cut off."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from time import monotonic
from typing import Generic, Protocol, TypeVar

from .errors import FactseekError

HIGHLIGHTS, PASSAGES = "highlights", "passages"
"""The names of the highlights, and of the other passages of documents, among what is missing."""
WRITTEN = 3
"""Copies of a text that are in memory while an answer is written: the text, and JSON in a buffer that grows."""
T = TypeVar("T")


class CutOffError(FactseekError):
    """A retriever took longer than the time limit of the search."""


class Memory(Protocol):
    """The memory that an answer may take while it is made."""

    def spend(self, size: int) -> None:
        """Take so many bytes; raises an error if they cannot be had."""

    def give_back(self, size: int) -> None:
        """Give back bytes that were taken."""


class Unbounded:
    """As much memory as there is."""

    def spend(self, size: int) -> None:
        """Take nothing from anybody."""

    def give_back(self, size: int) -> None:
        """Give nothing back."""


class Deadline:
    """The time that one search has, and the memory.

    ``missing`` names the retrievers, and the highlights, that did not make it.
    What cannot be interrupted works in a thread of ``beside``, and is left behind there when its time is over.
    """

    def __init__(self, seconds: float, beside: Executor, memory: Memory | None = None) -> None:
        self.missing: list[str] = []
        self.beside = beside
        self.memory: Memory = memory or Unbounded()
        """What is read for the answer is charged to it."""
        self._seconds = seconds
        self.began = monotonic()
        self._deadline = self.began + seconds

    def anew(self) -> Deadline:
        """Return a limit of as many seconds from now on, of which nothing is missing yet."""
        return Deadline(self._seconds, self.beside, self.memory)

    def left(self, retriever: str) -> float:
        """Return the seconds that are left to a retriever.

        Raises CutOffError, and notes that it is missing, if there are none.
        """
        seconds = self._deadline - monotonic()
        if seconds <= 0:
            raise self.cut_off(retriever)
        return seconds

    def is_over(self, part: str) -> bool:
        """Return whether no time is left, and note that ``part`` is missing if so."""
        if self._deadline > monotonic():
            return False
        self.cut_off(part)
        return True

    def cut_off(self, retriever: str) -> CutOffError:
        """Note that a retriever is missing, and return the error that says so."""
        if retriever not in self.missing:
            self.missing.append(retriever)
        return CutOffError(f"{retriever} took longer than the time limit of the search")

    def shorter(self, seconds: float) -> Deadline:
        """Return this limit or, if ``seconds`` are above 0 and end before it, one that notes in the same list."""
        left = self._deadline - monotonic()
        if not 0 < seconds < left:
            return self
        limit = Deadline(seconds, self.beside, self.memory)
        limit.missing = self.missing
        return limit

    def begin(self, retriever: str, call: Callable[[], T]) -> Pending[T]:
        """Begin ``call``, which cannot be interrupted, in another thread, to be waited for as long as it may take."""
        return Pending(self, retriever, self.beside.submit(call))


class Pending(Generic[T]):
    """The work of a retriever in another thread."""

    def __init__(self, limit: Deadline, retriever: str, begun: Future[T]) -> None:
        self._limit = limit
        self._retriever = retriever
        self._begun = begun

    def result(self) -> T:
        """Wait for the result and return it.

        Raises CutOffError if it takes longer than the search may.
        """
        try:
            return self._begun.result(self._limit.left(self._retriever))
        except FutureTimeoutError:
            raise self._limit.cut_off(self._retriever) from None
        finally:
            self.cancel()

    def cancel(self) -> None:
        """Keep the work from beginning; if it has begun, it goes on and nobody waits for it."""
        self._begun.cancel()
