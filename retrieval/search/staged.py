"""The search with stages: reorder or thin a retriever's hits, and search deeper until ``k`` hits remain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import msgspec

from .. import stages
from ..deadline import CutOffError, Memory, Unbounded
from ..domain import Hit, Part
from ..stages import Applied, Named
from ..store.documents import Stored
from .options import ResolvedSearch, Search
from .retriever import Retriever

Reading = Callable[..., list[Stored]]
"""Read the passages of hits; the argument ``spend`` receives the size of each document."""


class StagedSearch:
    """Searches with a retriever, and passes its hits through stages."""

    def __init__(
        self, retriever: Retriever, staged: Sequence[Named], resolved: ResolvedSearch, reading: Reading
    ) -> None:
        self._retriever = retriever
        self._stages = staged
        self._name = resolved.retriever
        self._most = resolved.settings.search.max_k
        self._reading = reading

    def search(self, queries: Sequence[str], k: int, asked: Search) -> list[list[Hit]]:
        """Return the first ``k`` hits of each query after the stages.

        Raises CutOffError if nothing was found within the limit.
        """
        depth = min(stages.depth_of(self._stages, k), self._most)
        ranked = self._retriever.search(queries, depth, asked.where, asked.limit)
        left = self._after_stages(queries, ranked, asked)
        for at, query in enumerate(queries):
            if len(left[at].hits) < k or left[at].short:
                left[at] = self._deeper(query, ranked[at], left[at], k, asked)
        return [applied.hits[:k] for applied in left]

    def _deeper(self, query: str, hits: list[Hit], left: Applied, k: int, asked: Search) -> Applied:
        depth = min(stages.depth_of(self._stages, k), self._most)
        while (len(left.hits) < k or left.short) and len(hits) == depth < self._most:
            depth = min(2 * depth, self._most)
            try:
                (hits,) = self._retriever.search([query], depth, asked.where, asked.limit)
            except CutOffError:
                break  # the hits so far are an answer; the limit records what is missing
            (left,) = self._after_stages([query], [hits], asked)
        return left

    def _after_stages(self, queries: Sequence[str], ranked: Sequence[Sequence[Hit]], asked: Search) -> list[Applied]:
        own = [_with_own_parts(hits, self._name) for hits in ranked]
        spent = _Spent(asked.limit.memory if asked.limit else Unbounded())
        try:
            return stages.applied(self._stages, queries, own, partial(self._reading, spend=spent.spend), asked.limit)
        finally:
            spent.give_back()


class _Spent:
    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._size = 0

    def spend(self, size: int) -> None:
        self._memory.spend(size)
        self._size += size

    def give_back(self) -> None:
        self._memory.give_back(self._size)


def _with_own_parts(hits: Sequence[Hit], retriever: str) -> list[Hit]:
    return [
        hit if hit.parts else msgspec.structs.replace(hit, parts=(Part(retriever, rank, hit.score, hit.score),))
        for rank, hit in enumerate(hits, 1)
    ]
