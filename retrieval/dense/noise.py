"""The noise threshold of an index: the cosine that its passages reach by chance, measured with
random queries (for a model whose vectors are compared by their dot product, the dot product).

Dense retrieval returns hits for any query. A hit is weak if its cosine is below the threshold and
only vectors found it. Each segment stores the cosine of its nearest passage to each random query,
so opening an index encodes nothing. Deleted passages are included until their segment is rewritten.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from ...core.errors import IndexStateError
from ...core.files import os_errors_reported, read_regular
from ..store.integrity import REMEDY, damage_reported
from ..store.manifest import Similarity
from .vectors import COSINE, UNIT_TOLERANCE, Mask, VectorIndex, Vectors, unfit_rows

if TYPE_CHECKING:
    from ..encoders.encoder import Encoder

QUERIES = 32
WORDS = 4
# The share of random queries whose nearest passage has a cosine of at most the noise threshold.
SHARE = 0.9
_ENCODED: WeakKeyDictionary[Encoder, Vectors] = WeakKeyDictionary()
"""The vectors of the random queries of each open encoder; a cache, because a writer needs them for
each segment.
"""
_ONSETS = "bdfgklmnprstvz"
_VOWELS = "aeiou"


def made_up_vectors(encoder: Encoder) -> Vectors:
    """Return the vectors of the random queries, which never change; each open encoder encodes them
    once.
    """
    if encoder not in _ENCODED:
        words = [" ".join(_word(query, word) for word in range(WORDS)) for query in range(QUERIES)]
        _ENCODED[encoder] = encoder.encode_query(words)
    return _ENCODED[encoder]


def noise_similarities(
    queries: Vectors, vectors: VectorIndex, keep: Mask | None = None
) -> list[float]:
    """Return the cosine of the nearest passage to each random query; none if there are no
    passages.
    """
    return [
        float(nearest.scores[0])
        for nearest in vectors.search(queries, 1, keep)
        if len(nearest.scores)
    ]


class Chance(NamedTuple):
    """The random queries' vectors, needed to merge segments without an encoder, and the nearest
    passages' cosines.
    """

    queries: Vectors
    cosines: Vectors


def write_chance(path: Path, queries: Vectors, cosines: Sequence[float]) -> None:
    """Write the :class:`Chance` of a segment: one row per query, with its vector and then its
    cosine.
    """
    rows = np.column_stack([queries, np.asarray(cosines, dtype=np.float32)]).astype("<f4")
    with os_errors_reported(path), path.open("wb") as file:
        file.write(rows.tobytes())
        file.flush()
        os.fsync(file.fileno())


def read_chance(path: Path, dimension: int, similarity: Similarity) -> Chance | None:
    """Return the :class:`Chance` in a file; None if there is no file.

    Raises IndexStateError if it is damaged.
    """
    with damage_reported(path):
        try:
            content = read_regular(path)
        except FileNotFoundError:
            return None
    size = QUERIES * (dimension + 1) * 4
    if len(content) != size:
        raise IndexStateError(
            f"has {len(content)} bytes, expected {size}", place=path, remedy=REMEDY
        )
    rows = np.frombuffer(content, dtype="<f4").reshape(QUERIES, dimension + 1)
    queries, cosines = np.ascontiguousarray(rows[:, :-1]), rows[:, -1]
    most = 1 + UNIT_TOLERANCE if similarity == COSINE else float(np.finfo(np.float32).max)
    if any(True for _ in unfit_rows(queries, similarity)) or not (np.abs(cosines) <= most).all():
        raise IndexStateError(
            "contains a non-unit vector or an invalid cosine", place=path, remedy=REMEDY
        )
    return Chance(queries, cosines)


def nearest_of_segments(
    paths: Iterable[Path], dimension: int, similarity: Similarity
) -> list[float] | None:
    """Return, for each random query, the highest cosine over all segments; None if a segment stores
    none.
    """
    chances = [read_chance(path, dimension, similarity) for path in paths]
    known = [chance.cosines for chance in chances if chance]
    nearest: list[float] = np.max(known, axis=0).tolist() if known else []
    return nearest if len(known) == len(chances) else None


def noise_threshold(cosines: Iterable[float]) -> float:
    """Return the noise threshold: nine in ten ``cosines`` (see :func:`noise_similarities`) do not
    exceed it.
    """
    best = sorted(cosines)
    return best[int(SHARE * (len(best) - 1))] if best else 1.0


def _word(query: int, word: int) -> str:
    drawn = blake2b(b"factseek %d %d" % (query, word), digest_size=8).digest()
    places = range(0, 2 * (2 + drawn[7] % 2), 2)
    return "".join(
        _ONSETS[drawn[at] % len(_ONSETS)] + _VOWELS[drawn[at + 1] % len(_VOWELS)] for at in places
    )
