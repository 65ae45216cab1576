"""The interfaces for ranking the passages of an index: one ranking, or several made together."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Protocol

from ..deadline import CutOffError, Deadline
from ..dense.vectors import Mask
from ..domain import Filter, Hit, ScoredDocids
from ..records.runs import best_documents

Ranked = dict[str, list[list[Hit]]]  # the hits of each query, by the name of the ranking


class Retriever(Protocol):
    """A ranking of the passages of an index, for a batch of queries."""

    def search(
        self, queries: Sequence[str], k: int, where: Filter | None = None, limit: Deadline | None = None
    ) -> list[list[Hit]]:
        """Return at most ``k`` hits per query, in the total order. Raises CutOffError if nothing is ready in time."""

    def columns(
        self, queries: Sequence[str], k: int, where: Filter | None = None, limit: Deadline | None = None
    ) -> list[ScoredDocids]:
        """Return the documents of the hits of :meth:`search`; override it if this is possible without making hits."""
        return list(map(best_documents, self.search(queries, k, where, limit)))

    def matching(self, query: str) -> Mask | None:
        """Return a mask of the rows that a query can find without a filter; None, the default, means all."""
        return None


class Rankings(Protocol):
    """Several rankings by name, made in this process or elsewhere."""

    names: Sequence[str]

    def search(
        self, queries: Sequence[str], k: int, where: Filter | None = None, limit: Deadline | None = None
    ) -> Ranked:
        """Return at most ``k`` hits per query for each ranking that is ready; raise CutOffError if none is."""

    def matching(self, query: str) -> Mask | None:
        """Return the passages that at least one of the rankings can find; None means all."""


class SideBySide(Rankings):
    """The rankings of open retrievers in this process. Under a time limit, they run in parallel.

    ``blocking`` names the retrievers that cannot be interrupted. They continue after the limit.
    """

    def __init__(self, parts: Mapping[str, Retriever], blocking: Collection[str]) -> None:
        self._parts = parts
        self._blocking = blocking
        self.names: Sequence[str] = tuple(parts)

    def search(
        self, queries: Sequence[str], k: int, where: Filter | None = None, limit: Deadline | None = None
    ) -> Ranked:
        """Return the hits of each ranking that is ready in time."""
        if limit is None:
            return {name: part.search(queries, k, where) for name, part in self._parts.items()}
        pending = {
            name: limit.begin(name, partial(self._parts[name].search, queries, k, where)) for name in self._blocking
        }
        ranked: Ranked = {}
        late: list[CutOffError] = []
        try:
            # Retrievers that can be interrupted run in this thread while the others run in parallel.
            for name in sorted(self._parts, key=pending.__contains__):
                try:
                    future = pending.get(name)
                    ranked[name] = future.result() if future else self._parts[name].search(queries, k, where, limit)
                except CutOffError as error:
                    late.append(error)
        finally:
            for future in pending.values():
                future.cancel()
        if not ranked:
            raise late[-1]
        return ranked

    def matching(self, query: str) -> Mask | None:
        """Return the union of the rankings' masks."""
        united: Mask | None = None
        for part in self._parts.values():
            matching = part.matching(query)
            if matching is None:
                return None
            united = matching if united is None else united | matching
        return united
