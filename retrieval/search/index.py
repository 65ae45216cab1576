"""The open index: it resolves searches and composes answers; its state reads the files."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import pstdev
from types import TracebackType
from typing import Self, cast

from .. import retrievers, stages
from ..config import Config
from ..dense.encoder import Encoder
from ..dense.noise import noise_threshold
from ..dense.vectors import Vectors
from ..domain import Document, DocumentQuery, FacetCounts, Filter, Hit, Passage, ScoredDocids, Total
from ..encoders.runtime import SharedEncoders
from ..filters import refuse_texts
from ..lucene.analysis import TermCache
from ..lucene.spelling import words_in
from ..records.runs import best_documents
from ..retrievers import ExpandingRetriever
from ..store.manifest import VECTORS
from .answer import Answer, Question, answer
from .counting import check_fields
from .evidence import Evidence
from .evidence_reader import EvidenceReader
from .index_state import CountQuery, ShardState
from .opening import Opening, open_state
from .options import DEFAULT_SEARCH, Footprint, IndexInfo, ResolvedSearch, Search, reads_vectors
from .parts import footprint, left_out, like, note, spellings, word_weights
from .resolver import Resolver
from .retriever import ReRanker
from .snapshot import IndexEncoders
from .staged import StagedSearch

_WORD = re.compile(r"\w")
_SMALL = 2
"""A word of at most this many characters says little about a text."""
_ENOUGH = 8
"""A hit that contains more than half of a text's words seems related; a longer text counts as this many words."""
_CLEARLY = 3
"""The cosine of a clearly near passage is this many standard deviations of the random cosines above the floor."""
_NEARER = 0.2
"""The least such distance, as a share of the way from the floor to 1: a few short texts are all far from noise."""


def open_index(
    folder: str | Path,
    config: Config | None = None,
    *,
    encoders: IndexEncoders | None = None,
    opened: Opening = open_state,
) -> Index:
    """Open the index in ``folder`` for searching; use it as a context manager, or close it.

    ``encoders`` opens the encoders that its manifest names; they stay open when the index is closed. ``opened`` opens
    the state of the index; by default it reads the files. Raises IndexStateError if the index is missing, incomplete,
    damaged, or of another layout.
    """
    return Index(folder, config, encoders=encoders, opened=opened)


