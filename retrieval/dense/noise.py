"""The floor of an index: how near its passages come to queries that mean nothing.

Dense retrieval always finds something. What it finds for made-up words says how near a passage lies by chance; a hit
that is no nearer than that, and that shares no word with its query, says little.

A segment keeps how near its passages come, so that opening an index costs nothing: the nearest of an index is the
nearest of its segments. Deleted passages count until their segment is written anew.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from ..errors import IndexStateError
from ..files import os_errors_reported, read_regular
from ..store.integrity import REMEDY
from .encoder import Encoder
from .vectors import UNIT_TOLERANCE, Mask, VectorIndex, Vectors, not_unit

QUERIES = 32
WORDS = 4
SHARE = 0.9
"""Of the made-up queries, so many come no nearer to any passage than the floor."""
_ENCODED: WeakKeyDictionary[Encoder, Vectors] = WeakKeyDictionary()
"""The vectors of the made-up queries by each encoder that is open: a writer makes segment after segment."""
_ONSETS = "bdfgklmnprstvz"
_VOWELS = "aeiou"


def made_up_queries() -> list[str]:
    """Return queries of words that mean nothing, the same for ever."""
    return [" ".join(_word(query, word) for word in range(WORDS)) for query in range(QUERIES)]


def made_up_vectors(encoder: Encoder) -> Vectors:
    """Return the vectors of the made-up queries, which are encoded once for as long as the encoder is open."""
    queries = _ENCODED.get(encoder)
    if queries is None:
        queries = _ENCODED[encoder] = encoder.encode_query(made_up_queries())
    return queries


def noise_similarities(queries: Vectors, vectors: VectorIndex, keep: Mask | None = None) -> list[float]:
    """Return the cosine of the nearest passage to each made-up query; none if there are no passages."""
    nearest = vectors.search(queries, 1, keep)
    return [float(of_query.scores[0]) for of_query in nearest if len(of_query.scores)]


class Chance(NamedTuple):
    """The vectors of the made-up queries, and the cosine of the nearest passage of a segment to each.

    The vectors are kept so that a segment can be merged where the encoder is not.
    """

    queries: Vectors
    cosines: Vectors


def write_chance(path: Path, queries: Vectors, cosines: Sequence[float]) -> None:
    """Write the chance of a segment: a row a query, its vector and its cosine.

    Raises MachineError if the file cannot be written.
    """
    rows = np.column_stack([queries, np.asarray(cosines, dtype=np.float32)]).astype("<f4")
    with os_errors_reported(path), path.open("wb") as file:
        file.write(rows.tobytes())
        file.flush()
        os.fsync(file.fileno())


def read_chance(path: Path, dimension: int) -> Chance | None:
    """Return the chance of a segment; None if it keeps none.

    Raises IndexStateError, naming the file, if it is not what was written.
    """
    try:
        content = read_regular(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise IndexStateError(f"cannot be read: {error.strerror}", place=path, remedy=REMEDY) from None
    size = QUERIES * (dimension + 1) * 4
    if len(content) != size:
        raise IndexStateError(f"holds {len(content)} bytes, expected {size}", place=path, remedy=REMEDY)
    rows = np.frombuffer(content, dtype="<f4").reshape(QUERIES, dimension + 1)
    queries, cosines = np.ascontiguousarray(rows[:, :-1]), rows[:, -1]
    if any(True for _ in not_unit(queries)) or not (np.abs(cosines) <= 1 + UNIT_TOLERANCE).all():
        raise IndexStateError("holds no cosines of unit vectors", place=path, remedy=REMEDY)
    return Chance(queries, cosines)


def nearest_of_segments(paths: Iterable[Path], dimension: int) -> list[float] | None:
    """Return the cosines of the nearest passages of segments together; None if one keeps none.

    Raises what :func:`read_chance` raises.
    """
    of_segments = []
    for path in paths:
        chance = read_chance(path, dimension)
        if chance is None:
            return None
        of_segments.append(chance.cosines)
    nearest: list[float] = np.max(of_segments, axis=0).tolist() if of_segments else []
    return nearest


def noise_threshold(cosines: Iterable[float]) -> float:
    """Return the cosine that nine in ten made-up queries stay below or at, of :func:`chance_cosines`."""
    best = sorted(cosines)
    return best[int(SHARE * (len(best) - 1))] if best else 1.0


def _word(query: int, word: int) -> str:
    drawn = blake2b(b"factseek %d %d" % (query, word), digest_size=8).digest()
    places = range(0, 2 * (2 + drawn[7] % 2), 2)
    return "".join(_ONSETS[drawn[at] % len(_ONSETS)] + _VOWELS[drawn[at + 1] % len(_VOWELS)] for at in places)
