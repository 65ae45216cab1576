"""The state of an index of one folder: a snapshot of its live segments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path

from .. import retrievers
from ..collection_statistics import FieldStatistics, Term, TermCount
from ..config import Config
from ..documents import Place, Stored
from ..domain import Document, FacetCounts, Filter, Passage, Total
from ..encoder import Encoder
from ..index_state import Question, ReadNote
from ..live.snapshot import Snapshot
from ..lucene.analysis import Analyzer
from ..lucene.index import PassageSearcher, Weights
from ..lucene.spelling import WordNearby
from ..manifest import LUCENE, SIGNATURES, WORDS, Manifest
from ..retriever import Rankings, Retriever
from ..shard_states import ShardState
from ..signatures import Signatures
from ..vectors import VectorIndex, Vectors, mean_direction
from ..views.words import WordIndex
from .hit_counter import HitCounter

REMEMBERED = 20_000
"""Words of queries of which it is remembered whether they are written anywhere."""
REMEMBERED_NEAR = 1_000
"""Misspelt words of queries of which it is remembered what is written like them: some hundred bytes each."""


class LocalState:
    """A :class:`factseek.retrieval.index_state.IndexState` over a snapshot, which it closes."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        # Of the snapshot, not of this object: a circle would keep what a closed index held until it is collected.
        self._counter = HitCounter(snapshot, partial(_ranking, snapshot))
        # A name that is in the news and not in the index comes with many queries.
        self._is_unwritten = lru_cache(maxsize=REMEMBERED)(partial(_is_unwritten, snapshot))
        self._is_held = lru_cache(maxsize=REMEMBERED)(partial(_is_held, snapshot))
        self._near = lru_cache(maxsize=REMEMBERED_NEAR)(partial(_near, snapshot))

    @property
    def folder(self) -> Path:
        """The folder of the index."""
        return self._snapshot.folder

    @property
    def manifest(self) -> Manifest:
        """What was published."""
        return self._snapshot.manifest

    @property
    def terms(self) -> Analyzer:
        """The analyzer, opened when it is first needed."""
        return self._snapshot.terms

    def encoder_of(self, view: str) -> Encoder:
        """Return the encoder that made the vectors of a view."""
        return self._snapshot.encoder_of(view)

    def chance_cosines(self, view: str) -> list[float]:
        """Return the cosine of the nearest passage of a view of vectors to each query that means nothing."""
        return self._snapshot.chance_cosines(view)

    def ranking(self, name: str, config: Config) -> Retriever:
        """Return the retriever of a name with these settings."""
        return _ranking(self._snapshot, name, config)

    def rankings(self, names: Sequence[str], config: Config) -> Rankings:
        """Return the rankings of several names, made together with these settings."""
        return retrievers.side_by_side({name: _ranking(self._snapshot, name, config) for name in names})

    def count(self, question: Question) -> Total:
        """Return how many documents, or passages where these are ranked, can be found."""
        return self._counter.count(question)

    def facets(self, question: Question, fields: Mapping[str, int]) -> dict[str, FacetCounts]:
        """Count the documents by the values of each field."""
        return self._counter.facets(question, fields)

    def undated(self, where: Filter) -> int:
        """Return how many documents a date bound leaves out because they have no date."""
        return self._snapshot.undated(where)

    def stored(self, places: Iterable[Place], note: ReadNote) -> dict[Place, Stored]:
        """Return passages by document and number."""
        return self._snapshot.stored(places, note)

    def document(self, docid: str) -> Document:
        """Return the document of this id."""
        return self._snapshot.document(docid)[1]

    def passages(self, docid: str) -> list[Passage]:
        """Return the passages of the document of this id, in order."""
        return self._snapshot.passages(docid)

    def documents(self, where: Filter | None = None, after: str | None = None) -> Iterator[Document]:
        """Yield the documents that can be found; those that pass a filter, whatever it asks of words.

        With ``after`` they begin behind the document of this id.
        """
        return self._snapshot.documents(where, after)

    def docids(self) -> Iterator[str]:
        """Yield the docid of each passage."""
        return iter(self._snapshot.rows.docids)

    def field_statistics(self) -> Sequence[FieldStatistics]:
        """Return the statistics of the fields that words are searched in."""
        return self._lucene.field_statistics()

    def term_counts(self, terms: Sequence[Term]) -> list[TermCount]:
        """Return in how many passages terms stand, and how often."""
        return self._lucene.term_counts(terms)

    def term_weights(self, text: str, places: Sequence[Place], weights: Weights) -> list[dict[str, float]]:
        """Return, of passages, the terms of a text that they hold, each with what it adds to the score."""
        return self._lucene.term_weights(text, self._rows(places), weights)

    def unwritten(self, words: Sequence[str]) -> list[str]:
        """Return those of some words that are nowhere in the index, nor a form of them."""
        return list(filter(self._is_unwritten, words))

    def words_near(self, word: str, edits: int) -> Sequence[WordNearby]:
        """Return the words of the index that are at most so many edits away."""
        return self._near(word, edits)

    def has_word(self, word: str, where: Filter | None) -> bool:
        """Return whether a passage under a filter of documents holds a word."""
        keep = self._snapshot.mask(where.of_documents if where else None)
        if keep is None:
            return self._is_held(word)
        return bool((self._lucene.having_words(word) & keep).any())

    def signatures(self, places: Sequence[Place]) -> Signatures:
        """Return the signatures of passages, in their order."""
        signatures: Signatures = self._snapshot.view(SIGNATURES).of_rows(self._rows(places))
        return signatures

    def near_copies(self, signatures: Signatures, most: int, where: Filter | None) -> list[set[str]]:
        """Return, of each signature, the documents under a filter that disagree with it in few orders."""
        keep, docids = self._snapshot.mask(where), self._snapshot.rows.docids
        near = self._snapshot.view(SIGNATURES).near
        return [{docids[row] for row in near(signature, most, keep)} for signature in signatures]

    def passage_vectors(self, places: Sequence[Place], view: str) -> Vectors:
        """Return the vectors of passages in a view, in their order."""
        vectors: VectorIndex = self._snapshot.view(view)
        return vectors.of_places(self._rows(places))

    def document_vector(self, docid: str, view: str) -> Vectors:
        """Return the mean direction of a document's vectors in a view."""
        self._snapshot.document(docid)
        return mean_direction(self._snapshot.view(view).of_rows(self._snapshot.rows_of(docid)))

    def missing_since(self, moment: float) -> Sequence[str]:
        """Return nothing: a folder answers as a whole or not at all."""
        return ()

    def shards(self) -> Sequence[ShardState]:
        """Return nothing: this process reads the index itself."""
        return ()

    def close(self) -> None:
        """Close the snapshot."""
        self._snapshot.close()

    @property
    def _lucene(self) -> PassageSearcher:
        searcher: PassageSearcher = self._snapshot.view(LUCENE)
        return searcher

    def _rows(self, places: Sequence[Place]) -> list[int]:
        return [self._snapshot.row_of(*place) for place in places]


def _is_unwritten(snapshot: Snapshot, word: str) -> bool:
    """Return whether a word is nowhere in the index, nor a form of it, though it is a word to the analyzer."""
    words: WordIndex = snapshot.view(WORDS)
    return not words.holds(word) and not _is_held(snapshot, word) and bool(snapshot.terms(word))


def _is_held(snapshot: Snapshot, word: str) -> bool:
    """Return whether a passage, or a deleted one, holds a form of a word."""
    searcher: PassageSearcher = snapshot.view(LUCENE)
    return searcher.holds(word)


def _near(snapshot: Snapshot, word: str, edits: int) -> tuple[WordNearby, ...]:
    words: WordIndex = snapshot.view(WORDS)
    return tuple(words.near(word, edits))


def _ranking(snapshot: Snapshot, name: str, config: Config) -> Retriever:
    return retrievers.kind(name).open(name, snapshot, config, group=config.search.group)