class Index:
    """An index directory, opened for reading.

    It is safe for threads, but do not use it after a ``fork``. It keeps its snapshot and files until it is closed. To
    search segments that are published later, open the index again.
    """

    def __init__(
        self,
        folder: str | Path,
        config: Config | None = None,
        *,
        encoders: IndexEncoders | None = None,
        opened: Opening = open_state,
    ) -> None:
        """Open the index in ``folder``; ``encoders`` opens the encoders that its manifest names, and they stay open.

        Raises the errors of ``opened``, which opens its state.
        """
        config = config or Config()
        self._own_encoders = SharedEncoders(config.encoder)
        # An alias may change while this index is open, so resolve it once.
        place = Path(folder).resolve() if Path(folder).is_symlink() else Path(folder)
        self._state = opened(place, config, encoders or self._own_encoders)
        self._config = retrievers.with_default_weights(config, self._state.manifest)
        self._reader = EvidenceReader(self._state)
        self._resolver = Resolver(self._state, self._config)
        self._vectors: dict[str, str] = {}
        self._floors: dict[str, tuple[float, float]] = {}
        offered = retrievers.offered(self._state.manifest, self._config)
        self.info = IndexInfo(Path(folder), self._state.manifest, offered)

    @property
    def settings(self) -> Config:
        """The default settings of a search."""
        return self._config

    @property
    def terms(self) -> TermCache:
        """The analyzer, opened on first use."""
        return self._state.terms

    @property
    def encoder(self) -> Encoder:
        """The encoder of the vectors, opened on first use.

        Raises IndexStateError if the encoder is missing or has changed. Raises MachineError if it is not installed
        here.
        """
        return self._state.encoder_of(VECTORS)

    @property
    def re_ranker(self) -> ReRanker:
        """The model of the stage ``rerank``."""
        return self._resolver.re_ranker()

    def resolve(self, asked: Search = DEFAULT_SEARCH) -> ResolvedSearch:
        """Return a search with every option resolved."""
        return self._resolver.resolve(asked)

    def search(self, queries: Sequence[str], asked: Search = DEFAULT_SEARCH) -> list[list[Hit]]:
        """Return the hits of each query, best first."""
        resolved = self._resolver.resolve(asked)
        k = self._resolver.depth(asked, resolved)
        texts, staged = self._resolver.texts(queries, resolved), self._resolver.stages(resolved, asked.where)
        retriever = self._resolver.retriever(resolved)
        if staged:
            ranked = StagedSearch(retriever, staged, resolved, self._reader.texts).search(texts, k, asked)
        else:
            ranked = retriever.search(texts, k, asked.where, asked.limit)
        return [hits[asked.offset :] for hits in ranked] if asked.offset else ranked

    def columns(self, queries: Sequence[str], asked: Search = DEFAULT_SEARCH) -> list[ScoredDocids]:
        """Return the documents of the hits that :meth:`search` returns, with their scores."""
        resolved = self._resolver.resolve(asked)
        if resolved.settings.search.stages or asked.offset:
            return list(map(best_documents, self.search(queries, asked)))
        k, texts = self._resolver.depth(asked, resolved), self._resolver.texts(queries, resolved)
        return self._resolver.retriever(resolved).columns(texts, k, asked.where, asked.limit)

    def count(self, query: str, asked: Search = DEFAULT_SEARCH) -> Total:
        """Return the total number of hits of a search."""
        return self._state.count(self._question(query, asked))

    def facets(self, query: str, fields: Mapping[str, int], asked: Search = DEFAULT_SEARCH) -> dict[str, FacetCounts]:
        """Count the documents of a search by the values of each field."""
        check_fields(fields, self.info.filter_fields)
        return self._state.facets(self._question(query, asked), fields)

    def _question(self, query: str, asked: Search) -> CountQuery:
        resolved = self._resolver.resolve(asked)
        (text,) = self._resolver.texts([query], resolved)
        if retrievers.expanding(resolved.retriever) is not None:
            text = cast(ExpandingRetriever, self._resolver.retriever(resolved)).expanded(text, asked.where)
        return CountQuery(text, resolved, asked.where, asked.typed)

    def word_weights(self, query: str, hits: Sequence[Hit], asked: Search = DEFAULT_SEARCH) -> list[dict[str, float]]:
        """Return, for each hit, the query's words in its passage, each with its share of the BM25 score."""
        resolved = self._resolver.resolve(asked)
        (text,) = self._resolver.texts([query], resolved)
        return word_weights(self._state, text, hits, resolved.settings.bm25)

    def like(self, docid: str, asked: Search = DEFAULT_SEARCH) -> tuple[str, Search]:
        """Return a document as a query, and a search that excludes the document itself."""
        copies = bool(asked.collapse) and self.info.published.has_signatures
        query, excluded = like(self._state, docid, copies=copies)
        where = asked.where or Filter()
        return query, asked._replace(where=where._replace(excluded=tuple(sorted(excluded.union(where.excluded)))))

    def spellings(self, query: str, asked: Search = DEFAULT_SEARCH) -> Mapping[str, str]:
        """Return the misspelt words of a query, each with its correction from the index."""
        if isinstance(query, DocumentQuery):
            return {}
        return spellings(self._state, self._resolver.resolve(asked).text(query), asked.where)

    def footprint(self, retriever: str) -> Footprint:
        """Return the disk size and build time of what a retriever reads; every retriever includes the documents."""
        return footprint(self.info.published, self._resolver.views(retriever))

    def evidence(
        self, query: str, hits: Sequence[Hit], asked: Search = DEFAULT_SEARCH, *, highlight: bool = True
    ) -> list[Evidence]:
        """Return the evidence of the hits of ``query``."""
        return next(self.evidences([(query, hits)], asked, highlight=highlight))

    def evidences(
        self, ranked: Sequence[tuple[str, Sequence[Hit]]], asked: Search = DEFAULT_SEARCH, *, highlight: bool = True
    ) -> Iterator[list[Evidence]]:
        """Yield the evidence of the hits of each query; hits reached after the limit have no highlights."""
        resolved = self._resolver.resolve(asked)
        read = [(resolved.text(query), hits) for query, hits in ranked]
        copies = partial(stages.copies_of, self._resolver.stages(resolved, asked.where))
        highlighted = partial(self._reader.evidences, highlight=highlight, limit=asked.limit, after=asked.offset)
        evidences = highlighted(read, resolved.retriever, copies)
        return map(self._with_weak, evidences) if resolved.encodes else evidences

    def with_passages(self, query: str, hits: Sequence[Evidence], asked: Search = DEFAULT_SEARCH) -> list[Evidence]:
        """Return the hits, each with its best passage and all other passages that contain a word of ``query``.

        After the limit, a hit has its best passage alone, and the limit records the missing passages.
        """
        return self._reader.with_passages(self._resolver.resolve(asked).text(query), hits, asked.limit)

    def answer(self, question: Question) -> Answer:
        """Answer a question with the evidence, counts, notes and explanations that it requests.

        Raises QueryError if the question is invalid, naming the field at fault. Raises CutOffError if no ranking was
        ready in time.
        """
        return answer(self, question)

    def _with_weak(self, hits: list[Evidence]) -> list[Evidence]:
        """Mark a hit as weak if only vectors found it and each of its cosines is below the floor of the view."""
        for hit in hits:
            if all(map(self._vectors_alone, hit.retrievers)) and all(
                part.score < self._floor(self._vectors_alone(name))[0] for name, part in hit.retrievers.items()
            ):
                hit.weak = True
        return hits

    def bears(self, text: str, scores: Mapping[str, float], words: Collection[str]) -> bool:
        """Return whether a hit seems related to a text, from its score in each ranking and the words that it contains.

        It is related if its cosine is clearly above that of random queries, or if it contains more than half of the
        words. An index without vectors cannot tell: every hit counts as related.
        """
        if not self.resolve().encodes:
            return True
        views = {name: self._vectors_alone(name) for name in scores}
        if any(score >= self._floor(view)[1] for name, score in scores.items() if (view := views[name])):
            return True
        asked, held = (
            [word for word in {word.lower() for word in some} if len(word) > _SMALL or word.isdigit()]
            for some in (words_in(text), words)
        )
        return bool(held) and len(held) > min(len(asked), _ENOUGH) / 2

    def _floor(self, view: str) -> tuple[float, float]:
        """Return two cosines of a view of vectors.

        Below the first, a passage is no nearer to a query than to random words. From the second on, it is clearly
        nearer.
        """
        if view not in self._floors:
            by_chance = self._state.noise_similarities(view)
            floor = noise_threshold(by_chance)
            spread = pstdev(by_chance) if by_chance else 0.0
            self._floors[view] = floor, floor + max(_CLEARLY * spread, _NEARER * (1 - floor))
        return self._floors[view]

    def _vectors_alone(self, ranking: str) -> str:
        """Return the view of vectors if a ranking reads nothing else, else ``""``; cached, since every hit needs it."""
        view = self._vectors.get(ranking)
        if view is None:
            views = self._resolver.views(ranking)
            view = self._vectors[ranking] = views[0] if len(views) == 1 and reads_vectors(views) else ""
        return view

    def document(self, docid: str) -> Document:
        """Return the document of this docid."""
        return self._state.document(docid)

    def documents(self, where: Filter | None = None) -> Iterator[Document]:
        """Yield the documents that can be found, or those that pass the filter, ignoring its conditions on words."""
        if where is not None:
            refuse_texts(where)
        return self._state.documents(where)

    def passages(self, docid: str) -> list[Passage]:
        """Return the passages of the document of this docid, in order."""
        return self._state.passages(docid)

    def passage_vectors(self, hits: Sequence[Hit], view: str) -> Vectors:
        """Return the vectors of the hits' passages in a view of vectors, in the order of the hits."""
        return self._state.passage_vectors([(hit.docid, hit.passage) for hit in hits], view)

    def note(self, query: str, asked: Search = DEFAULT_SEARCH) -> str:
        """Return a note for readers of the hits of ``query``, ``""`` if there is none."""
        words = note(query, self._resolver.resolve(asked), self.info, self.terms, self._resolver.views)
        return "; ".join(filter(None, (words, left_out(self.undated(asked)))))

    def undated(self, asked: Search = DEFAULT_SEARCH) -> int:
        """Return how many documents a search excludes because they have no date, whatever their words."""
        return self._state.undated(asked.where) if asked.where else 0

    def missing_since(self, moment: float) -> Sequence[str]:
        """Return the names of the shards that failed to answer since a moment of :func:`time.monotonic`."""
        return self._state.missing_since(moment)

    def shards(self) -> Sequence[ShardState]:
        """Return the shards that other processes serve; none if this process reads the index itself."""
        return self._state.shards()

    def docids(self) -> Iterator[str]:
        """Yield the docid of each passage."""
        return self._state.docids()

    def close(self) -> None:
        """Close the files and the encoders that this index opened."""
        self._resolver.close()
        self._state.close()
        self._own_encoders.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
