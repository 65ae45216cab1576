"""The state of a sharded index: the states of its shards, asked together and answered as one.

What is asked of all passages is asked of every shard; what is asked of a document, of the shard that owns it. Nothing
that is answered says how many shards there are.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Protocol, TypeVar

import numpy as np

from .. import retrievers
from ..collection_statistics import FieldStatistics, Term, TermCount
from ..config import Config
from ..documents import Place, Stored
from ..domain import Document, FacetCounts, Filter, Passage, Total
from ..encoder import Encoder
from ..index_state import IndexState, Question, ReadNote
from ..live.snapshot import IndexEncoders, fitting_encoder
from ..lucene.analysis import Analyzer
from ..lucene.index import Weights
from ..lucene.jvm import start
from ..lucene.spelling import WordNearby
from ..manifest import Manifest
from ..retriever import Rankings, Retriever
from ..shard_states import ShardState
from ..shards.layout import Shards, owner
from ..signatures import WORDS, Signatures
from ..vectors import Vectors
from .collection_terms import CollectionTerms
from .facet_merging import EVERY_VALUE, merged_facets
from .sharded_ranking import ShardedRanking, ShardedRankings

T = TypeVar("T")


class Gather(Protocol):
    """Whoever makes several calls, one after the other or side by side."""

    elsewhere: bool
    """Whether other processes answer: then several things are better asked in one call."""

    def __call__(self, calls: Sequence[Callable[[], T]], *, every: bool) -> list[T]:
        """Return the results of the calls, in their order.

        Those of shards that cannot be reached may be left out, and noted, unless ``every`` one is needed.
        """
        ...

    def lost_since(self, moment: float) -> Sequence[str]:
        """Return the names of the shards that did not answer since a moment of :func:`time.monotonic`."""
        ...


class InTurn:
    """Makes calls one after the other; no shard is ever out of reach."""

    elsewhere = False

    def __call__(self, calls: Sequence[Callable[[], T]], *, every: bool) -> list[T]:
        """Return the results of the calls, in their order."""
        return [call() for call in calls]

    def lost_since(self, moment: float) -> Sequence[str]:
        """Return nothing."""
        return ()


def _nothing() -> None:
    """Close nothing."""


class _Asking:
    """Asks every shard the same."""

    def __init__(self, states: Sequence[IndexState], gather: Gather) -> None:
        self._states = states
        self._gather = gather

    def __call__(self, asked: Callable[[IndexState], T]) -> list[T]:
        return self._gather([partial(asked, state) for state in self._states], every=False)


class _Analyzer:
    """The analyzer of the index, opened when it is first needed."""

    def __init__(self, config: Config, name: str) -> None:
        self._heap = config.java.heap
        self._name = name
        self._opening = threading.Lock()
        self._terms: Analyzer | None = None

    def __call__(self) -> Analyzer:
        with self._opening:
            if self._terms is None:
                start(self._heap)
                self._terms = Analyzer(self._name)
            return self._terms

    def close(self) -> None:
        with self._opening:
            self._terms = None


class ShardedState:
    """A :class:`factseek.retrieval.index_state.IndexState` over those of shards, which it closes."""

    def __init__(
        self,
        folder: Path,
        shards: Shards,
        states: Sequence[IndexState],
        config: Config,
        encoders: IndexEncoders,
        *,
        gather: Gather | None = None,
        closing: Callable[[], object] = _nothing,
    ) -> None:
        """Answer for ``shards``, whose states are open in their order; ``encoders`` opens the encoders of the index.

        ``gather`` makes the calls to several shards; ``closing`` is called when the index is closed.
        """
        self._gather = gather or InTurn()
        self._closing = closing
        self.folder = folder
        self.manifest: Manifest = shards.merged
        self._states = states
        self._encoders = encoders
        self._analyzer = _Analyzer(config, self.manifest.analyzer)
        # None of them knows this object: a circle would keep what a closed index held until it is collected.
        self._ask = _Asking(states, self._gather)
        self.collection = CollectionTerms(self.manifest.id, len(states), self._analyzer, self._ask)

    @property
    def terms(self) -> Analyzer:
        """The analyzer, opened when it is first needed."""
        return self._analyzer()

    def encoder_of(self, view: str) -> Encoder:
        """Return the encoder that made the vectors of a view."""
        return fitting_encoder(self.manifest, view, self._encoders, self.folder)

    def chance_cosines(self, view: str) -> list[float]:
        """Return the cosine of the nearest passage of a view of vectors to each query that means nothing."""
        calls = [partial(state.chance_cosines, view) for state in self._states]
        of_shards = self._gather(calls, every=True)  # it is remembered
        return list(map(max, zip(*filter(None, of_shards), strict=True)))

    def ranking(self, name: str, config: Config) -> Retriever:
        """Return the retriever of a name with these settings."""
        fusing = retrievers.fusing(name)
        if fusing is None:
            return ShardedRanking(name, config, self, self._ask)
        return fusing.fused(self.rankings(fusing.rankings(name, config), config), config, group=config.search.group)

    def rankings(self, names: Sequence[str], config: Config) -> Rankings:
        """Return the rankings of several names, made together with these settings."""
        if self._gather.elsewhere and not any(map(retrievers.fusing, names)):
            return ShardedRankings(names, config, self, self._ask)
        return retrievers.side_by_side({name: self.ranking(name, config) for name in names})

    def count(self, question: Question) -> Total:
        """Return how many documents, or passages where these are ranked, can be found."""
        totals = self._ask(lambda state: state.count(question))
        return Total(sum(total.hits for total in totals), any(total.matching for total in totals))

    def facets(self, question: Question, fields: Mapping[str, int]) -> dict[str, FacetCounts]:
        """Count the documents by the values of each field."""
        everything = dict.fromkeys(fields, EVERY_VALUE)
        of_shards = self._ask(lambda state: state.facets(question, everything))
        admitted = dict(question.where.values()) if question.where is not None else {}
        return {
            field: merged_facets([facets[field] for facets in of_shards], most, admitted.get(field, ()))
            for field, most in fields.items()
        }

    def undated(self, where: Filter) -> int:
        """Return how many documents a date bound leaves out because they have no date."""
        return sum(self._ask(lambda state: state.undated(where)))

    def stored(self, places: Iterable[Place], note: ReadNote) -> dict[Place, Stored]:
        """Return passages by document and number."""
        stored: dict[Place, Stored] = {}
        for of_shard in self._ask_owners(list(places), lambda state, some: state.stored(some, note)).values():
            stored.update(of_shard)
        return stored

    def document(self, docid: str) -> Document:
        """Return the document of this id."""
        return self._owner(docid).document(docid)

    def passages(self, docid: str) -> list[Passage]:
        """Return the passages of the document of this id, in order."""
        return self._owner(docid).passages(docid)

    def documents(self, where: Filter | None = None) -> Iterator[Document]:
        """Yield the documents that can be found, or pass a filter, shard by shard."""
        return chain.from_iterable(state.documents(where) for state in self._states)

    def docids(self) -> Iterator[str]:
        """Yield the docid of each passage, shard by shard."""
        return chain.from_iterable(state.docids() for state in self._states)

    def field_statistics(self) -> Sequence[FieldStatistics]:
        """Return the statistics of the fields that words are searched in, over all shards."""
        return self.collection.fields

    def term_counts(self, terms: Sequence[Term]) -> list[TermCount]:
        """Return in how many passages of all shards terms stand, and how often."""
        return self.collection.counts(terms)

    def term_weights(self, text: str, places: Sequence[Place], weights: Weights) -> list[dict[str, float]]:
        """Return, of passages, the terms of a text that they hold, each with what it adds to the score."""
        query = self.collection.query(text, {})
        return self._in_order(places, lambda state, some: state.term_weights(query, some, weights))

    def unwritten(self, words: Sequence[str]) -> list[str]:
        """Return those of some words that are nowhere in the index, nor a form of them."""
        missing = [set(of_shard) for of_shard in self._ask(lambda state: state.unwritten(words))]
        return [word for word in words if all(word in of_shard for of_shard in missing)]

    def words_near(self, word: str, edits: int) -> Sequence[WordNearby]:
        """Return the words of the index that are at most so many edits away, from each shard that has them."""
        return list(chain.from_iterable(self._ask(lambda state: state.words_near(word, edits))))

    def has_word(self, word: str, where: Filter | None) -> bool:
        """Return whether a passage under a filter of documents holds a word."""
        return any(self._ask(lambda state: state.has_word(word, where)))

    def signatures(self, places: Sequence[Place]) -> Signatures:
        """Return the signatures of passages, in their order."""
        ordered = self._in_order(places, lambda state, some: list(state.signatures(some)))
        return np.stack(ordered) if ordered else np.empty((0, WORDS), dtype="<u8")

    def near_copies(self, signatures: Signatures, most: int, where: Filter | None) -> list[set[str]]:
        """Return, of each signature, the documents under a filter that disagree with it in few orders."""
        of_shards = self._ask(lambda state: state.near_copies(signatures, most, where))
        return [set().union(*near) for near in zip(*of_shards, strict=True)]

    def passage_vectors(self, places: Sequence[Place], view: str) -> Vectors:
        """Return the vectors of passages in a view, in their order."""
        ordered = self._in_order(places, lambda state, some: list(state.passage_vectors(some, view)))
        return np.stack(ordered) if ordered else np.empty((0, 0), dtype=np.float32)

    def document_vector(self, docid: str, view: str) -> Vectors:
        """Return the mean direction of a document's vectors in a view."""
        return self._owner(docid).document_vector(docid, view)

    def missing_since(self, moment: float) -> Sequence[str]:
        """Return the names of the shards that did not answer since a moment of :func:`time.monotonic`."""
        return self._gather.lost_since(moment)

    def shards(self) -> Sequence[ShardState]:
        """Return the shards that other processes answer for."""
        return [shard for state in self._states for shard in state.shards()]

    def close(self) -> None:
        """Close the analyzer and the shards."""
        self._analyzer.close()
        for state in self._states:
            state.close()
        self._closing()

    def _ask_owners(self, places: Sequence[Place], asked: Callable[[IndexState, list[Place]], T]) -> dict[int, T]:
        """Return by its number what each shard answers that owns some of the documents, about these."""
        owned: dict[int, list[Place]] = defaultdict(list)
        for place in places:
            owned[owner(place[0], len(self._states))].append(place)
        calls = [partial(asked, self._states[number], some) for number, some in owned.items()]
        answers = self._gather(calls, every=True)
        return dict(zip(owned, answers, strict=True))

    def _in_order(self, places: Sequence[Place], asked: Callable[[IndexState, list[Place]], Sequence[T]]) -> list[T]:
        """Return what the shards answer of passages that they own, one answer each, in the order of the passages."""
        answers = {number: iter(some) for number, some in self._ask_owners(places, asked).items()}
        return [next(answers[owner(docid, len(self._states))]) for docid, _ in places]

    def _owner(self, docid: str) -> IndexState:
        return self._states[owner(docid, len(self._states))]
