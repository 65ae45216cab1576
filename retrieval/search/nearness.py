"""How near a passage must be to a query to mean anything: nearer than to random queries."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache, partial
from math import inf
from statistics import pstdev

from .. import retrievers
from ..config import Config
from ..dense.noise import noise_threshold
from ..lucene.spelling import words_in
from ..store.manifest import Manifest
from .evidence import Evidence
from .index_state import IndexState
from .options import reads_vectors

# The number of rankings whose view of vectors is remembered.
_REMEMBERED = 64
_SMALL = 2  # a word of at most this many characters says little about a text
_ENOUGH = 8
"""A hit seems related if it contains more than half of a text's words; for a longer text, more than
half of this.
"""
_CLEARLY = 3
"""A passage is clearly near if its cosine exceeds the noise threshold by this many standard
deviations.

These are the standard deviations of the cosines of random queries.
"""
_NEARER = 0.2
"""The minimum distance between the noise threshold and the cosine of a passage that is clearly
near.

It is a share of the distance from the threshold to 1. It matters in an index of a few short texts,
whose cosines are all well above the threshold.
"""


class Nearness:
    """Compares the cosines of hits with those of random queries. Safe for threads."""

    def __init__(self, state: IndexState, settings: Config) -> None:
        self._state = state
        self._floors: dict[str, tuple[float, float]] = {}
        vectors_alone = partial(_vectors_alone, state.manifest, settings)
        self._vectors_alone = lru_cache(maxsize=_REMEMBERED)(vectors_alone)

    def mark_weak(self, hits: Iterable[Evidence]) -> None:
        """Mark a hit as weak if only vectors found it and each of its cosines is below the noise
        threshold.
        """
        # The cosine that a hit of each ranking must reach; -inf for a ranking that reads words.
        needed: dict[str, float] = {}
        for hit in hits:
            for name, part in hit.retrievers.items():
                if name not in needed:
                    view = self._vectors_alone(name)
                    needed[name] = self._floor(view)[0] if view else -inf
                if part.score >= needed[name]:
                    break
            else:  # every cosine of the hit is below the threshold
                hit.weak = True

    def bears(self, text: str, scores: Mapping[str, float], words: Collection[str]) -> bool:
        """Return whether a hit seems related to a text, from its score in each ranking and the
        words that it contains.
        """
        near = self.degrees(scores.items())
        return any(degree >= 1 for degree in near.values()) or shares_words(text, words)

    def degrees(self, scores: Iterable[tuple[str, float]]) -> dict[str, float]:
        """Return how near the nearest of some hits is, for each view whose vectors found one.

        ``scores`` are pairs of a ranking and a score. The degree is 0 for the noise threshold, and
        1 for a passage that is clearly near. Given vectors have no degree: without an encoder,
        nobody knows how near random queries come.
        """
        best: dict[str, float] = {}
        for name, score in scores:
            view = self._vectors_alone(name)
            if view and not self._state.manifest.encoders[view].is_given:
                best[view] = max(score, best.get(view, -inf))
        return {view: self._degree(view, score) for view, score in best.items()}

    def _degree(self, view: str, score: float) -> float:
        floor, clear = self._floor(view)
        if clear > floor:
            return (score - floor) / (clear - floor)
        return inf if score >= clear else -inf  # random queries of no passages, or all the same

    def _floor(self, view: str) -> tuple[float, float]:
        """Return two cosines of a view: hits below the first are not near, hits from the second on
        are clearly near.
        """
        if view not in self._floors:
            if self._state.manifest.encoders[view].is_given:
                # Without an encoder, nobody knows how near random queries come: no hit is weak, and
                # none is clearly near.
                self._floors[view] = -inf, inf
                return self._floors[view]
            by_chance = self._state.noise_similarities(view)
            floor = noise_threshold(by_chance)
            spread = pstdev(by_chance) if by_chance else 0.0
            least = 0.0
            if self._state.manifest.encoders[view].similarity == "cosine":
                least = _NEARER * (1 - floor)
            self._floors[view] = floor, floor + max(_CLEARLY * spread, least)
        return self._floors[view]

    def likeness(self, scores: Mapping[str, float]) -> float | None:
        """Return how like a text a hit is, from its score in each ranking: 0 at the noise
        threshold, 1 for an equal text.

        It is None if no ranking has cosines that an encoder of this index made.
        """
        likes = []
        for name, score in scores.items():
            view = self._vectors_alone(name)
            encoder = self._state.manifest.encoders[view] if view else None
            if encoder and not encoder.is_given and encoder.similarity == "cosine":
                floor = self._floor(view)[0]
                likes.append((score - floor) / (1 - floor))
        return max(likes, default=None)


def shares_words(text: str, words: Collection[str]) -> bool:
    """Return whether the ``words`` of a hit are more than half of those of a text."""
    of_text = _telling(words_in(text))
    of_hit = _telling(words)
    return bool(of_hit) and len(of_hit) > min(len(of_text), _ENOUGH) / 2


def _telling(words: Iterable[str]) -> set[str]:
    """Return the words that say something about a text, in lower case: numbers and longer words."""
    lower = {word.lower() for word in words}
    return {word for word in lower if len(word) > _SMALL or word.isdigit()}


def _vectors_alone(manifest: Manifest, settings: Config, ranking: str) -> str:
    """Return the view of vectors if a ranking reads nothing else, else ``""``."""
    views = retrievers.kind(ranking).views(ranking, manifest, settings)
    return views[0] if len(views) == 1 and reads_vectors(views) else ""
