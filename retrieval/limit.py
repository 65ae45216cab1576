"""A time limit of a search, and what was cut off by it."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor, Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from time import monotonic

from .domain import Filter, Hit, Retriever
from .errors import FactseekError

HIGHLIGHTS = "highlights"
"""What a limit calls the highlights when they are missing."""


class CutOffError(FactseekError):
    """A retriever took longer than the search may."""


class Limit:
    """The time that one search has; ``missing`` names the retrievers, and the highlights, that did not make it.

    What cannot be interrupted works in a thread of ``beside``, and is left behind there when its time is over.
    """

    def __init__(self, seconds: float, beside: Executor) -> None:
        self.missing: list[str] = []
        self.beside = beside
        self._deadline = monotonic() + seconds

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
        return CutOffError(f"{retriever} took longer than the search may")


class LimitedRetriever:
    """Lets a retriever that cannot be interrupted work beside the current thread, and waits as long as it may."""

    def __init__(self, name: str, retriever: Retriever, limit: Limit) -> None:
        self._name = name
        self._retriever = retriever
        self._limit = limit

    def begin(self, queries: Sequence[str], k: int, where: Filter | None = None) -> Future[list[list[Hit]]]:
        """Begin a search, to be waited for with :meth:`end`."""
        return self._limit.beside.submit(self._retriever.search, queries, k, where)

    def end(self, begun: Future[list[list[Hit]]]) -> list[list[Hit]]:
        """Return what a search found.

        Raises CutOffError if it takes too long.
        """
        try:
            return begun.result(self._limit.left(self._name))
        except FutureTimeoutError:
            raise self._limit.cut_off(self._name) from None
        finally:
            begun.cancel()

    def search(self, queries: Sequence[str], k: int, where: Filter | None = None) -> list[list[Hit]]:
        """Return at most ``k`` hits a query in the total order.

        Raises CutOffError if that takes too long.
        """
        return self.end(self.begin(queries, k, where))
