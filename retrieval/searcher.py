"""The interface of an open index: of the local one, and of any other that answers the same.

No package but ``retrieval`` and ``indexer`` uses more of an index than :class:`Searcher`: :class:`IndexInfo` describes
the index, :class:`Search` the options of a search.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Protocol, Self

from .config import BM25Settings, Config, FusionSettings
from .domain import Columns, Document, DocumentQuery, FacetCounts, Filter, Hit, Passage, Total
from .encoder import Encoder
from .errors import PartMissingError
from .evidence import Evidence
from .limit import Limit
from .lucene.analysis import TermCache
from .manifest import VECTORS, EncoderInfo, Manifest
from .profile import PROFILES, has_words
from .re_ranker import ReRanker
from .shard_states import ShardState
from .vectors import Vectors


class Search(NamedTuple):
    """The options of a search; ``None`` leaves a choice to the configuration.

    ``stages`` reorder or thin the ranking, in their order; ``collapse="near"`` then folds near-copies, and
    ``sort="date"`` puts the newest of the first hits first.
    ``limit`` is the time that this one search has, and notes what was cut off. ``offset`` leaves out the first hits:
    the ``k`` hits after them are those of a longer list. ``typed`` is the part of ``where`` that the query itself asks
    for: no facet is counted without it.
    """

    k: int | None = None
    retriever: str | None = None
    where: Filter | None = None
    fusion: FusionSettings | None = None
    profile: str | None = None
    group: bool | None = None
    limit: Limit | None = None
    bm25: BM25Settings | None = None
    stages: tuple[str, ...] | None = None
    collapse: str = ""
    sort: str = ""
    offset: int = 0
    typed: Filter | None = None


DEFAULT_SEARCH = Search()


class ResolvedSearch(NamedTuple):
    """A search as one index understands it: every choice that was left open is made.

    ``retriever`` is the one that answers, ``rankings`` what its hits come from (those that are fused, or the one),
    ``views`` what it reads of the index. ``settings`` are the index's, with what the search varies. ``approximate``
    says that an approximate index of vectors is asked: a few of the nearest passages may be missing, other segments or
    shards may miss others, and each score is exact all the same.
    """

    retriever: str
    rankings: tuple[str, ...]
    views: tuple[str, ...]
    settings: Config
    approximate: bool = False

    @property
    def encodes(self) -> bool:
        """Whether queries are encoded."""
        return reads_vectors(self.views)

    def text(self, query: str) -> str:
        """Return what is searched for: ``query`` as the profile leaves it, the words of a document as they are."""
        return str(query) if isinstance(query, DocumentQuery) else PROFILES[self.settings.search.profile](query)

    def has_words(self, query: str) -> bool:
        """Return whether a query holds anything to search for; a search refuses one that does not."""
        return has_words(self.text(query))


def reads_vectors(views: Iterable[str]) -> bool:
    """Return whether one of these views holds vectors: whoever reads it encodes queries."""
    return any(view.startswith(VECTORS) for view in views)


@dataclass(frozen=True, slots=True)
class IndexInfo:
    """The description of an open index: its folder, its manifest, and its retrievers, the default first."""

    place: Path
    published: Manifest
    retrievers: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.place.resolve().name

    @property
    def id(self) -> str:
        """The id of the manifest that it answers from."""
        return self.published.id

    @property
    def documents(self) -> int:
        """The number of documents, without the deleted ones."""
        return self.published.documents

    @property
    def passages(self) -> int:
        """The number of passages, without those of deleted documents."""
        return self.published.passages

    @property
    def language(self) -> str:
        """The ISO 639-1 code of its documents."""
        return self.published.language

    @property
    def encoder(self) -> EncoderInfo | None:
        """The encoder of its vectors, None if it has none."""
        return self.published.encoder

    @property
    def filter_fields(self) -> tuple[str, ...]:
        """The fields of the documents' metadata that can be filtered and counted."""
        return self.published.filter_fields

    @property
    def encoders(self) -> dict[str, EncoderInfo]:
        """The encoders of its vectors, by the name of their view."""
        return self.published.encoders

    @property
    def weighs_titles(self) -> bool:
        """Whether a match in the title may weigh other than one in the text."""
        return self.published.fields == "title_text"

    @property
    def kinds_of_sentences(self) -> frozenset[str]:
        """The kinds of source whose passages are sentences."""
        return frozenset(segment.kind for segment in self.published.segments if segment.of_sentences)


class Footprint(NamedTuple):
    """The size of what a retriever reads: bytes on disk, documents included, and the seconds of building it."""

    bytes: int
    seconds: float


