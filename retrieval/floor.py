"""The floor of an index: how near its passages come to queries that mean nothing.

Dense retrieval always finds something. What it finds for made-up words says how near a passage lies by chance; a hit
that is no nearer than that, and that shares no word with its query, says little.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

from .encoder import Encoder
from .vectors import Mask, VectorIndex

QUERIES = 32
WORDS = 4
SHARE = 0.9
"""Of the made-up queries, so many come no nearer to any passage than the floor."""
_ONSETS = "bdfgklmnprstvz"
_VOWELS = "aeiou"


def made_up_queries() -> list[str]:
    """Return queries of words that mean nothing, the same for ever."""
    return [" ".join(_word(query, word) for word in range(WORDS)) for query in range(QUERIES)]


def chance_cosines(encoder: Encoder, vectors: VectorIndex, keep: Mask | None) -> list[float]:
    """Return the cosine of the nearest passage to each made-up query; none if there are no passages."""
    nearest = vectors.search(encoder.encode_query(made_up_queries()), 1, keep)
    return [float(of_query.scores[0]) for of_query in nearest if len(of_query.scores)]


def floor_of(cosines: Iterable[float]) -> float:
    """Return the cosine that nine in ten made-up queries stay below or at, of :func:`chance_cosines`."""
    best = sorted(cosines)
    return best[int(SHARE * (len(best) - 1))] if best else 1.0


def _word(query: int, word: int) -> str:
    drawn = blake2b(b"factseek %d %d" % (query, word), digest_size=8).digest()
    places = range(0, 2 * (2 + drawn[7] % 2), 2)
    return "".join(_ONSETS[drawn[at] % len(_ONSETS)] + _VOWELS[drawn[at + 1] % len(_VOWELS)] for at in places)
