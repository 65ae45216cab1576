"""Ask an index in shards like one index: each shard answers for the documents that it owns.

For BM25 and flat vectors, no answer depends on the number of shards. The shards are folders that
this process reads, or actors on a Ray cluster (:mod:`factseek.cluster.actors`).
"""

from __future__ import annotations

import sys
import threading
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from functools import partial
from itertools import chain
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from ..core.caching import OpenedOnce
from ..core.domain import Document, FacetCounts, Filter, Passage, Total
from ..core.errors import PartMissingError
from ..retrieval import retrievers
from ..retrieval.config import BM25Settings, Config
from ..retrieval.dense.vectors import Vectors
from ..retrieval.lucene.analysis import Analyzer
from ..retrieval.lucene.jvm import start
from ..retrieval.lucene.spelling import WordNearby
from ..retrieval.retrievers import ComposedKind, ParallelRankings, Rankings, Retriever
from ..retrieval.search.collection_statistics import FieldStatistics, Term, TermCount
from ..retrieval.search.index_state import ShardState
from ..retrieval.search.options import CountQuery, ReadNote, ShardHealth, is_impacts
from ..retrieval.search.prepared_query import PreparedQuery
from ..retrieval.search.snapshot import IndexEncoders, fitting_encoder, fitting_weights
from ..retrieval.sparse.impacts import SparseVector, TermCounts, joined_term_counts
from ..retrieval.sparse.queries import QueryWeights
from ..retrieval.store.documents import Addition, Place, ShortField, Stored
from ..retrieval.store.manifest import Manifest
from ..retrieval.store.signatures import WORDS, Signatures
from .layout import Shards, owner
from .rankings import AskShards, CollectionTerms, ShardedRanking, ShardedRankings

if TYPE_CHECKING:
    from ..retrieval.encoders.encoder import Encoder

T = TypeVar("T")
EVERY_VALUE = sys.maxsize
"""The number of values of a field to request from a shard, which means all of them.

A value that is rare in one shard may be frequent in another.
"""
MOST_NOTED = 10_000
"""The maximum number of failures to remember; a request needs only the failures since its start."""


class ShardLostError(PartMissingError):
    """No replica of a shard answers."""


class Gathering:
    """Calls shards, one after the other or in parallel, and notes which did not answer.

    Safe for threads.
    """

    def __init__(self, beside: Executor | None = None, *, require_all: bool = True) -> None:
        """Call in threads of ``beside``, if given.

        With ``require_all``, one lost shard makes the whole call fail.
        """
        self._beside = beside
        # Other processes answer, so one call for several rankings is better.
        self.remote = beside is not None
        self._require_all = require_all
        self._lost: deque[tuple[float, str]] = deque(maxlen=MOST_NOTED)
        self._noting = threading.Lock()

    def __call__(self, calls: Sequence[Callable[[], T]], *, every: bool) -> list[T]:
        """Return the results in the order of the calls; leave out lost shards unless ``every`` or
        ``require_all``.
        """
        if self._beside is None:
            return [call() for call in calls]
        futures = [self._beside.submit(call) for call in calls[1:]]
        results: list[T] = []
        lost: dict[str, str] = {}
        for result in (calls[0], *(future.result for future in futures)) if calls else ():
            try:
                results.append(result())
            # Do not keep the error: its traceback refers to this thread's objects.
            except ShardLostError as error:
                lost[error.place] = error.what
        with self._noting:
            self._lost.extend((monotonic(), name) for name in lost)
        for name, what in lost.items():
            if every or self._require_all or not results:
                raise ShardLostError(what, place=name)
        return results

    def lost_since(self, moment: float) -> list[str]:
        """Return the names of the shards that did not answer since ``moment``, a time of
        :func:`time.monotonic`.
        """
        with self._noting:
            return sorted({name for at, name in self._lost if at >= moment})

    def close(self) -> None:
        """End the threads when their calls are done."""
        if self._beside is not None:
            self._beside.shutdown(wait=False)


class AskEvery:
    """Asks every shard the same question; see :class:`AskShards`."""

    def __init__(self, states: Sequence[ShardState], gather: Gathering) -> None:
        self._states = states
        self._gather = gather

    def __call__(self, question: Callable[[ShardState], T]) -> list[T]:
        """Return the answers in the order of the shards, without those of lost shards."""
        return self._gather([partial(question, state) for state in self._states], every=False)