class Searcher(Protocol):
    """An open index. It keeps the state that it opened until it is closed; it is safe for threads."""

    @property
    def info(self) -> IndexInfo:
        """The description of the index."""
        ...

    @property
    def settings(self) -> Config:
        """The settings that hold where a :class:`Search` says nothing."""
        ...

    @property
    def terms(self) -> TermCache:
        """The vocabulary of its analyzer: from a word to its terms."""
        ...

    @property
    def encoder(self) -> Encoder:
        """The encoder of its vectors.

        Raises IndexStateError if it has none, or it is not found as it was, MachineError if it is not on this machine.
        """
        ...

    @property
    def re_ranker(self) -> ReRanker:
        """The model that its stage ``rerank`` asks.

        Raises QueryError if none is configured, MachineError if it is not on this machine.
        """
        ...

    def search(self, queries: Sequence[str], asked: Search = DEFAULT_SEARCH) -> list[list[Hit]]:
        """Return the hits of each query, best first.

        Raises QueryError if a query has no words or is too long, ``k`` is out of range, or the index lacks what the
        retriever needs; CutOffError if nothing was found within the limit.
        """
        ...

    def columns(self, queries: Sequence[str], asked: Search = DEFAULT_SEARCH) -> list[Columns]:
        """Return the documents of what :meth:`search` returns, without a :class:`Hit` for each where that is faster.

        Raises what :meth:`search` raises.
        """
        ...

    def resolve(self, asked: Search = DEFAULT_SEARCH) -> ResolvedSearch:
        """Return a search with every choice made.

        Raises QueryError if there is no such profile or retriever, or the index lacks what the retriever needs.
        """
        ...

    def footprint(self, retriever: str) -> Footprint:
        """Return what a retriever needs of the index; the documents are counted for every one."""
        ...

    def count(self, query: str, asked: Search = DEFAULT_SEARCH) -> Total:
        """Return how many hits a search has in all, however many are asked for, before its stages.

        Raises what :meth:`search` raises.
        """
        ...

    def facets(self, query: str, fields: Mapping[str, int], asked: Search = DEFAULT_SEARCH) -> dict[str, FacetCounts]:
        """Count the documents of a search by their values in ``fields``, each with the most values that are wanted.

        They are the documents of :meth:`count`, and of each field those without the filter of that field, so that one
        sees what another choice would give; the values that the filter admits are always among them. ``year`` is that
        of ``since`` and ``as_of``. What was ``typed`` into the query is no choice, and holds for every field.

        Raises what :meth:`search` raises, and QueryError if there is no such field.
        """
        ...

    def word_weights(self, query: str, hits: Sequence[Hit], asked: Search = DEFAULT_SEARCH) -> list[dict[str, float]]:
        """Return of each hit the words of the query that its passage holds, with what BM25 counts each as.

        A word stands for all that the analyzer takes for the same. The weights add up to the score of ``bm25``.
        Raises QueryError if the query cannot be searched for, NotFoundError if a passage is not there.
        """
        ...

    def like(self, docid: str, asked: Search = DEFAULT_SEARCH) -> tuple[str, Search]:
        """Return a document of the index as a query, and the search ``asked`` with the filter that leaves it out.

        The query is the document's heaviest words, at most 25; what ranks by vectors takes the document's own. Given
        to the other methods with that search it finds more like it. With ``collapse`` near-copies of the document are
        left out as well.
        Raises NotFoundError if there is no such document.
        """
        ...

    def spellings(self, query: str, asked: Search = DEFAULT_SEARCH) -> Mapping[str, str]:
        """Return the words of a query that are nowhere in the index, each with the word of the index that is meant.

        They are none if the query would not match more with them, or no word is near enough. Nothing is searched for
        by them unless someone asks: :func:`factseek.retrieval.spelling.respelt` puts them into a query.
        """
        ...

    def evidence(
        self, query: str, hits: Sequence[Hit], asked: Search = DEFAULT_SEARCH, *, highlight: bool = True
    ) -> list[Evidence]:
        """Return what a person reads of the hits of ``query``.

        Raises NotFoundError if a passage is not there.
        """
        ...

    def evidences(
        self, ranked: Sequence[tuple[str, Sequence[Hit]]], asked: Search = DEFAULT_SEARCH, *, highlight: bool = True
    ) -> Iterator[list[Evidence]]:
        """Yield what a person reads of the hits of each query; what is stored of them is read at once for all.

        Raises NotFoundError if a passage is not there.
        """
        ...

    def document(self, docid: str) -> Document:
        """Return the document of this id.

        Raises NotFoundError if there is none.
        """
        ...

    def documents(self, where: Filter | None = None) -> Iterator[Document]:
        """Yield the documents that can be found; those that pass a filter, whatever it asks of words."""
        ...

    def passages(self, docid: str) -> list[Passage]:
        """Return the passages of the document of this id, in order.

        Raises NotFoundError if there is none.
        """
        ...

    def passage_vectors(self, hits: Sequence[Hit], view: str) -> Vectors:
        """Return the vectors of the passages of hits in a view of vectors, in their order, shape (hits, dimension).

        Raises IndexStateError if the index has no such view, NotFoundError if a passage is not there.
        """
        ...

    def note(self, query: str, asked: Search = DEFAULT_SEARCH) -> str:
        """Return what a reader of the hits of ``query`` should know, else ``""``."""
        ...

    def undated(self, asked: Search = DEFAULT_SEARCH) -> int:
        """Return how many documents a search leaves out because they have no date, whatever their words."""
        ...

    def missing_since(self, moment: float) -> Sequence[str]:
        """Return the names of the shards that did not answer since a moment of :func:`time.monotonic`.

        A search of that time may lack what they hold.
        """
        ...

    def shards(self) -> Sequence[ShardState]:
        """Return the shards that other processes answer for; none if this one reads the index itself."""
        ...

    def docids(self) -> Iterator[str]:
        """Yield the docid of each passage."""
        ...

    def close(self) -> None:
        """Close the index; calling it again does nothing."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def check_whole(index: Searcher, since: float) -> None:
    """Raise PartMissingError if a shard did not answer since a moment of :func:`time.monotonic`.

    It is for answers that have no place for a coverage.
    """
    missing = index.missing_since(since)
    if missing:
        raise PartMissingError(f"{', '.join(missing)} did not answer, and an answer from the rest would be in part")
