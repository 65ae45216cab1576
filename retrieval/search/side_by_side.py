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
        """Rank with open retrievers, by name; a search cannot interrupt those in ``beside``."""
        self._parts = parts
        self._beside = beside
        self.names: Sequence[str] = tuple(parts)

    def search(
        self, queries: Sequence[str], k: int, where: Filter | None = None, limit: Deadline | None = None
    ) -> Ranked:
        """Return at most ``k`` hits per query for each ranking, in the total order, without rankings that were cut off.

        Without a limit, the rankings run one after another; with a limit, they run in parallel. Raises CutOffError if
        none is ready within the limit.
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
            # Retrievers that can be interrupted run in this thread while the others run in parallel.
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
        """Return the passages that at least one of the rankings can find; None means all."""
        united: Mask | None = None
        for part in self._parts.values():
            matching = part.matching(query)
            if matching is None:
                return None
            united = matching if united is None else united | matching
        return united
