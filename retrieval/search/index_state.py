"""The state of an index that a search reads: one folder, or shards that answer together.

:class:`factseek.retrieval.search.index.Index` resolves searches and composes answers. It uses this state for everything
that needs the index files.
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

ReadNote = Callable[[Document, Span], object]  # a callback that receives each passage as it is read


class CountQuery(NamedTuple):
    """A count request, its text after the profile; ``typed`` is the part of the filter that comes from the query."""

    text: str
    resolved: ResolvedSearch
    where: Filter | None
    typed: Filter | None = None


class IndexState(Protocol):
    """One published state of an index, held open. It is safe for threads; do not use it after a fork.

    A method raises NotFoundError if a document or passage that it names does not exist, and IndexStateError if the
    index is damaged.
    """

    folder: Path
    manifest: Manifest
    """The manifest of the published state."""

    @property
    def terms(self) -> Analyzer:
        """The analyzer."""

    def encoder_of(self, view: str) -> Encoder:
        """Return the encoder of a view's vectors. Raises IndexStateError if there is none, or if it has changed."""

    def noise_similarities(self, view: str) -> list[float]:
        """Return, for each meaningless query, the cosine of the nearest passage in a view of vectors."""

    def ranking(self, name: str, config: Config) -> Retriever:
        """Return the retriever of this name with these settings."""

    def rankings(self, names: Sequence[str], config: Config) -> Rankings:
        """Return the rankings of these names, made together with these settings."""

    def count(self, question: CountQuery) -> Total:
        """Return how many documents, or passages if passages are ranked, can be found."""

    def facets(self, question: CountQuery, fields: Mapping[str, int]) -> dict[str, FacetCounts]:
        """Count the documents by the values of each field."""

    def undated(self, where: Filter) -> int:
        """Return how many documents a date bound excludes because they have no date, whatever their words."""

    def stored(self, places: Iterable[Place], note: ReadNote) -> dict[Place, Stored]:
        """Return passages by docid and passage number, all read together; ``note`` receives each of them."""

    def document(self, docid: str) -> Document:
        """Return the document of this docid."""

    def passages(self, docid: str) -> list[Passage]:
        """Return the passages of the document of this docid, in order."""

    def documents(self, where: Filter | None = None) -> Iterator[Document]:
        """Yield the documents that can be found, or those that pass the filter, ignoring its conditions on words."""

    def docids(self) -> Iterator[str]:
        """Yield the docid of each passage, including deleted passages that no merge has removed yet."""

    def field_statistics(self) -> Sequence[FieldStatistics]:
        """Return the statistics of the searched text fields."""

    def term_counts(self, terms: Sequence[Term]) -> list[TermCount]:
        """Return, for each term, the number of passages that contain it and the number of its occurrences."""

    def term_weights(self, text: str, places: Sequence[Place], weights: Weights) -> list[dict[str, float]]:
        """Return, for each passage, the terms of a text that it contains, each with its part of the score."""

    def unwritten(self, words: Sequence[str]) -> list[str]:
        """Return those of ``words``, in lower case, of which the index contains no form."""

    def words_near(self, word: str, edits: int) -> Sequence[WordNearby]:
        """Return the words of the index within ``edits`` edits of a word."""

    def has_word(self, word: str, where: Filter | None) -> bool:
        """Return whether a passage of a document that passes the filter contains a word."""

    def signatures(self, places: Sequence[Place]) -> Signatures:
        """Return the signatures of passages, in their order."""

    def near_copies(self, signatures: Signatures, most: int, where: Filter | None) -> list[set[str]]:
        """Return, for each signature, the documents under a filter that differ from it in at most ``most`` orders."""

    def passage_vectors(self, places: Sequence[Place], view: str) -> Vectors:
        """Return the vectors of passages in a view, in their order, shape (places, dimension)."""

    def document_vector(self, docid: str, view: str) -> Vectors:
        """Return the mean direction of a document's vectors in a view."""

    def missing_since(self, moment: float) -> Sequence[str]:
        """Return the names of the parts that failed to answer since a moment of :func:`time.monotonic`."""

    def shards(self) -> Sequence[ShardState]:
        """Return the shards that other processes serve; none if this process reads the index itself."""

    def close(self) -> None:
        """Close the files; a second call does nothing."""


class ReplicaState(NamedTuple):
    """A replica of a shard: its node, ``""`` if unknown, and whether it answered the last request."""

    node: str
    state: Literal["answers", "lost", "unasked"]


class ShardState(NamedTuple):
    """A shard: its name, the id of the generation in use, and its replicas."""

    name: str
    generation: str
    replicas: Sequence[ReplicaState]
