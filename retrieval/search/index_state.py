"""What an open index needs of the state that it reads: of one folder, or of several shards."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from ...core.domain import Document, FacetCounts, Filter, Passage, Total
from ..config import BM25Settings, Config
from ..dense.vectors import Vectors
from ..lucene.analysis import Analyzer
from ..lucene.spelling import WordNearby
from ..sparse.impacts import TermCounts
from ..sparse.queries import QueryWeights
from ..store.documents import Addition, Place, ShortField, Stored
from ..store.manifest import Manifest
from ..store.signatures import Signatures
from .collection_statistics import FieldStatistics, Term, TermCount
from .options import CountQuery, ReadNote, ShardHealth
from .prepared_query import PreparedQuery

if TYPE_CHECKING:
    from ..encoders.encoder import Encoder
    from ..retrievers import Rankings, Retriever


class ShardState(Protocol):
    """What a coordinator of shards needs of the state of one shard, here or in another process."""

    def rankings(self, names: Sequence[str], config: Config) -> Rankings:
        """Return the rankings of these names, made together with these settings."""

    def count(self, question: CountQuery) -> Total:
        """Return how many documents, or passages if passages are ranked, can be found."""

    def facets(self, question: CountQuery, fields: Mapping[str, int]) -> dict[str, FacetCounts]:
        """Count the documents by the values of each field, without the filter's condition on that
        field.
        """

    def count_undated(self, where: Filter) -> int:
        """Return how many documents a date bound excludes because they have no date."""

    def document(self, docid: str) -> Document:
        """Return the document of this docid. Raises NotFoundError if there is none."""

    def addition(self, docid: str) -> Addition:
        """Return when and how this document was added. Raises NotFoundError if there is none."""

    def documents(self, where: Filter | None = None) -> Iterator[Document]:
        """Yield the documents that can be found and pass the filter, ignoring its conditions on
        words.
        """

    def docids(self) -> Iterator[str]:
        """Yield the docid of each passage."""

    def passages_of(self, docids: Sequence[str]) -> dict[str, list[Passage]]:
        """Return the passages of each of these documents, in order. Raises NotFoundError if there
        is no such document.
        """

    def read_passages(self, places: Iterable[Place], note: ReadNote) -> dict[Place, Stored]:
        """Return passages by docid and number; ``note`` receives each passage."""

    def document_values(self, places: Sequence[Place], field: ShortField) -> list[str]:
        """Return a field of the document of each passage, in the order of the passages."""

    def field_statistics(self) -> Sequence[FieldStatistics]:
        """Return the statistics of the searched text fields."""

    def term_counts(self, terms: Sequence[Term]) -> list[TermCount]:
        """Return, for each term, the number of passages that contain it and the number of its
        occurrences.
        """

    def term_weights(
        self, query: PreparedQuery, places: Sequence[Place], weights: BM25Settings
    ) -> list[dict[str, float]]:
        """Return, for each passage, the terms of a query that it contains, each with its part of
        the score.
        """

    def find_unwritten(self, words: Sequence[str]) -> list[str]:
        """Return those of the lower-case ``words`` of which the index contains no form."""

    def find_unbegun(self, beginnings: Sequence[str]) -> list[str]:
        """Return those of the lower-case ``beginnings`` with which no word of the index begins."""

    def words_near(self, word: str, edits: int) -> Sequence[WordNearby]:
        """Return the words of the index within ``edits`` edits of a word."""

    def has_word(self, word: str, where: Filter | None) -> bool:
        """Return whether a passage of a document that passes the filter contains a word."""

    def signatures(self, places: Sequence[Place]) -> Signatures:
        """Return the signatures of passages, in their order."""

    def near_copies(
        self, signatures: Signatures, most: int, where: Filter | None
    ) -> list[set[str]]:
        """Return, for each signature, the docids of its near-duplicates under a filter: those with
        at most ``most`` disagreements.
        """

    def passage_vectors(self, places: Sequence[Place], view: str) -> Vectors:
        """Return the vectors of passages in a view, in their order, shape (places, dimension)."""

    def document_vector(self, docid: str, view: str) -> Vectors:
        """Return the mean direction of a document's vectors in a view."""

    def count_impacts(self, view: str, terms: NDArray[np.int32]) -> TermCounts:
        """Return the number of passages, and of those with each term of a view of impacts."""

    def impacts_of(
        self, query: PreparedQuery, places: Sequence[Place], view: str
    ) -> list[list[tuple[int, float]]]:
        """Return, for each passage, the terms of a query that it has in a view of impacts, each
        with its part of the score.
        """

    def noise_similarities(self, view: str) -> list[float]:
        """Return the cosine of the nearest passage in a view to each random query."""

    def shards(self) -> Sequence[ShardHealth]:
        """Return the shards that other processes serve; none if this process reads the index
        itself.
        """

    def close(self) -> None:
        """Close what is open; a second call does nothing."""


class IndexState(ShardState, Protocol):
    """One published state of an index that stays open."""

    @property
    def folder(self) -> Path:
        """The folder of the index."""

    @property
    def manifest(self) -> Manifest:
        """The manifest of the state; an index in shards has one manifest of all together."""

    @property
    def terms(self) -> Analyzer:
        """The analyzer, opened on first use."""

    def encoder_of(self, view: str) -> Encoder:
        """Return the encoder of a view's vectors. Raises IndexStateError if there is none."""

    def query_weights(self, view: str) -> QueryWeights:
        """Return what weighs the terms of queries for a view of impacts. Raises IndexStateError if
        there is none.
        """

    def ranking(self, name: str, config: Config) -> Retriever:
        """Return the retriever of this name with these settings."""

    def missing_since(self, moment: float) -> Sequence[str]:
        """Return the names of the parts that failed to answer since a moment of
        :func:`time.monotonic`.
        """
