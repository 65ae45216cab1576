"""Statistics of a collection of which one searcher reads only a part: BM25 needs statistics of all
passages.

A shard contains some of the passages. If each query carries the statistics of the whole collection,
the shard ranks its passages as one index of all passages would.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

Term = tuple[str, str]  # a field and one of its terms


class FieldStatistics(NamedTuple):
    """Counts for a field: all passages, passages with the field, tokens, and pairs of passage and
    term.

    They include deleted passages.
    """

    field: str
    passages: int
    having: int
    tokens: int
    postings: int


class TermCount(NamedTuple):
    """The number of passages that contain a term, and the number of its occurrences."""

    passages: int
    occurrences: int


class CollectionStatistics(NamedTuple):
    """Statistics of the fields and of a query's terms; ``generation`` names the counted state of
    the collection.
    """

    generation: str
    fields: tuple[FieldStatistics, ...]
    terms: Mapping[Term, TermCount]


def joined_fields(parts: Iterable[Sequence[FieldStatistics]]) -> tuple[FieldStatistics, ...]:
    """Return the statistics of each field summed over all parts of a collection; all parts name the
    same fields.
    """
    return tuple(
        FieldStatistics(
            of_field[0].field, *(sum(numbers) for numbers in list(zip(*of_field, strict=True))[1:])
        )
        for of_field in zip(*parts, strict=True)
    )


def joined_counts(parts: Iterable[Sequence[TermCount]]) -> list[TermCount]:
    """Return the counts of each term summed over all parts of a collection."""
    return [TermCount(*map(sum, zip(*counts, strict=True))) for counts in zip(*parts, strict=True)]
