"""The statistics of an index in shards: asked of all shards once in a state, and given along with its queries."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from itertools import count
from typing import Protocol, TypeVar

from ..retrieval.lucene.analysis import Analyzer
from ..retrieval.search.collection_statistics import (
    CollectionQuery,
    CollectionStatistics,
    FieldStatistics,
    Term,
    TermCount,
    joined_counts,
    joined_fields,
)
from ..retrieval.search.index_state import IndexState

T = TypeVar("T")
MOST_REMEMBERED = 200_000
"""Terms whose counts are remembered: about 40 MB. If there are more, they are asked for again as they come."""


class AskShards(Protocol):
    """Whoever asks every shard of an index the same."""

    def __call__(self, asked: Callable[[IndexState], T]) -> list[T]:
        """Return what the shards answer, in their order; those that are lost may be left out."""
        ...


class CollectionTerms:
    """The counts of terms over all shards of a state of the index. Safe for threads."""

    def __init__(self, state: str, shards: int, terms: Callable[[], Analyzer], ask: AskShards) -> None:
        """Remember the statistics of a ``state``; ``terms`` is its analyzer, ``ask`` asks each of ``shards`` shards.

        What some shards did not answer is not remembered.
        """
        self._state = state
        self._shards = shards
        self._fields: tuple[FieldStatistics, ...] = ()
        self._parts = count()
        self._terms = terms
        self._ask = ask
        self._known: dict[Term, TermCount] = {}
        self._learning = threading.Lock()

    @property
    def fields(self) -> tuple[FieldStatistics, ...]:
        """The statistics of the fields that words are searched in."""
        if self._fields:
            return self._fields
        parts = self._ask(lambda state: state.field_statistics())
        joined = joined_fields(parts)
        if len(parts) == self._shards:
            self._fields = joined
        return joined

    def counts(self, terms: Sequence[Term]) -> list[TermCount]:
        """Return in how many passages terms occur, and how often."""
        known = self._known
        new = [term for term in dict.fromkeys(terms) if term not in known]
        if new:
            parts = self._ask(lambda state: state.term_counts(new))
            counted = dict(zip(new, joined_counts(parts), strict=True))
            if len(parts) < self._shards:
                known = {**known, **counted}
            else:
                with self._learning:  # whoever reads the old dictionary keeps it
                    before = self._known if len(self._known) + len(counted) <= MOST_REMEMBERED else {}
                    known = self._known = {**before, **counted}
        return [known[term] for term in terms]

    def query(self, text: str) -> CollectionQuery:
        """Return a text as a query with the statistics of its terms and no vectors."""
        tokens, fields = sorted(set(self._terms().tokens(text))), self.fields
        terms = [(of_field.field, token) for of_field in fields for token in tokens]
        counts = dict(zip(terms, self.counts(terms), strict=True))
        if self._fields and all(term in self._known for term in terms):
            return CollectionQuery(text, CollectionStatistics(self._state, fields, counts), {})
        # What some shards said holds for this query alone: under a name of its own no shard takes it for the whole.
        # A shard that did not answer may be back when the query comes, and Lucene has no score for a term that is
        # nowhere: so each field and term counts one passage at least.
        return CollectionQuery(
            text,
            CollectionStatistics(
                f"{self._state} in part {next(self._parts)}",
                tuple(
                    of_field
                    if of_field.having
                    else of_field._replace(passages=max(1, of_field.passages), having=1, tokens=1, postings=1)
                    for of_field in fields
                ),
                {term: counted if counted.passages else TermCount(1, 1) for term, counted in counts.items()},
            ),
            {},
        )
