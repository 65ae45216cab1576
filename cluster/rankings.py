"""Rankings of an index in shards: each shard ranks with the collection's statistics; this module
merges the hits.

The statistics are collected from all shards once for each state, and sent to the shards with each
query.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain, count
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from msgspec.structs import replace

from ..core.deadline import CutOffError, Deadline
from ..core.domain import Filter, Hit, ScoredDocids
from ..core.order import sort_hits
from ..retrieval import retrievers
from ..retrieval.config import Config
from ..retrieval.dense.vectors import Vectors
from ..retrieval.encoders.endpoint import EndpointError
from ..retrieval.lucene.analysis import Analyzer
from ..retrieval.retrievers import Ranked, Rankings, Retriever
from ..retrieval.retrievers.dense import query_vectors
from ..retrieval.search.collection_statistics import (
    CollectionStatistics,
    FieldStatistics,
    Term,
    TermCount,
    joined_counts,
    joined_fields,
)
from ..retrieval.search.index_state import ShardState
from ..retrieval.search.options import is_impacts, reads_vectors
from ..retrieval.search.prepared_query import PreparedQuery
from ..retrieval.sparse.impacts import SparseVector
from ..retrieval.store.manifest import LUCENE

if TYPE_CHECKING:
    from .coordinator import ShardedState

T = TypeVar("T")


class Encoded(NamedTuple):
    """What is known of queries beside their words: their vectors by view, of shape (queries,
    dimension), and for each query its weighed terms by view of impacts.
    """

    vectors: dict[str, Vectors]
    weighed_terms: list[Mapping[str, SparseVector]]


class AskShards(Protocol):
    """A function that asks every shard of an index the same question; the answers of lost shards
    may be left out.
    """

    def __call__(self, question: Callable[[ShardState], T]) -> list[T]:
        """Return the answers in the order of the shards."""


MOST_REMEMBERED = 200_000
"""The maximum number of terms whose counts are remembered (about 40 MB); if more come, the earlier
are forgotten.
"""


class CollectionTerms:
    """The counts of terms over all shards of a state of the index. Safe for threads."""

    def __init__(
        self, state: str, shards: int, terms: Callable[[], Analyzer], ask: AskShards
    ) -> None:
        """Remember answers of all shards about a ``state``; ``terms`` returns its analyzer, ``ask``
        asks the shards.
        """
        self._state = state
        self._shards = shards
        self._fields: tuple[FieldStatistics, ...] = ()
        self._parts = count()
        self._terms = terms
        self._ask = ask
        self._known: dict[Term, TermCount] = {}
        self._learning = threading.Lock()

    def field_statistics(self) -> tuple[FieldStatistics, ...]:
        """Return the statistics of the fields that words are searched in."""
        if self._fields:
            return self._fields
        parts = self._ask(lambda state: state.field_statistics())
        joined = joined_fields(parts)
        if len(parts) == self._shards:
            self._fields = joined
        return joined

    def term_counts(self, terms: Sequence[Term]) -> list[TermCount]:
        """Return how many passages contain each term, and how often it occurs in them."""
        known = self._known
        new = [term for term in dict.fromkeys(terms) if term not in known]
        if new:
            parts = self._ask(lambda state: state.term_counts(new))
            counted = dict(zip(new, joined_counts(parts), strict=True))
            if len(parts) < self._shards:
                known = {**known, **counted}
            else:
                with self._learning:  # concurrent readers keep the old dictionary
                    before = (
                        self._known if len(self._known) + len(counted) <= MOST_REMEMBERED else {}
                    )
                    known = self._known = {**before, **counted}
        return [known[term] for term in terms]

    def with_statistics(self, query: PreparedQuery) -> PreparedQuery:
        """Return a query with the statistics of its terms and of the fields."""
        weighted = [term for term, _ in query.terms]
        tokens = sorted(set(weighted or self._terms().tokens(query.text)))
        fields = self.field_statistics()
        terms = [(of_field.field, token) for of_field in fields for token in tokens]
        counts = dict(zip(terms, self.term_counts(terms), strict=True))
        if self._fields and all(term in self._known for term in terms):
            return replace(query, statistics=CollectionStatistics(self._state, fields, counts))
        # Statistics of only some shards hold for this query alone. They get a name of their own, so
        # that no shard takes them for those of the whole collection. A shard that did not answer
        # may be back when the query comes, and Lucene has no score for a term that occurs nowhere.
        # Each field and term therefore gets at least one passage.
        some = tuple(
            each
            if each.having
            else each._replace(passages=max(1, each.passages), having=1, tokens=1, postings=1)
            for each in fields
        )
        counts = {
            term: counted if counted.passages else TermCount(1, 1)
            for term, counted in counts.items()
        }
        state = f"{self._state} in part {next(self._parts)}"
        return replace(query, statistics=CollectionStatistics(state, some, counts))


class ShardedRankings(Rankings):
    """Several rankings that each shard computes together; the scores are those of one index of all
    passages.
    """

    def __init__(self, names: Sequence[str], config: Config, whole: ShardedState) -> None:
        self.names: Sequence[str] = tuple(names)
        self._config = config
        self._whole = whole
        views = {name: retrievers.kind(name).views(name, whole.manifest, config) for name in names}
        self._reads_words = any(LUCENE in of_name for of_name in views.values())
        of_all = dict.fromkeys(chain.from_iterable(views.values()))
        self._vector_views = [view for view in of_all if reads_vectors([view])]
        self._impact_views = [view for view in of_all if is_impacts(view)]
        self._encoding = [
            name
            for name in names
            if reads_vectors(views[name]) or any(map(is_impacts, views[name]))
        ]

    def search(
        self,
        queries: Sequence[PreparedQuery],
        k: int,
        where: Filter | None = None,
        limit: Deadline | None = None,
    ) -> Ranked:
        """Return at most ``k`` hits of each query for each ranking that was not cut off, in the
        total order.

        Raises CutOffError if no ranking is ready within the limit.
        """
        names, texts = self._with_statistics(queries, limit)
        of_shards = self._whole.ask(
            lambda state: state.rankings(names, self._config).search(texts, k, where, limit)
        )
        # If one shard had no time for a ranking, leave out the whole ranking.
        whole = [name for name in names if all(name in ranked for ranked in of_shards)]
        if not whole:
            raise CutOffError("all rankings took longer than the time limit of the search")
        return {
            name: [
                sort_hits(chain.from_iterable(of_query))[:k]
                for of_query in zip(*(ranked[name] for ranked in of_shards), strict=True)
            ]
            for name in whole
        }

    def _with_statistics(
        self, queries: Sequence[PreparedQuery], limit: Deadline | None
    ) -> tuple[list[str], list[PreparedQuery]]:
        """Return the rankings that are still possible within the limit, and the queries with
        collection statistics.

        With a limit, another thread encodes the queries while this one collects the statistics.
        Raises CutOffError or EndpointError if encoding exceeds the limit or fails, and no ranking
        works without vectors.
        """
        encode = partial(self._encode_queries, queries)
        if limit is None or not self._encoding:
            return list(self.names), _with_encoded(self._with_words(queries), encode())
        pending = limit.beside.submit(encode)
        try:
            texts = self._with_words(queries)
            return list(self.names), _with_encoded(texts, limit.wait(self._encoding[0], pending))
        except (CutOffError, EndpointError):
            for name in self._encoding:
                limit.cut_off(name)
            left = [name for name in self.names if name not in self._encoding]
            if not left:
                raise
            return left, texts
        finally:
            pending.cancel()

    def _with_words(self, queries: Sequence[PreparedQuery]) -> list[PreparedQuery]:
        if self._reads_words:
            return [self._whole.collection.with_statistics(query) for query in queries]
        return list(queries)

    def _encode_queries(self, queries: Sequence[PreparedQuery]) -> Encoded:
        """Return the vectors and the weighed terms of queries, made once for all shards; vectors of
        documents are looked up.
        """
        whole = self._whole

        def encode(view: str) -> Vectors:
            encoder = partial(whole.encoder_of, view)
            return query_vectors(
                queries, view, encoder, lambda docid: whole.document_vector(docid, view)
            )

        vectors = {view: encode(view) for view in self._vector_views}
        return Encoded(vectors, [whole.weighed_terms(each, self._impact_views) for each in queries])


class ShardedRanking(Retriever):
    """One ranking of the passages of all shards."""

    def __init__(self, name: str, config: Config, whole: ShardedState) -> None:
        self._name = name
        self._rankings = ShardedRankings([name], config, whole)

    def search(
        self,
        queries: Sequence[PreparedQuery],
        k: int,
        where: Filter | None = None,
        limit: Deadline | None = None,
    ) -> list[list[Hit]]:
        """Return at most ``k`` hits of each query in the total order; raise CutOffError if a shard
        takes too long.
        """
        return self._rankings.search(queries, k, where, limit)[self._name]

    def columns(
        self,
        queries: Sequence[PreparedQuery],
        k: int,
        where: Filter | None = None,
        limit: Deadline | None = None,
    ) -> list[ScoredDocids]:
        """Return the documents of the hits of :meth:`search`, each with the exact score of its
        first passage.
        """
        ranked = []
        for hits in self.search(queries, k, where, limit):
            first: dict[str, float] = {}
            for hit in hits:
                first.setdefault(hit.docid, hit.score)
            ranked.append(ScoredDocids(list(first), list(first.values())))
        return ranked


def _with_encoded(queries: Sequence[PreparedQuery], encoded: Encoded) -> list[PreparedQuery]:
    return [
        replace(
            query,
            vectors={view: of_view[at] for view, of_view in encoded.vectors.items()},
            weighed_terms=encoded.weighed_terms[at],
        )
        for at, query in enumerate(queries)
    ]
