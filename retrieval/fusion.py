"""Fusion: several rankings of one query become one.

Reciprocal rank fusion is Cormack, Clarke and Büttcher's (SIGIR 2009); the normalised sums follow Fox and Shaw's
CombSUM (TREC-2) with one weight a ranking. Fused scores are rounded to float32 before they are ordered.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from .domain import Hit, Part
from .order import float32, ordered


class Ranking(NamedTuple):
    """One retriever's hits for a query, best first, and what its vote weighs."""

    retriever: str
    weight: float
    hits: Sequence[Hit]


Scorer = Callable[[Sequence[float]], list[float]]


def fuse(rankings: Sequence[Ranking], kind: str, rrf_k: int, k: int, *, group: bool = True) -> list[Hit]:
    """Fuse rankings into one of at most ``k`` hits in the total order.

    A hit's passage is that of the retriever that ranked it highest (of equals, the earlier ranking's); its ``parts``
    keep each retriever's rank, score and vote. A document that a ranking lacks gets nothing from it. Without ``group``,
    passages are fused instead of documents.
    """
    scorer = scorer_of(kind, rrf_k)
    parts: dict[tuple[str, int], list[Part]] = {}
    votes: dict[tuple[str, int], list[float]] = {}
    keys = _by_document if group else _by_passage
    for ranking in rankings:
        worth = scorer([hit.score for hit in ranking.hits])
        for rank, (hit, value) in enumerate(zip(ranking.hits, worth, strict=True), 1):
            key, vote = keys(hit), ranking.weight * value
            parts.setdefault(key, []).append(Part(ranking.retriever, rank, hit.score, vote))
            votes.setdefault(key, []).append(vote)
    passages = _passages(rankings, keys)
    scores = float32(math.fsum(vote) for vote in votes.values())
    fused = [Hit(key[0], score, passages[key], tuple(parts[key])) for key, score in zip(votes, scores, strict=True)]
    return ordered(fused)[:k]


def _by_document(hit: Hit) -> tuple[str, int]:
    return hit.docid, -1


def _by_passage(hit: Hit) -> tuple[str, int]:
    return hit.docid, hit.passage


def _passages(rankings: Sequence[Ranking], keys: Callable[[Hit], tuple[str, int]]) -> dict[tuple[str, int], int]:
    placed = [
        (rank, place, keys(hit), hit.passage)
        for place, ranking in enumerate(rankings)
        for rank, hit in enumerate(ranking.hits, 1)
    ]
    chosen: dict[tuple[str, int], int] = {}
    for _, _, key, passage in sorted(placed, key=lambda entry: entry[:2]):
        chosen.setdefault(key, passage)
    return chosen


def scorer_of(kind: str, rrf_k: int) -> Scorer:
    """Return what turns a ranking's scores, best first, into what each hit is worth."""
    if kind == "rrf":
        return lambda scores: [1.0 / (rrf_k + rank) for rank in range(1, len(scores) + 1)]
    return {"minmax": _minmax, "zscore": _zscore}[kind]


def _minmax(scores: Sequence[float]) -> list[float]:
    """Stretch scores to 0..1 within the ranking; equal scores are all worth 1."""
    if not scores:
        return []
    low, high = min(scores), max(scores)
    return [(score - low) / (high - low) if high > low else 1.0 for score in scores]


def _zscore(scores: Sequence[float]) -> list[float]:
    """Count each score in standard deviations above the ranking's mean, shifted so that the last is worth 0.

    Without the shift a document that a ranking ranks below its mean would be worth less than one that it lacks.
    """
    if not scores:
        return []
    mean, low = math.fsum(scores) / len(scores), min(scores)
    spread = math.sqrt(math.fsum((score - mean) ** 2 for score in scores) / len(scores))
    return [(score - low) / spread if spread > 0 else 1.0 for score in scores]
