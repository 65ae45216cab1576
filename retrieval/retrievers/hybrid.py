"""Hybrid retrieval: any number of rankings of one query, fused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from ..config import Config, FusionSettings
from ..domain import Columns, Filter, Hit
from ..errors import QueryError
from ..fusion import Ranking, fuse
from ..limit import CutOffError, Limit, Pending
from ..live.snapshot import Snapshot
from ..manifest import Manifest
from ..run_writer import best_documents
from . import Lack, Retriever, kind

LABEL = "Hybrid"
HELP = "both rankings fused"
FUSES = True
PREFERENCE = 20
BESIDE = True
BATCHES = True
Ranked = dict[str, list[list[Hit]]]
"""The hits of each query by the name of the ranking."""


def names(manifest: Manifest) -> tuple[str, ...]:
    """Name the retriever: there are no variants."""
    return ("hybrid",)


def lacks(name: str, manifest: Manifest, config: Config) -> Lack | None:
    """Return the part that the index lacks for one of the rankings; None if it can answer."""
    lacking = (kind(part).lacks(part, manifest, config) for part in rankings(name, config))
    return next((lack for lack in lacking if lack is not None), None)


def views(name: str, manifest: Manifest, config: Config) -> tuple[str, ...]:
    """Name the views that the rankings read."""
    read = (view for part in rankings(name, config) for view in kind(part).views(part, manifest, config))
    return tuple(dict.fromkeys(read))


def rankings(name: str, config: Config) -> tuple[str, ...]:
    """Name the rankings that are fused, in alphabetical order, however they were written.

    Raises QueryError if hybrid is to be fused with itself, or nothing is named.
    """
    weighted = tuple(sorted(config.search.fusion.weights))
    if not weighted or name in weighted:
        raise QueryError(f"name rankings other than {name}, each with its weight", place="search.fusion.weights")
    return weighted


def open(name: str, snapshot: Snapshot, config: Config, *, group: bool) -> HybridRetriever:
    """Open the rankings that are fused over a snapshot."""
    parts = {part: kind(part).open(part, snapshot, config, group=group) for part in rankings(name, config)}
    return HybridRetriever(parts, config.search.fusion, group=group)


class HybridRetriever:
    """Fuses the first ``depth`` hits (or ``k``, if more are asked) of named retrievers."""

    def __init__(self, parts: Mapping[str, Retriever], fusion: FusionSettings, *, group: bool = True) -> None:
        self._parts = parts
        self._fusion = fusion
        self._group = group

    def search(
        self, queries: Sequence[str], k: int, where: Filter | None = None, limit: Limit | None = None
    ) -> list[list[Hit]]:
        """Return at most ``k`` hits a query in the total order; each says what every ranking made of it.

        Under a time limit all work at the same time, and those that come in time are enough. Raises CutOffError if
        none does.
        """
        depth = max(k, self._fusion.depth)
        if limit is None:
            ranked = {name: part.search(queries, depth, where) for name, part in self._parts.items()}
        else:
            ranked = self._in_time(queries, depth, where, limit)
        return [self._fused(ranked, at, k) for at in range(len(queries))]

    def columns(
        self, queries: Sequence[str], k: int, where: Filter | None = None, limit: Limit | None = None
    ) -> list[Columns]:
        """Return the documents of what :meth:`search` returns."""
        return list(map(best_documents, self.search(queries, k, where, limit)))

    def _in_time(self, queries: Sequence[str], depth: int, where: Filter | None, limit: Limit) -> Ranked:
        pending: dict[str, Pending[list[list[Hit]]]] = {
            name: limit.begin(name, partial(part.search, queries, depth, where))
            for name, part in self._parts.items()
            if kind(name).BESIDE
        }
        ranked: Ranked = {}
        late: list[CutOffError] = []
        # What can be interrupted works in this thread while the rest works beside it.
        for name in sorted(self._parts, key=lambda name: name in pending):
            try:
                waiting = pending.get(name)
                rankings = waiting.result() if waiting else self._parts[name].search(queries, depth, where, limit)
            except CutOffError as error:
                late.append(error)
                continue
            ranked[name] = rankings
        if not ranked:
            raise late[-1]
        return ranked

    def _fused(self, ranked: Ranked, at: int, k: int) -> list[Hit]:
        settings = self._fusion
        # In the order of the parts, whichever was ready first.
        named = [Ranking(name, settings.weights[name], ranked[name][at]) for name in self._parts if name in ranked]
        return fuse(named, settings.kind, settings.rrf_k, k, group=self._group)
