"""The interface of models that read query and passage together."""

from __future__ import annotations

from typing import Protocol


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
