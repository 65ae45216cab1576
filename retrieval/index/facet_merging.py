"""Counts by value from several shards, added to those of their whole."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Container, Sequence

from ..domain import FacetCounts

EVERY_VALUE = sys.maxsize
"""So many values of a field are asked of a shard: a value that is rare in it may be frequent in all."""


def merged_facets(parts: Sequence[FacetCounts], most: int, admitted: Container[str]) -> FacetCounts:
    """Return the counts of all shards, each of which counted every value: the ``most`` frequent, then ``admitted``.

    Equally frequent values stand in alphabetical order, as in one index.
    """
    counts: Counter[str] = Counter()
    for part in parts:
        counts.update(dict(part.values))
    there = sorted((value for value in counts if counts[value]), key=lambda value: (-counts[value], value))
    first = there[:most]
    beside = sorted(value for value in counts if value in admitted and value not in first)
    values = [(value, counts[value]) for value in (*first, *beside)]
    return FacetCounts(values, len(there) - len(first), sum(part.missing for part in parts))
