"""The time limit of a search, and the parts of the search that exceeded it."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import Executor, Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from time import monotonic
from typing import TypeVar

from .errors import FactseekError

HIGHLIGHTS, PASSAGES, RERANK = "highlights", "passages", "rerank"
"""The names of highlights and of further passages in the list of missing parts."""
WRITTEN = 3
"""The number of copies of a passage in memory while an answer is written: its text, and JSON in a
growing buffer.
"""
T = TypeVar("T")


class CutOffError(FactseekError):
    """A retriever took longer than the time limit of the search."""


class Memory:
    """The memory that an answer may use; this class sets no limit."""

    def spend(self, size: int) -> None:
        """Reserve ``size`` bytes; raise an error if they are not available."""

    def give_back(self, size: int) -> None:
        """Release ``size`` reserved bytes."""


def losing_hits(parts: Iterable[str]) -> list[str]:
    """Return the parts of a search, cut off by its limit, that may lose hits: a late re-ranker only
    leaves an order.
    """
    return [part for part in dict.fromkeys(parts) if part not in (HIGHLIGHTS, RERANK)]


class Deadline:
    """The time limit of one search, and the memory for everything that the search reads for the
    answer.

    ``missing`` names the retrievers, and other parts such as highlights, that were cut off. A
    retriever that cannot be interrupted runs in a thread of ``beside``, and continues there after
    the limit.
    """

    def __init__(self, seconds: float, beside: Executor, memory: Memory | None = None) -> None:
        self.missing: list[str] = []
        self.beside = beside
        self.memory = memory or Memory()
        self._seconds = seconds
        self.began = monotonic()
        self._deadline = self.began + seconds

    def renew(self) -> Deadline:
        """Return a new limit of the same length that starts now, with an empty ``missing`` list."""
        return Deadline(self._seconds, self.beside, self.memory)

    def require_seconds(self, retriever: str) -> float:
        """Return the seconds left.

        If no time is left, record the retriever as missing and raise CutOffError.
        """
        seconds = self._deadline - monotonic()
        if seconds <= 0:
            raise self.cut_off(retriever)
        return seconds

    def is_over(self, part: str) -> bool:
        """Return whether no time is left; if so, record ``part`` as missing."""
        over = self._deadline <= monotonic()
        if over:
            self.cut_off(part)
        return over

    def cut_off(self, retriever: str) -> CutOffError:
        """Record a retriever as missing, and return the error for it."""
        if retriever not in self.missing:
            self.missing.append(retriever)
        return CutOffError(f"{retriever} took longer than the time limit of the search")

    def shorter(self, seconds: float) -> Deadline:
        """Return a limit of ``seconds`` with the same ``missing`` list; if it is 0 or too late,
        return this limit.
        """
        left = self._deadline - monotonic()
        if not 0 < seconds < left:
            return self
        limit = Deadline(seconds, self.beside, self.memory)
        limit.missing = self.missing
        return limit

    def wait(self, retriever: str, work: Future[T]) -> T:
        """Return the result of work in a thread of ``beside``.

        Raises CutOffError if it takes longer than the limit.
        """
        try:
            return work.result(self.require_seconds(retriever))
        except FutureTimeoutError:
            raise self.cut_off(retriever) from None
        finally:
            work.cancel()  # if it has not started; otherwise it continues, and nobody waits for it
