"""The state of an index that a search reads: of one folder, or of shards that answer as one.

:class:`factseek.retrieval.search.index.Index` makes every choice and puts every answer together; what it cannot know
without reading the index it asks here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

from ..config import Config
from ..dense.encoder import Encoder
from ..dense.vectors import Vectors
from ..domain import Document, FacetCounts, Filter, Passage, Span, Total
from ..lucene.analysis import Analyzer
from ..lucene.index import Weights
from ..lucene.spelling import WordNearby
from ..store.documents import Place, Stored
from ..store.manifest import Manifest
from ..store.signatures import Signatures
from .collection_statistics import FieldStatistics, Term, TermCount
from .options import ResolvedSearch
from .retriever import Rankings, Retriever

ReadNote = Callable[[Document, Span], object]
"""Whoever wants to see each passage as it is read."""


class CountQuery(NamedTuple):
    """What is counted: a text as its profile left it, with the choices and the filter of its search.

    ``typed`` is the part of the filter that the query itself asks for.
    """

    text: str
    resolved: ResolvedSearch
    where: Filter | None
    typed: Filter | None = None


class IndexState(Protocol):
    """One published state of an index, held open. Safe for threads; not to be forked.

    Whatever reads it raises IndexStateError if it turns out to be damaged.
    """

    @property
    def folder(self) -> Path:
        """The folder of the index."""
        ...

    @property
    def manifest(self) -> Manifest:
        """What was published."""
        ...

    @property
    def terms(self) -> Analyzer:
        """The analyzer."""
        ...

    def encoder_of(self, view: str) -> Encoder:
        """Return the encoder that made the vectors of a view.

        Raises IndexStateError if there are none, or it is not found as it was, MachineError if it is not on this
        machine.
        """
        ...

    def noise_similarities(self, view: str) -> list[float]:
        """Return the cosine of the nearest passage of a view of vectors to each query that means nothing."""
        ...

    def ranking(self, name: str, config: Config) -> Retriever:
        """Return the retriever of a name with these settings."""
        ...

    def rankings(self, names: Sequence[str], config: Config) -> Rankings:
        """Return the rankings of several names, made together with these settings."""
        ...

    def count(self, question: CountQuery) -> Total:
        """Return how many documents, or passages where these are ranked, can be found."""
        ...

    def facets(self, question: CountQuery, fields: Mapping[str, int]) -> dict[str, FacetCounts]:
        """Count the documents by the values of each field."""
        ...

    def undated(self, where: Filter) -> int:
        """Return how many documents a date bound leaves out because they have no date, whatever their words."""
        ...

    def stored(self, places: Iterable[Place], note: ReadNote) -> dict[Place, Stored]:
        """Return passages by document and number, all read at once; each is shown to ``note``.

        Raises NotFoundError if one is not there.
        """
        ...

    def document(self, docid: str) -> Document:
        """Return the document of this id.

        Raises NotFoundError if there is none.
        """
        ...

    def passages(self, docid: str) -> list[Passage]:
        """Return the passages of the document of this id, in order.

        Raises NotFoundError if there is none.
        """
        ...

    def documents(self, where: Filter | None = None) -> Iterator[Document]:
        """Yield the documents that can be found; those that pass a filter, whatever it asks of words."""
        ...

    def docids(self) -> Iterator[str]:
        """Yield the docid of each passage, also of those that are deleted but not yet merged away."""
        ...

    def field_statistics(self) -> Sequence[FieldStatistics]:
        """Return the statistics of the fields that words are searched in."""
        ...

    def term_counts(self, terms: Sequence[Term]) -> list[TermCount]:
        """Return in how many passages terms stand, and how often."""
        ...

    def term_weights(self, text: str, places: Sequence[Place], weights: Weights) -> list[dict[str, float]]:
        """Return, of passages, the terms of a text that they hold, each with what it adds to the score.

        Raises NotFoundError if a passage is not there.
        """
        ...

    def unwritten(self, words: Sequence[str]) -> list[str]:
        """Return those of some words, in lower case, that are nowhere in the index, nor a form of them."""
        ...

    def words_near(self, word: str, edits: int) -> Sequence[WordNearby]:
        """Return the words of the index that are at most so many edits away."""
        ...

    def has_word(self, word: str, where: Filter | None) -> bool:
        """Return whether a passage under a filter of documents holds a word."""
        ...

    def signatures(self, places: Sequence[Place]) -> Signatures:
        """Return the signatures of passages, in their order.

        Raises NotFoundError if one is not there.
        """
        ...

    def near_copies(self, signatures: Signatures, most: int, where: Filter | None) -> list[set[str]]:
        """Return, of each signature, the documents under a filter that disagree with it in at most ``most`` orders."""
        ...

    def passage_vectors(self, places: Sequence[Place], view: str) -> Vectors:
        """Return the vectors of passages in a view, in their order, shape (places, dimension).

        Raises NotFoundError if one is not there.
        """
        ...

    def document_vector(self, docid: str, view: str) -> Vectors:
        """Return the mean direction of a document's vectors in a view.

        Raises NotFoundError if there is no such document.
        """
        ...

    def missing_since(self, moment: float) -> Sequence[str]:
        """Return the names of the parts that did not answer since a moment of :func:`time.monotonic`."""
        ...

    def shards(self) -> Sequence[ShardState]:
        """Return the shards that other processes answer for; none if this one reads the index itself."""
        ...

    def close(self) -> None:
        """Close what was opened; calling it again does nothing."""
        ...


class ReplicaState(NamedTuple):
    """A replica of a shard: the node that it is on, ``""`` if nobody knows, and whether it answered when last asked."""

    node: str
    state: Literal["answers", "lost", "unasked"]


class ShardState(NamedTuple):
    """A shard: its name, the id of the generation that is read, and its replicas."""

    name: str
    generation: str
    replicas: Sequence[ReplicaState]
