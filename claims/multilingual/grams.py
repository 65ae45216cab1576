"""Runs of characters as numbers of buckets: what an encoder of characters reads, in any language."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from claims.rank.text import normalised
from retrieval.domain import Statement

_SIZES = (3, 4, 5)


def buckets(statements: Sequence[Statement], number: int) -> list[NDArray[np.int64]]:
    """Return for each statement the buckets, below ``number``, of its words and of the runs of characters in them."""
    return [np.array([_bucket(gram, number) for gram in _grams(one.text)] or [0]) for one in statements]


def _grams(text: str) -> list[str]:
    found = []
    for word in normalised(text).split():
        padded = f"<{word}>"
        found.append(padded)
        for size in _SIZES:
            found.extend(padded[start : start + size] for start in range(len(padded) - size))
    return found


def _bucket(gram: str, number: int) -> int:
    return zlib.crc32(gram.encode("utf-8", "replace")) % number
