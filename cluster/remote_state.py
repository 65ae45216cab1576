"""The state of a shard that another process holds: every question goes to one of its replicas."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from ..retrieval.collection_statistics import FieldStatistics, Term, TermCount
from ..retrieval.config import Config
from ..retrieval.documents import Place, Stored
from ..retrieval.domain import Columns, Document, FacetCounts, Filter, Hit, Passage, Total
from ..retrieval.encoder import Encoder
from ..retrieval.errors import IndexStateError
from ..retrieval.index.local_state import LocalState
from ..retrieval.index_state import Question, ReadNote
from ..retrieval.limit import CutOffError, Limit
from ..retrieval.lucene.analysis import Analyzer
from ..retrieval.lucene.index import Weights
from ..retrieval.lucene.spelling import WordNearby
from ..retrieval.manifest import Manifest
from ..retrieval.retriever import Ranked, Rankings, Retriever
from ..retrieval.shard_states import ShardState
from ..retrieval.signatures import Signatures
from ..retrieval.vectors import Mask, Vectors
from .replicas import Replicas
from .wire import PackedSettings, RankingQuestion, unpacked_hits

GRACE_SECONDS = 0.5
"""Seconds after the limit of a search that its shards have to say that they were cut off."""
DOCUMENTS_AT_ONCE = 200
T = TypeVar("T")
Asked = ParamSpec("Asked")


class RemoteState:
    """A :class:`factseek.retrieval.index_state.IndexState` of a shard, which answers from another process."""

    def __init__(self, replicas: Replicas, folder: Path, manifest: Manifest, settings: PackedSettings) -> None:
        """Ask the replicas of a shard; ``settings`` packs those of searches, for all shards."""
        self._replicas = replicas
        self._settings = settings
        self.folder = folder
        self.manifest = manifest

    @property
    def terms(self) -> Analyzer:
        """The analyzer, which a shard leaves to whoever asks all shards."""
        raise IndexStateError("a shard lends nobody its analyzer", place=self.folder)

    def encoder_of(self, view: str) -> Encoder:
        """Return nothing: queries come to a shard with their vectors."""
        raise IndexStateError("a shard lends nobody its encoder", place=self.folder)

    def chance_cosines(self, view: str) -> list[float]:
        """Return the cosine of the nearest passage of a view of vectors to each query that means nothing."""
        return self._asked(LocalState.chance_cosines, view)

    def ranking(self, name: str, config: Config) -> Retriever:
        """Return the retriever of a name with these settings, which ranks where the shard is."""
        return RemoteRanking(_AskedRankings(self._replicas, (name,), self._settings(config)))

    def rankings(self, names: Sequence[str], config: Config) -> Rankings:
        """Return the rankings of several names, made together where the shard is."""
        return RemoteRankings(_AskedRankings(self._replicas, names, self._settings(config)))

    def count(self, question: Question) -> Total:
        """Return how many documents, or passages where these are ranked, can be found."""
        return self._asked(LocalState.count, question)

    def facets(self, question: Question, fields: Mapping[str, int]) -> dict[str, FacetCounts]:
        """Count the documents by the values of each field."""
        return self._asked(LocalState.facets, question, fields)

    def undated(self, where: Filter) -> int:
        """Return how many documents a date bound leaves out because they have no date."""
        return self._asked(LocalState.undated, where)

    def stored(self, places: Iterable[Place], note: ReadNote) -> dict[Place, Stored]:
        """Return passages by document and number; each is shown to ``note`` when all have come."""
        stored: dict[Place, Stored] = self._replicas.ask("stored", list(places))
        for passage in stored.values():
            note(passage.document, passage.span)
        return stored

    def document(self, docid: str) -> Document:
        """Return the document of this id."""
        return self._asked(LocalState.document, docid)

    def passages(self, docid: str) -> list[Passage]:
        """Return the passages of the document of this id, in order."""
        return self._asked(LocalState.passages, docid)

    def documents(self, where: Filter | None = None) -> Iterator[Document]:
        """Yield the documents that can be found under a filter, fetched some at a time."""
        after: str | None = None
        while some := self._replicas.ask("documents", where, after, DOCUMENTS_AT_ONCE):
            yield from some
            after = some[-1].docid

    def docids(self) -> Iterator[str]:
        """Yield the docid of each passage."""
        return iter(self._replicas.ask("docids"))

    def field_statistics(self) -> Sequence[FieldStatistics]:
        """Return the statistics of the fields that words are searched in."""
        return self._asked(LocalState.field_statistics)

    def term_counts(self, terms: Sequence[Term]) -> list[TermCount]:
        """Return in how many passages terms stand, and how often."""
        return self._asked(LocalState.term_counts, terms)

    def term_weights(self, text: str, places: Sequence[Place], weights: Weights) -> list[dict[str, float]]:
        """Return, of passages, the terms of a text that they hold, each with what it adds to the score."""
        return self._asked(LocalState.term_weights, text, places, weights)

    def unwritten(self, words: Sequence[str]) -> list[str]:
        """Return those of some words that are nowhere in the shard, nor a form of them."""
        return self._asked(LocalState.unwritten, words)

    def words_near(self, word: str, edits: int) -> Sequence[WordNearby]:
        """Return the words of the shard that are at most so many edits away."""
        return self._asked(LocalState.words_near, word, edits)

    def has_word(self, word: str, where: Filter | None) -> bool:
        """Return whether a passage under a filter of documents holds a word."""
        return self._asked(LocalState.has_word, word, where)

    def signatures(self, places: Sequence[Place]) -> Signatures:
        """Return the signatures of passages, in their order."""
        return self._asked(LocalState.signatures, places)

    def near_copies(self, signatures: Signatures, most: int, where: Filter | None) -> list[set[str]]:
        """Return, of each signature, the documents under a filter that disagree with it in few orders."""
        return self._asked(LocalState.near_copies, signatures, most, where)

    def passage_vectors(self, places: Sequence[Place], view: str) -> Vectors:
        """Return the vectors of passages in a view, in their order."""
        return self._asked(LocalState.passage_vectors, places, view)

    def document_vector(self, docid: str, view: str) -> Vectors:
        """Return the mean direction of a document's vectors in a view."""
        return self._asked(LocalState.document_vector, docid, view)

    def missing_since(self, moment: float) -> Sequence[str]:
        """Return nothing: whoever asks all shards notes which did not answer."""
        return ()

    def shards(self) -> Sequence[ShardState]:
        """Return this shard with its replicas."""
        return [ShardState(self._replicas.name, self.manifest.id, self._replicas.states())]

    def close(self) -> None:
        """Leave the state to the process that holds it, which closes what nobody asks for."""
        self._replicas.close()

    def _asked(self, method: Callable[Concatenate[LocalState, Asked], T], *asked: Asked.args, **_: Asked.kwargs) -> T:
        """Return what a method of the shard's own state returns, where it is."""
        answer: T = self._replicas.ask("ask", method.__name__, asked)
        return answer


