"""Several rankings of the same queries, made in this process."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial

from ..deadline import CutOffError, Deadline, Pending
from ..dense.vectors import Mask
from ..domain import Filter, Hit
from .retriever import Ranked, Retriever


class SideBySide:
    """The :class:`factseek.retrieval.search.retriever.Rankings` of open retrievers."""

    def __init__(self, parts: Mapping[str, Retriever], beside: Collection[str]) -> None:
        """Rank by open retrievers, by their names; those ``beside`` cannot be interrupted."""
        self._parts = parts
        self._beside = beside
        self.names: Sequence[str] = tuple(parts)

    def search(
        self, queries: Sequence[str], k: int, where: Filter | None = None, limit: Deadline | None = None
    ) -> Ranked:
        """Return at most ``k`` hits a query of each ranking, in the total order; those cut off are left out.

        Without a limit one works after the other, with one all work at the same time. Raises CutOffError if none is
        ready within it.
        """
        if limit is None:
            return {name: part.search(queries, k, where) for name, part in self._parts.items()}
        pending: dict[str, Pending[list[list[Hit]]]] = {
            name: limit.begin(name, partial(part.search, queries, k, where))
            for name, part in self._parts.items()
            if name in self._beside
        }
        ranked: Ranked = {}
        late: list[CutOffError] = []
        try:
            # What can be interrupted works in this thread while the rest works beside it.
            for name in sorted(self._parts, key=lambda name: name in pending):
                begun, part = pending.get(name), self._parts[name]
                try:
                    ranked[name] = begun.result() if begun else part.search(queries, k, where, limit)
                except CutOffError as error:
                    late.append(error)
        finally:
            for begun in pending.values():
                begun.cancel()
        if not ranked:
            raise late[-1]
        return ranked

    def matching(self, query: str) -> Mask | None:
        """Return the passages that any of the rankings can find; None: all of them."""
        united: Mask | None = None
        for part in self._parts.values():
            matching = part.matching(query)
            if matching is None:
                return None
            united = matching if united is None else united | matching
        return united
