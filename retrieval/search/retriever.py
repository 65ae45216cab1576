"""The interfaces for ranking the passages of an index: one ranking, or several made together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ..deadline import Deadline
from ..dense.vectors import Mask
from ..domain import Filter, Hit, ScoredDocids
from ..records.runs import best_documents

Ranked = dict[str, list[list[Hit]]]
"""The hits of each query, by the name of the ranking."""


class Retriever(Protocol):
    """A ranking of the passages of an index, for a batch of queries."""

    def search(
        self, queries: Sequence[str], k: int, where: Filter | None = None, limit: Deadline | None = None
    ) -> list[list[Hit]]:
        """Return at most ``k`` hits per query, in the total order of :mod:`factseek.retrieval.search.order`.

        Raises CutOffError if nothing is ready within the limit.
        """
        ...

    def columns(
        self, queries: Sequence[str], k: int, where: Filter | None = None, limit: Deadline | None = None
    ) -> list[ScoredDocids]:
        """Return the documents of the hits of :meth:`search`; override it if they are available without hits."""
        return list(map(best_documents, self.search(queries, k, where, limit)))

    def matching(self, query: str) -> Mask | None:
        """Return a mask over all rows, of the passages that a query can find without a filter; None means all.

        Override it if the retriever does not rank every passage.
        """
        return None


class Rankings(Protocol):
    """Several rankings by name, made in this process or elsewhere."""

    names: Sequence[str]

    def search(
        self, queries: Sequence[str], k: int, where: Filter | None = None, limit: Deadline | None = None
    ) -> Ranked:
        """Return at most ``k`` hits per query for each ranking, in the total order, without rankings that were cut off.

        Raises CutOffError if no ranking is ready within the limit.
        """
        ...

    def matching(self, query: str) -> Mask | None:
        """Return the passages that at least one of the rankings can find; None means all."""
        ...


class ReRanker(Protocol):
    """Scores pairs of a query and a passage; a score depends on its pair alone. It is safe for threads."""

    @property
    def name(self) -> str:
        """The name of the model."""
        ...

    def score(self, query: str, passage: str) -> float:
        """Return how well a passage answers a query: higher is better, without bounds."""
        ...

    def reads_all(self, query: str, passage: str) -> bool:
        """Return whether the pair is short enough for the model to read all of it."""
        ...

    def count_tokens(self, query: str, passage: str) -> int:
        """Return the number of tokens of the pair that the model reads, including special tokens."""
        ...