class _AskedRankings:
    """Asks a shard for rankings by their names with packed settings."""

    def __init__(self, replicas: Replicas, names: Sequence[str], settings: bytes) -> None:
        self._replicas = replicas
        self.names = names
        self._settings = settings

    def __call__(self, method: str, queries: Sequence[str], k: int, where: Filter | None, limit: Limit | None) -> Any:
        """Return what a method of the shard's server answers.

        Raises CutOffError, and notes that the rankings are missing, if that takes longer than the limit.
        """
        question = RankingQuestion(self.names, self._settings, queries, k, where, None)
        if limit is None:
            return self._replicas.ask(method, question)
        try:
            seconds = limit.left(self.names[0])
            return self._replicas.ask(method, question._replace(seconds=seconds), seconds=seconds + GRACE_SECONDS)
        except CutOffError:
            late = [limit.cut_off(name) for name in self.names]
            raise late[0] from None


class RemoteRanking(Retriever):
    """A ranking of a shard, made where the shard is."""

    def __init__(self, asked: _AskedRankings) -> None:
        self._asked = asked

    def search(
        self, queries: Sequence[str], k: int, where: Filter | None = None, limit: Limit | None = None
    ) -> list[list[Hit]]:
        """Return at most ``k`` hits a query in the total order.

        Raises CutOffError if that takes longer than the limit.
        """
        return unpacked_hits(self._asked("search", queries, k, where, limit))

    def columns(
        self, queries: Sequence[str], k: int, where: Filter | None = None, limit: Limit | None = None
    ) -> list[Columns]:
        """Return the documents of what :meth:`search` returns."""
        columns: list[Columns] = self._asked("columns", queries, k, where, limit)
        return columns


class RemoteRankings:
    """Several rankings of a shard, made together where the shard is."""

    def __init__(self, asked: _AskedRankings) -> None:
        self._asked = asked
        self.names: Sequence[str] = asked.names

    def search(self, queries: Sequence[str], k: int, where: Filter | None = None, limit: Limit | None = None) -> Ranked:
        """Return at most ``k`` hits a query of each ranking, in the total order; those cut off are left out.

        Raises CutOffError if none is ready within the limit.
        """
        ranked: dict[str, Any] = self._asked("rankings", queries, k, where, limit)
        if limit is not None:
            for name in self.names:
                if name not in ranked:
                    limit.cut_off(name)
        return {name: unpacked_hits(hits) for name, hits in ranked.items()}

    def matching(self, query: str) -> Mask | None:
        """Return None: what can be found is counted where the shard is."""
        return None
