"""Statistics of a collection that is larger than what one searcher reads: what BM25 has to know of all its passages.

A shard holds some of the passages. It ranks them as an index of all would if each query brings along what the whole
collection says of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
Term = tuple[str, str]
"""A field and one of its terms."""


class FieldStatistics(NamedTuple):
    """The size of a field: passages in all and those that have it, its tokens, and its pairs of passage and term.

    Deleted passages are counted until their segments are merged, as Lucene counts them.
    """

    field: str
    passages: int
    having: int
    tokens: int
    postings: int


class TermCount(NamedTuple):
    """How many passages have a term, and how often it stands in them."""

    passages: int
    occurrences: int


class CollectionStatistics(NamedTuple):
    """Statistics of a collection: of its fields, and of the terms of a query.

    ``generation`` names the state of the collection: two of one generation never contradict each other.
    """

    generation: str
    fields: tuple[FieldStatistics, ...]
    terms: Mapping[Term, TermCount]


class CollectionQuery(str):
    """A query with what its collection knows of it: the statistics of its terms, and its vectors by their view.

    It is searched for as any other text; whoever ranks by words takes the statistics for those of the index, and
    whoever ranks by vectors does not encode it.
    """

    __slots__ = ("statistics", "vectors")

    statistics: CollectionStatistics | None
    vectors: Mapping[str, Vectors]

    def __new__(cls, text: str, statistics: CollectionStatistics | None, vectors: Mapping[str, Vectors]) -> Self:
        """Return the query of a text, as a profile left it; what no ranking reads may be left out."""
        query = super().__new__(cls, text)
        query.statistics = statistics
        query.vectors = vectors
        return query

    def __reduce__(self) -> tuple[type[Self], tuple[str, CollectionStatistics | None, Mapping[str, Vectors]]]:
        """Return what a copy in another process is made of."""
        return type(self), (str(self), self.statistics, self.vectors)


def joined_fields(parts: Iterable[Sequence[FieldStatistics]]) -> tuple[FieldStatistics, ...]:
    """Return the statistics of the fields over all parts of a collection; each part names the same fields."""
    return tuple(
        FieldStatistics(of_field[0].field, *(sum(numbers) for numbers in list(zip(*of_field, strict=True))[1:]))
        for of_field in zip(*parts, strict=True)
    )


def joined_counts(parts: Iterable[Sequence[TermCount]]) -> list[TermCount]:
    """Return the counts of the same terms over all parts of a collection."""
    return [
        TermCount(sum(count.passages for count in counts), sum(count.occurrences for count in counts))
        for counts in zip(*parts, strict=True)
    ]