class ShardedState:
    """Combines the states of shards: the
    :class:`factseek.retrieval.search.index_state.IndexState` of an index in shards.

    :meth:`close` also closes these states.
    """

    def __init__(
        self,
        folder: Path,
        shards: Shards,
        states: Sequence[ShardState],
        config: Config,
        encoders: IndexEncoders,
        *,
        gather: Gathering,
    ) -> None:
        """Answer for ``shards``; ``states`` has their states, in order.

        ``encoders`` opens the index's encoders.
        """
        self.folder = folder
        self.manifest: Manifest = shards.merged
        self._states = states
        self._encoders = encoders
        self._settings = config
        self._gather = gather
        self._opened = OpenedOnce()
        # The attributes below do not refer to this object: a cycle would keep a closed index until
        # garbage collection.
        self.ask: AskShards = AskEvery(states, gather)
        self._analyzer: Callable[[], Analyzer] = partial(
            self._opened.get, "terms", partial(_analyzer, config.java.heap, self.manifest)
        )
        self.collection = CollectionTerms(self.manifest.id, len(states), self._analyzer, self.ask)

    @property
    def terms(self) -> Analyzer:
        """The analyzer, opened at its first use."""
        return self._analyzer()

    def encoder_of(self, view: str) -> Encoder:
        """Return the encoder that made the vectors of a view."""
        return fitting_encoder(self.manifest, view, self._encoders, self.folder)

    def noise_similarities(self, view: str) -> list[float]:
        """Return, for each meaningless query of ``dense.noise``, the cosine of the nearest passage
        in a view.
        """
        calls = [partial(state.noise_similarities, view) for state in self._states]
        # The caller remembers the result, so it must be complete.
        of_shards = self._gather(calls, every=True)
        return list(map(max, zip(*filter(None, of_shards), strict=True)))

    def ranking(self, name: str, config: Config) -> Retriever:
        """Return the retriever of this name and settings."""
        kind = retrievers.kind(name)
        if isinstance(kind, ComposedKind):
            return kind.open(name, self, config, group=config.search.group)
        return ShardedRanking(name, config, self)

    def rankings(self, names: Sequence[str], config: Config) -> Rankings:
        """Return the rankings of these names and settings, to be computed together."""
        # In one process, each ranking runs separately, so a late ranking does not delay the others.
        composed = any(isinstance(retrievers.kind(name), ComposedKind) for name in names)
        if self._gather.remote and not composed:
            return ShardedRankings(names, config, self)
        return ParallelRankings({name: self.ranking(name, config) for name in names})

    def count(self, question: CountQuery) -> Total:
        """Return how many documents, or passages if passages are ranked, can be found."""
        question = self._with_weighed_terms(question)
        totals = self.ask(lambda state: state.count(question))
        hits = sum(total.hits for total in totals)
        return Total(hits, any(total.matching for total in totals))

    def count_undated(self, where: Filter) -> int:
        """Return how many documents a date bound excludes because they have no date."""
        return sum(self.ask(lambda state: state.count_undated(where)))

    def facets(self, question: CountQuery, fields: Mapping[str, int]) -> dict[str, FacetCounts]:
        """Count the documents by the values of each field."""
        question = self._with_weighed_terms(question)
        everything = dict.fromkeys(fields, EVERY_VALUE)
        of_shards = self.ask(lambda state: state.facets(question, everything))
        admitted = dict(question.where.values()) if question.where is not None else {}
        return {
            field: _merged_facets(
                [facets[field] for facets in of_shards], most, admitted.get(field, ())
            )
            for field, most in fields.items()
        }

    def document(self, docid: str) -> Document:
        """Return the document of this docid, from the shard that owns it."""
        return self._owner_of(docid).document(docid)

    def addition(self, docid: str) -> Addition:
        """Return when and how the document of this docid was added."""
        return self._owner_of(docid).addition(docid)

    def passages_of(self, docids: Sequence[str]) -> dict[str, list[Passage]]:
        """Return the passages of each of these documents, in order."""
        of_shards = self._ask_owners(
            [(docid, 0) for docid in docids],
            lambda state, some: state.passages_of([docid for docid, _ in some]),
        )
        return dict(chain.from_iterable(of_shard.items() for of_shard in of_shards.values()))

    def document_vector(self, docid: str, view: str) -> Vectors:
        """Return the mean direction of a document's vectors in a view."""
        return self._owner_of(docid).document_vector(docid, view)

    def documents(self, where: Filter | None = None) -> Iterator[Document]:
        """Yield the documents of each shard in turn."""
        return chain.from_iterable(state.documents(where) for state in self._states)

    def docids(self) -> Iterator[str]:
        """Yield the docid of each passage, shard by shard."""
        return chain.from_iterable(state.docids() for state in self._states)

    def field_statistics(self) -> Sequence[FieldStatistics]:
        """Return the statistics of the searched text fields over all shards."""
        return self.collection.field_statistics()

    def term_counts(self, terms: Sequence[Term]) -> list[TermCount]:
        """Return the counts of each term over all shards."""
        return self.collection.term_counts(terms)

    def find_unwritten(self, words: Sequence[str]) -> list[str]:
        """Return those of the words of which no shard contains a form."""
        first, *others = self.ask(lambda state: state.find_unwritten(words))
        return [word for word in first if all(word in unwritten for unwritten in others)]

    def find_unbegun(self, beginnings: Sequence[str]) -> list[str]:
        """Return those of the beginnings with which no word of a shard begins."""
        first, *others = self.ask(lambda state: state.find_unbegun(beginnings))
        return [each for each in first if all(each in unbegun for unbegun in others)]

    def words_near(self, word: str, edits: int) -> Sequence[WordNearby]:
        """Return the words of each shard within ``edits`` edits of a word."""
        return list(chain.from_iterable(self.ask(lambda state: state.words_near(word, edits))))

    def has_word(self, word: str, where: Filter | None) -> bool:
        """Return whether a shard has a passage with a word, in a document that passes the
        filter.
        """
        return any(self.ask(lambda state: state.has_word(word, where)))

    def near_copies(
        self, signatures: Signatures, most: int, where: Filter | None
    ) -> list[set[str]]:
        """Return, for each signature, the docids of its near-duplicates in all shards."""
        of_shards = self.ask(lambda state: state.near_copies(signatures, most, where))
        return [set[str]().union(*near) for near in zip(*of_shards, strict=True)]

    def read_passages(self, places: Iterable[Place], note: ReadNote) -> dict[Place, Stored]:
        """Return passages by document and number."""
        of_shards = self._ask_owners(
            list(places), lambda state, some: state.read_passages(some, note)
        )
        return dict(chain.from_iterable(of_shard.items() for of_shard in of_shards.values()))

    def document_values(self, places: Sequence[Place], field: ShortField) -> list[str]:
        """Return a field of the document of each passage, in the order of the passages."""
        return self._in_order(places, lambda state, some: state.document_values(some, field))

    def term_weights(
        self, query: PreparedQuery, places: Sequence[Place], weights: BM25Settings
    ) -> list[dict[str, float]]:
        """Return, for each passage, the terms of a query that it contains, each with its part of
        the score.
        """
        counted = self.collection.with_statistics(query)
        return self._in_order(
            places, lambda state, some: state.term_weights(counted, some, weights)
        )

    def signatures(self, places: Sequence[Place]) -> Signatures:
        """Return the signatures of passages, in their order."""
        rows = self._in_order(places, lambda state, some: list(state.signatures(some)))
        return np.stack(rows) if rows else np.empty((0, WORDS), dtype="<u8")

    def passage_vectors(self, places: Sequence[Place], view: str) -> Vectors:
        """Return the vectors of passages in a view, in their order."""
        rows = self._in_order(places, lambda state, some: list(state.passage_vectors(some, view)))
        return np.stack(rows) if rows else np.empty((0, 0), dtype=np.float32)

    def query_weights(self, view: str) -> QueryWeights:
        """Return what weighs the terms of queries for a view of impacts, by the counts of all
        shards.
        """
        count = partial(_count_impacts, self.ask, view)
        weights = partial(
            fitting_weights, self.manifest, view, self._settings.impact, self.folder, count
        )
        return self._opened.get(("query_weights", view), weights)

    def count_impacts(self, view: str, terms: NDArray[np.int32]) -> TermCounts:
        """Return the number of passages, and of those with each term of a view of impacts, in all
        shards.
        """
        return _count_impacts(self.ask, view, terms)

    def impacts_of(
        self, query: PreparedQuery, places: Sequence[Place], view: str
    ) -> list[list[tuple[int, float]]]:
        """Return, for each passage, the terms of a query that it has in a view of impacts, each
        with its part of the score.
        """
        weighed = replace(query, weighed_terms=self.weighed_terms(query, [view]))
        return self._in_order(places, lambda state, some: state.impacts_of(weighed, some, view))

    def weighed_terms(
        self, query: PreparedQuery, views: Sequence[str]
    ) -> Mapping[str, SparseVector]:
        """Return the terms of a query by view of impacts, with their weights in the whole
        collection.
        """
        weighed = dict(query.weighed_terms)
        for view in views:
            if view not in weighed:
                weighed[view] = self.query_weights(view)(query.text)
        return weighed

    def _with_weighed_terms(self, question: CountQuery) -> CountQuery:
        views = [view for view in question.resolved.views if is_impacts(view)]
        if not views:
            return question
        query = replace(question.query, weighed_terms=self.weighed_terms(question.query, views))
        return question._replace(query=query)

    def missing_since(self, moment: float) -> Sequence[str]:
        """Return the names of the shards that did not answer since ``moment``, a time of
        :func:`time.monotonic`.
        """
        return self._gather.lost_since(moment)

    def shards(self) -> Sequence[ShardHealth]:
        """Return the shards that other processes answer for."""
        return [shard for state in self._states for shard in state.shards()]

    def close(self) -> None:
        """Close the analyzer and the shards."""
        for name, opened in self._opened.let_go().items():
            if name != "terms":
                opened.close()
        for state in self._states:
            state.close()
        self._gather.close()

    def _owner_of(self, docid: str) -> ShardState:
        return self._states[self._owner(docid)]

    def _owner(self, docid: str) -> int:
        return owner(docid, len(self._states))

    def _ask_owners(
        self, places: Sequence[Place], ask: Callable[[ShardState, list[Place]], T]
    ) -> dict[int, T]:
        """Ask each shard about those of the passages that it owns; return the answers by shard
        number.
        """
        owned: dict[int, list[Place]] = defaultdict(list)
        for place in places:
            owned[self._owner(place[0])].append(place)
        calls = [partial(ask, self._states[number], some) for number, some in owned.items()]
        return dict(zip(owned, self._gather(calls, every=True), strict=True))

    def _in_order(
        self, places: Sequence[Place], ask: Callable[[ShardState, list[Place]], Sequence[T]]
    ) -> list[T]:
        """Return one answer for each passage, from the shard that owns it, in the order of
        ``places``.
        """
        answers = {number: iter(some) for number, some in self._ask_owners(places, ask).items()}
        return [next(answers[self._owner(docid)]) for docid, _ in places]


def _count_impacts(ask: AskShards, view: str, terms: NDArray[np.int32]) -> TermCounts:
    return joined_term_counts(ask(lambda state: state.count_impacts(view, terms)))


def _analyzer(heap: str, manifest: Manifest) -> Analyzer:
    start(heap)
    return Analyzer(manifest.analysis, parts=manifest.has_parts)


def _merged_facets(
    parts: Sequence[FacetCounts], most: int, admitted: Container[str]
) -> FacetCounts:
    """Add up the counts of all shards; return the ``most`` most frequent values, then the other
    ``admitted`` values.
    """
    counts: Counter[str] = Counter()
    for part in parts:
        counts.update(dict(part.values))
    there = sorted(
        (value for value in counts if counts[value]), key=lambda value: (-counts[value], value)
    )
    first = there[:most]
    beside = sorted(value for value in counts if value in admitted and value not in first)
    values = [(value, counts[value]) for value in (*first, *beside)]
    return FacetCounts(values, len(there) - len(first), sum(part.missing for part in parts))
