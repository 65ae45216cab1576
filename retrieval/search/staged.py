"""The search with stages: reorder or thin a retriever's hits, and search deeper until ``k`` hits remain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from msgspec.structs import replace

from .. import stages
from ..deadline import CutOffError, Unbounded
from ..domain import Hit, Part
from ..stages import Applied, Named
from ..store.documents import Stored
from .options import ResolvedSearch, Search
from .retriever import Retriever

Reading = Callable[..., list[Stored]]
"""Read the passages of hits; the argument ``spend`` receives the size of each document."""


def search_in_stages(
    retriever: Retriever,
    staged: Sequence[Named],
    resolved: ResolvedSearch,
    reading: Reading,
    *,
    queries: Sequence[str],
    k: int,
    asked: Search,
) -> list[list[Hit]]:
    """Return the first ``k`` hits of each query after the stages. Raises CutOffError if nothing was found in time."""
    most = resolved.settings.search.max_k
    first = min(stages.depth_of(staged, k), most)

    def own_part(rank: int, hit: Hit) -> Hit:
        """Return a hit with its rank and score in the retriever, before a stage adds its own part."""
        part = Part(resolved.retriever, rank, hit.score, hit.score)
        return hit if hit.parts else replace(hit, parts=(part,))

    def after_stages(texts: Sequence[str], ranked: Sequence[Sequence[Hit]]) -> list[Applied]:
        own = [[own_part(rank, hit) for rank, hit in enumerate(hits, 1)] for hits in ranked]
        memory, sizes = asked.limit.memory if asked.limit else Unbounded(), list[int]()

        def spend(size: int) -> None:
            memory.spend(size)
            sizes.append(size)

        try:
            return stages.applied(staged, texts, own, partial(reading, spend=spend), asked.limit)
        finally:
            memory.give_back(sum(sizes))

    ranked = retriever.search(queries, first, asked.where, asked.limit)
    left = after_stages(queries, ranked)
    for at, query in enumerate(queries):
        depth, hits = first, ranked[at]
        while (len(left[at].hits) < k or left[at].short) and len(hits) == depth < most:
            depth = min(2 * depth, most)
            try:
                (hits,) = retriever.search([query], depth, asked.where, asked.limit)
            except CutOffError:
                break  # the hits so far are an answer; the limit records what is missing
            (left[at],) = after_stages([query], [hits])
    return [applied.hits[:k] for applied in left]
