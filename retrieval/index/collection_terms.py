"""The statistics of a sharded index: asked of all shards once in a generation, and given along with its queries."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from itertools import count

from ..collection_statistics import (
    CollectionQuery,
    CollectionStatistics,
    FieldStatistics,
    Term,
    TermCount,
    Vectors,
    joined_counts,
    joined_fields,
)
from ..index_state import AskShards
from ..lucene.analysis import Analyzer

MOST_REMEMBERED = 200_000
"""Terms whose counts are remembered: about 40 MB. When there are more, they are asked for anew as they come."""


class CollectionTerms:
    """The counts of terms over all shards of a generation. Safe for threads."""

    def __init__(self, generation: str, shards: int, terms: Callable[[], Analyzer], ask: AskShards) -> None:
        """Remember the statistics of a generation; ``terms`` is its analyzer, ``ask`` asks each of ``shards`` shards.

        What some shards did not answer is not remembered.
        """
        self._generation = generation
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
        """Return in how many passages terms stand, and how often."""
        known = self._known
        new = [term for term in dict.fromkeys(terms) if term not in known]
        if new:
            parts = self._ask(lambda state: state.term_counts(new))
            counted = dict(zip(new, joined_counts(parts), strict=True))
            known = self._learned(counted) if len(parts) == self._shards else {**known, **counted}
        return [known[term] for term in terms]

    def query(self, text: str, vectors: Mapping[str, Vectors]) -> CollectionQuery:
        """Return a text as a query with the statistics of its terms and these vectors."""
        tokens, fields = sorted(set(self._terms().tokens(text))), self.fields
        terms = [(of_field.field, token) for of_field in fields for token in tokens]
        counts = dict(zip(terms, self.counts(terms), strict=True))
        complete = bool(self._fields) and all(term in self._known for term in terms)
        if complete:
            return CollectionQuery(text, CollectionStatistics(self._generation, fields, counts), vectors)
        # What some shards said is true for this query alone: under a name of its own no shard takes it for the whole.
        generation = f"{self._generation} in part {next(self._parts)}"
        return CollectionQuery(text, _in_part(CollectionStatistics(generation, fields, counts)), vectors)

    def _learned(self, counts: dict[Term, TermCount]) -> dict[Term, TermCount]:
        """Return what is known of terms with these counts added; whoever reads the old keeps it."""
        with self._learning:
            before = self._known if len(self._known) + len(counts) <= MOST_REMEMBERED else {}
            self._known = {**before, **counts}
            return self._known


def _in_part(statistics: CollectionStatistics) -> CollectionStatistics:
    """Return what some shards said, with one passage where they have none.

    A shard that did not answer may be back when the query comes, and Lucene has no score for a term that is nowhere.
    """
    fields = tuple(of_field if of_field.having else _of_one_passage(of_field) for of_field in statistics.fields)
    counts = {term: count if count.passages else TermCount(1, 1) for term, count in statistics.terms.items()}
    return statistics._replace(fields=fields, terms=counts)


def _of_one_passage(of_field: FieldStatistics) -> FieldStatistics:
    return of_field._replace(passages=max(1, of_field.passages), having=1, tokens=1, postings=1)
