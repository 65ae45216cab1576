"""The interfaces of what ranks the passages of an index: one ranking, or several that are made together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ..deadline import Deadline
from ..dense.vectors import Mask
from ..domain import Filter, Hit, ScoredDocids
from ..records.runs import best_documents

Ranked = dict[str, list[list[Hit]]]
"""The hits of each query by the name of the ranking."""


class Retriever(Protocol):
    """A ranking of the passages of an index, for a batch of queries."""

    def search(
        self, queries: Sequence[str], k: int, where: Filter | None = None, limit: Deadline | None = None
    ) -> list[list[Hit]]:
        """Return at most ``k`` hits a query, in the total order of :mod:`factseek.retrieval.search.order`.

        Raises CutOffError if nothing is ready within the limit.
        """
        ...

    def columns(
        self, queries: Sequence[str], k: int, where: Filter | None = None, limit: Deadline | None = None
    ) -> list[ScoredDocids]:
        """Return the documents of what :meth:`search` returns; override it where they can be had without hits."""
        return list(map(best_documents, self.search(queries, k, where, limit)))

    def matching(self, query: str) -> Mask | None:
        """Return the passages, of all rows, that can be found for a query without a filter; None: all of them.

        Override it where not every passage is ranked.
        """
        return None


class Rankings(Protocol):
    """Several rankings by their names, wherever these are made."""

    names: Sequence[str]

    def search(
        self, queries: Sequence[str], k: int, where: Filter | None = None, limit: Deadline | None = None
    ) -> Ranked:
        """Return at most ``k`` hits a query of each ranking, in the total order; those cut off are left out.

        Raises CutOffError if none is ready within the limit.
        """
        ...

    def matching(self, query: str) -> Mask | None:
        """Return the passages that any of the rankings can find; None: all of them."""
        ...


class ReRanker(Protocol):
    """Scores pairs of a query and a passage; the score of a pair depends on the pair alone. It is safe for threads."""

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
        """Return how many tokens of the pair the model reads, its own marks included."""
        ...
