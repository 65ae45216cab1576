"""Fusion: several rankings of one query become one.

What a hit is worth is in :mod:`factseek.retrieval.search.score_normalizers`; each ranking has one weight. Fused
scores are rounded to float32 before they are ordered.

The first ``depth`` hits of each ranking are fused, however many hits are asked for; a longer list goes on with what was
not fused, rank by rank. So a short list is the beginning of a longer one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from operator import itemgetter
from typing import NamedTuple

from ..config import FusionSettings
from ..domain import Hit, Part
from .order import float32, scores_below
from .score_normalizers import scorer_of


class Ranking(NamedTuple):
    """One retriever's hits for a query, best first, and what its vote weighs."""

    retriever: str
    weight: float
    hits: Sequence[Hit]


Key = tuple[str, int]
"""The unit that is fused: a document, or one of its passages."""
_Vote = tuple[float, int, Ranking]
"""A vote for a hit, and where it stands in the ranking that gave it, from 0."""


def fuse(rankings: Sequence[Ranking], fusion: FusionSettings, k: int, *, group: bool = True) -> list[Hit]:
    """Fuse rankings into one of at most ``k`` hits in the total order; what makes a fused score is never below 0.

    Only the first ``fusion.depth`` hits of each ranking are fused. A hit's passage is that of the retriever that ranked
    it highest (of equals, the earlier ranking's); its ``parts`` keep each retriever's rank, score and vote. A document
    that a ranking lacks gets nothing from it. Without ``group``, passages are fused instead of documents.

    If these are fewer than ``k``, the other hits follow, as :func:`unfused` orders them, with the scores -1, -2, -3
    and so on: they got no votes.
    """
    keys = _by_document if group else _by_passage
    hits = _fused([ranking._replace(hits=ranking.hits[: fusion.depth]) for ranking in rankings], fusion, keys, k)
    if len(hits) < k:
        more = list(islice(unfused(rankings, fusion.depth, {keys(hit) for hit in hits}, keys), k - len(hits)))
        scores = scores_below(0.0, len(more))
        hits += [
            Hit(hit.docid, score, hit.passage, (Part(name, rank, hit.score),))
            for score, (name, rank, hit) in zip(scores, more, strict=True)
        ]
    return hits


def unfused(
    rankings: Sequence[Ranking], depth: int, seen: set[Key], keys: Callable[[Hit], Key] | None = None
) -> Iterator[tuple[str, int, Hit]]:
    """Yield what follows the first ``depth`` hits of rankings and is not ``seen``, each with its ranking and its rank.

    Rank by rank: of two hits, first that of the smaller rank; of equal ranks, that of the earlier ranking. A document
    comes once, at the first of its ranks.
    """
    keys, seen = keys or _by_document, set(seen)
    for rank in range(depth, max((len(ranking.hits) for ranking in rankings), default=0)):
        for ranking in rankings:
            if rank < len(ranking.hits):
                hit = ranking.hits[rank]
                if keys(hit) not in seen:
                    seen.add(keys(hit))
                    yield ranking.retriever, rank + 1, hit


def _fused(rankings: Sequence[Ranking], fusion: FusionSettings, keys: Callable[[Hit], Key], k: int) -> list[Hit]:
    """Return the first ``k`` hits of rankings in the total order of their fused scores; only these are made."""
    scorer = scorer_of(fusion.kind, fusion.rrf_k)
    votes: dict[Key, list[_Vote]] = {}
    for ranking in rankings:
        worth = scorer([hit.score for hit in ranking.hits])
        for at, (hit, value) in enumerate(zip(ranking.hits, worth, strict=True)):
            votes.setdefault(keys(hit), []).append((ranking.weight * value, at, ranking))
    fused = float32(math.fsum([vote for vote, _, _ in of_key]) for of_key in votes.values())
    scores = dict(zip(votes, fused, strict=True))
    order = sorted(votes, key=itemgetter(1))
    order.sort(key=itemgetter(0), reverse=True)
    order.sort(key=scores.__getitem__, reverse=True)
    return [_hit(key[0], scores[key], votes[key]) for key in order[:k]]


def _hit(docid: str, score: float, votes: Sequence[_Vote]) -> Hit:
    """Return a fused hit with the passage of the ranking that ranked it highest, of equals the earlier."""
    _, highest, by = min(votes, key=itemgetter(1))
    parts = tuple(Part(ranking.retriever, at + 1, ranking.hits[at].score, vote) for vote, at, ranking in votes)
    return Hit(docid, score, by.hits[highest].passage, parts)


def _by_document(hit: Hit) -> Key:
    return hit.docid, -1


def _by_passage(hit: Hit) -> Key:
    return hit.docid, hit.passage
