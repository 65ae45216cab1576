"""The index, open: every choice of a search made, and every answer put together, over what its state reads."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import pstdev
from types import TracebackType
from typing import Self

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
"""Letters of a word that says little."""
_ENOUGH = 8
"""Words of a long text half of which are enough."""
_CLEARLY = 3
"""Standard deviations of the cosines of made-up queries above the floor, from which on a passage is near."""
_NEARER = 0.15
"""The least part of the way from the floor to the same words: few short texts are all far from made-up queries."""


def open_index(
    folder: str | Path,
    config: Config | None = None,
    *,
    encoders: IndexEncoders | None = None,
    opened: Opening = open_state,
) -> Index:
    """Open the index in ``folder`` for searching; use it as a context manager, or close it.

    ``encoders`` gives the encoders that its manifest names; they stay open when the index is closed. ``opened`` opens
    what it reads: its files, unless another process reads them.
    Raises IndexStateError if the index is missing, half-built, damaged, or of another layout.
    """
    return Index(folder, config, encoders=encoders, opened=opened)


class Index:
    """An index directory, opened for reading.

    It is safe for threads and not to be carried across a ``fork``. It keeps the snapshot that it opened, and its files,
    until it is closed: segments published later are seen by the next one who opens.
    """

    def __init__(
        self,
        folder: str | Path,
        config: Config | None = None,
        *,
        encoders: IndexEncoders | None = None,
        opened: Opening = open_state,
    ) -> None:
        """Open the index in ``folder``; ``encoders`` gives the encoders that its manifest names, and they stay open.

        Raises what ``opened`` raises, which opens its state.
        """
        config = config or Config()
        self._own_encoders = SharedEncoders(config.encoder)
        # An alias may be pointed elsewhere while this is open: what it stands for now is what is read.
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
        """The settings that hold where a search says nothing."""
        return self._config

    @property
    def terms(self) -> TermCache:
        """The analyzer, opened when it is first needed."""
        return self._state.terms

    @property
    def encoder(self) -> Encoder:
        """The encoder that made the vectors, opened when it is first needed.

        Raises IndexStateError if it is not found as it was, MachineError if it is not on this machine.
        """
        return self._state.encoder_of(VECTORS)

    @property
    def re_ranker(self) -> ReRanker:
        """The model of the stage ``rerank``."""
        return self._resolver.re_ranker()

    def resolve(self, asked: Search = DEFAULT_SEARCH) -> ResolvedSearch:
        """Return a search with every choice made."""
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
        """Return the documents of what :meth:`search` returns."""
        resolved = self._resolver.resolve(asked)
        if resolved.settings.search.stages or asked.offset:
            return list(map(best_documents, self.search(queries, asked)))
        k, texts = self._resolver.depth(asked, resolved), self._resolver.texts(queries, resolved)
        return self._resolver.retriever(resolved).columns(texts, k, asked.where, asked.limit)

    def count(self, query: str, asked: Search = DEFAULT_SEARCH) -> Total:
        """Return how many hits a search has in all."""
        return self._state.count(self._question(query, asked))

    def facets(self, query: str, fields: Mapping[str, int], asked: Search = DEFAULT_SEARCH) -> dict[str, FacetCounts]:
        """Count the documents of a search by their values."""
        check_fields(fields, self.info.filter_fields)
        return self._state.facets(self._question(query, asked), fields)

    def _question(self, query: str, asked: Search) -> CountQuery:
        resolved = self._resolver.resolve(asked)
        (text,) = self._resolver.texts([query], resolved)
        return CountQuery(text, resolved, asked.where, asked.typed)

    def word_weights(self, query: str, hits: Sequence[Hit], asked: Search = DEFAULT_SEARCH) -> list[dict[str, float]]:
        """Return the words of the query that the passage of each hit holds, with what BM25 counts each as."""
        resolved = self._resolver.resolve(asked)
        (text,) = self._resolver.texts([query], resolved)
        return word_weights(self._state, text, hits, resolved.settings.bm25)

    def like(self, docid: str, asked: Search = DEFAULT_SEARCH) -> tuple[str, Search]:
        """Return a document as a query, and the search that leaves it out."""
        copies = bool(asked.collapse) and self.info.published.has_signatures
        query, excluded = like(self._state, docid, copies=copies)
        where = asked.where or Filter()
        return query, asked._replace(where=where._replace(excluded=tuple(sorted(excluded.union(where.excluded)))))

    def spellings(self, query: str, asked: Search = DEFAULT_SEARCH) -> Mapping[str, str]:
        """Return the misspelt words of a query, each with the word of the index that is meant."""
        if isinstance(query, DocumentQuery):
            return {}
        return spellings(self._state, self._resolver.resolve(asked).text(query), asked.where)

    def footprint(self, retriever: str) -> Footprint:
        """Return what a retriever needs of the index; the documents are counted for every one."""
        return footprint(self.info.published, self._resolver.views(retriever))

    def evidence(
        self, query: str, hits: Sequence[Hit], asked: Search = DEFAULT_SEARCH, *, highlight: bool = True
    ) -> list[Evidence]:
        """Return what a person reads of the hits of ``query``."""
        return next(self.evidences([(query, hits)], asked, highlight=highlight))

    def evidences(
        self, ranked: Sequence[tuple[str, Sequence[Hit]]], asked: Search = DEFAULT_SEARCH, *, highlight: bool = True
    ) -> Iterator[list[Evidence]]:
        """Yield what a person reads of the hits of each query; those reached after the limit have no highlights."""
        resolved = self._resolver.resolve(asked)
        read = [(resolved.text(query), hits) for query, hits in ranked]
        copies = partial(stages.copies_of, self._resolver.stages(resolved, asked.where))
        highlighted = partial(self._reader.evidences, highlight=highlight, limit=asked.limit, after=asked.offset)
        evidences = highlighted(read, resolved.retriever, copies)
        return map(self._with_weak, evidences) if resolved.encodes else evidences

    def with_passages(self, query: str, hits: Sequence[Evidence], asked: Search = DEFAULT_SEARCH) -> list[Evidence]:
        """Return the hits, each with all passages of its document that hold a word of ``query``, and its best one.

        After the limit, which notes that passages are missing, it is the best one alone.
        """
        return self._reader.with_passages(self._resolver.resolve(asked).text(query), hits, asked.limit)

    def answer(self, question: Question) -> Answer:
        """Answer a question whole: its hits as evidence, counts, notes, reasons, as far as it asks for them.

        Raises QueryError, naming the field where one is to blame, CutOffError if no ranking was ready in time.
        """
        return answer(self, question)

    def _with_weak(self, hits: list[Evidence]) -> list[Evidence]:
        """Mark the hits that every ranking which has them found by meaning alone, below the floor of the index."""
        for hit in hits:
            if all(map(self._vectors_alone, hit.retrievers)) and all(
                part.score < self._floor(self._vectors_alone(name))[0] for name, part in hit.retrievers.items()
            ):
                hit.weak = True
        return hits

    def bears(self, text: str, scores: Mapping[str, float], words: Collection[str]) -> bool:
        """Return whether a hit seems to bear on a text, by its score in each ranking and the words that it holds.

        It does if it is clearly nearer by its meaning than passages come to made-up words, or holds half of the words.
        Of an index without vectors nobody can tell: each hit does.
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
        return bool(held) and len(held) >= min(len(asked), _ENOUGH) / 2

    def _floor(self, view: str) -> tuple[float, float]:
        """Return two cosines of a view of vectors.

        Below the first a passage is no nearer than to made-up words, from the second on it is clearly nearer.
        """
        if view not in self._floors:
            by_chance = self._state.noise_similarities(view)
            floor = noise_threshold(by_chance)
            spread = pstdev(by_chance) if by_chance else 0.0
            self._floors[view] = floor, floor + max(_CLEARLY * spread, _NEARER * (1 - floor))
        return self._floors[view]

    def _vectors_alone(self, ranking: str) -> str:
        """Return the view whose vectors are all that a ranking reads, else ``""``; each hit of a search asks."""
        view = self._vectors.get(ranking)
        if view is None:
            views = self._resolver.views(ranking)
            view = self._vectors[ranking] = views[0] if len(views) == 1 and reads_vectors(views) else ""
        return view

    def document(self, docid: str) -> Document:
        """Return the document of this id."""
        return self._state.document(docid)

    def documents(self, where: Filter | None = None) -> Iterator[Document]:
        """Yield the documents that can be found; those that pass a filter, whatever it asks of words."""
        if where is not None:
            refuse_texts(where)
        return self._state.documents(where)

    def passages(self, docid: str) -> list[Passage]:
        """Return the passages of the document of this id, in order."""
        return self._state.passages(docid)

    def passage_vectors(self, hits: Sequence[Hit], view: str) -> Vectors:
        """Return the vectors of the passages of hits in a view of vectors, in their order."""
        return self._state.passage_vectors([(hit.docid, hit.passage) for hit in hits], view)

    def note(self, query: str, asked: Search = DEFAULT_SEARCH) -> str:
        """Return what a reader of the hits of ``query`` should know, else ``""``."""
        words = note(query, self._resolver.resolve(asked), self.info, self.terms, self._resolver.views)
        return "; ".join(filter(None, (words, left_out(self.undated(asked)))))

    def undated(self, asked: Search = DEFAULT_SEARCH) -> int:
        """Return how many documents a search leaves out because they have no date, whatever their words."""
        return self._state.undated(asked.where) if asked.where else 0

    def missing_since(self, moment: float) -> Sequence[str]:
        """Return the names of the shards that did not answer since a moment of :func:`time.monotonic`."""
        return self._state.missing_since(moment)

    def shards(self) -> Sequence[ShardState]:
        """Return the shards that other processes answer for; none if this one reads the index itself."""
        return self._state.shards()

    def docids(self) -> Iterator[str]:
        """Yield the docid of each passage."""
        return self._state.docids()

    def close(self) -> None:
        """Close what was opened."""
        self._resolver.close()
        self._state.close()
        self._own_encoders.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
