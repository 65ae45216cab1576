"""Fusion: merge several rankings of one query into one.

:mod:`factseek.retrieval.search.score_normalizers` defines the value of a hit; each ranking has one
weight. Fused scores are rounded to float32 before they are sorted.

Fusion uses the first ``depth`` hits of each ranking, however many hits are requested. A longer list
continues with the other hits, rank by rank. So a short list is the beginning of a longer one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

from ...core.domain import Hit, Part
from ...core.order import float32, scores_below
from ..config import FusionSettings
from .score_normalizers import scorer_of


class Ranking(NamedTuple):
    """One retriever's hits for a query, best first, and the weight of its votes."""

    retriever: str
    weight: float
    hits: Sequence[Hit]


_Key = str | tuple[str, int]  # the unit of fusion: a document, or one of its passages
_RankedPlace = tuple[int, Ranking]  # a hit's position (from 0) in a ranking, and that ranking


def fuse(
    rankings: Sequence[Ranking], fusion: FusionSettings, k: int, *, group: bool = True
) -> list[Hit]:
    """Fuse rankings into one of at most ``k`` hits in the total order; a fused score is never below
    0.

    Only the first ``fusion.depth`` hits of each ranking are fused. A hit's passage comes from the
    retriever that ranked it highest (of equal ranks, the earlier ranking). Its ``parts`` keep each
    retriever's rank, score and vote. A document that is not in a ranking gets no vote from that
    ranking. Without ``group``, passages are fused instead of documents.

    If fewer than ``k`` hits are fused, hits without votes follow with the scores -1, -2, -3 and so
    on. They are sorted by rank; of equal ranks, the earlier ranking's hit comes first.
    """
    key_of: Callable[[Hit], _Key] = attrgetter("docid") if group else attrgetter("docid", "passage")
    scorer = scorer_of(fusion.kind, fusion.rrf_k)
    votes: dict[_Key, list[float]] = {}
    places: dict[_Key, list[_RankedPlace]] = {}
    for ranking in rankings:
        first = ranking.hits[: fusion.depth]
        worth = scorer([hit.score for hit in first])
        for at, (hit, value) in enumerate(zip(first, worth, strict=True)):
            key = key_of(hit)
            votes.setdefault(key, []).append(ranking.weight * value)
            places.setdefault(key, []).append((at, ranking))
    fused = float32(map(math.fsum, votes.values()))
    scores = dict(zip(votes, fused, strict=True))
    order = list(votes)
    if group:
        order.sort(reverse=True)
    else:
        order.sort(key=itemgetter(1))
        order.sort(key=itemgetter(0), reverse=True)
    order.sort(key=scores.__getitem__, reverse=True)
    hits = []
    for key in order[:k]:
        highest, by = min(places[key], key=itemgetter(0))
        parts = []
        for vote, (at, ranking) in zip(votes[key], places[key], strict=True):
            parts.append(Part(ranking.retriever, at + 1, ranking.hits[at].score, vote))
        hits.append(
            Hit(by.hits[highest].docid, scores[key], by.hits[highest].passage, tuple(parts))
        )
    if len(hits) < k:
        more = list(islice(list_unfused(rankings, fusion.depth, set(votes), key_of), k - len(hits)))
        hits += [
            Hit(hit.docid, score, hit.passage, (Part(name, rank, hit.score),))
            for score, (name, rank, hit) in zip(scores_below(0.0, len(more)), more, strict=True)
        ]
    return hits


def list_unfused(
    rankings: Sequence[Ranking],
    depth: int,
    seen: set[Any],
    key_of: Callable[[Hit], Any] = attrgetter("docid"),
) -> Iterator[tuple[str, int, Hit]]:
    """Yield (retriever, rank, hit) for the hits after the first ``depth`` of each ranking, except
    those in ``seen``.

    A document appears once, at its best rank. ``seen`` receives the ``key_of`` of each hit.
    """
    for rank in range(depth, max((len(ranking.hits) for ranking in rankings), default=0)):
        for ranking in rankings:
            if rank < len(ranking.hits):
                hit = ranking.hits[rank]
                if key_of(hit) not in seen:
                    seen.add(key_of(hit))
                    yield ranking.retriever, rank + 1, hit
