"""Statements in the order in which they are worth checking."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ...retrieval.domain import Statement
from .explain import Weight, explain
from .rankers import Ranker


class Ranked(NamedTuple):
    """A statement with its place: rank 1 is the most worth checking of those seen so far.

    ``probability`` of being worth checking is ``None`` where the ranker is not calibrated; ``words`` are empty unless
    they were asked for.
    """

    rank: int
    score: float
    probability: float | None
    statement: Statement
    words: list[Weight]


def rank(ranker: Ranker, statements: Sequence[Statement], words: int = 0) -> list[Ranked]:
    """Return statements by score, descending; equal scores stay in their order. Explain each by its ``words``."""
    scores = ranker.score(statements)
    probabilities = ranker.probability(scores)
    order = sorted(range(len(statements)), key=lambda row: -float(scores[row]))
    return [
        Ranked(
            place,
            float(scores[row]),
            None if probabilities is None else float(probabilities[row]),
            statements[row],
            explain(ranker, statements[row], words) if words else [],
        )
        for place, row in enumerate(order, 1)
    ]


def rank_stream(ranker: Ranker, statements: Iterable[Statement], words: int = 0) -> Iterator[Ranked]:
    """Rank each statement, as it comes, among those before it; one that scores as they do comes after them."""
    seen: list[float] = []
    for statement in statements:
        alone = rank(ranker, [statement], words)[0]
        above = len(seen) - bisect_left(seen, alone.score)
        insort(seen, alone.score)
        yield alone._replace(rank=above + 1)
