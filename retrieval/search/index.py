"""The open index: it takes missing options of searches from the configuration, and composes answers.

The index reads its files through its state, an ``IndexState``.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from statistics import pstdev
from typing import Any, Self, cast

import msgspec

from .. import retrievers, stages
from ..config import Config, check_group
from ..dense.encoder import Encoder
from ..dense.noise import noise_threshold
from ..dense.vectors import Vectors
from ..domain import Document, DocumentQuery, FacetCounts, Filter, Hit, Passage, ScoredDocids, Total, VectorQuery
from ..encoders.cross_encoder import OnnxCrossEncoder
from ..encoders.runtime import SharedEncoders
from ..errors import QueryError
from ..filters import FIELDS, days_of, refuse_texts
from ..lucene.analysis import TermCache
from ..lucene.spelling import words_in
from ..records.runs import best_documents
from ..retrievers import ExpandingRetriever
from ..stages import Named, StageContext
from ..stages.rerank import re_ranker
from ..store.manifest import VECTORS, Manifest
from ..terminal import join_words
from ..text import PROFILES, has_words, refuse_text
from ..views.vectors import searched_approximately
from .answer import Answer, Question, answer
from .counting import check_fields
from .evidence import Evidence, read_evidences, read_passages, read_texts
from .opening import Opening, open_state
from .options import DEFAULT_SEARCH, CountQuery, Footprint, IndexInfo, ResolvedSearch, Search, ShardState, reads_vectors
from .parts import footprint, left_out, like, note, spellings, word_weights
from .retriever import Retriever
from .snapshot import IndexEncoders

log = logging.getLogger(__name__)
_SHARED = ("k", "retriever", "fusion", "profile", "group", "stages")
"""The options of a :class:`Search` with the same name in ``config.search``."""
REMEMBERED = 64
"""The number of resolved searches in memory: nearly all searches of an index differ only in query and filter."""
_SMALL = 2  # a word of at most this many characters says little about a text
_ENOUGH = 8
"""A hit seems related if it contains more than half of a text's words; for a longer text, more than half of this."""
_CLEARLY = 3
"""A passage is clearly near if its cosine exceeds the noise threshold by this many standard deviations.

These are the standard deviations of the cosines of random queries.
"""
_NEARER = 0.2
"""The minimum distance between the noise threshold and the cosine of a passage that is clearly near.

It is a share of the distance from the threshold to 1. It matters in an index of a few short texts, whose cosines are
all well above the threshold.
"""


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
        config = config or Config()
        self._own_encoders = SharedEncoders(config.encoder)
        # An alias may change while this index is open, so resolve it once.
        place = Path(folder).resolve() if Path(folder).is_symlink() else Path(folder)
        self._state = opened(place, config, encoders or self._own_encoders)
        self.settings = retrievers.with_default_weights(config, self._state.manifest)
        """The default settings of a search."""
        if lacking := retrievers.weighed_in_vain(config, self._state.manifest):
            what = "%s: search.fusion.weights names %s, which the index lacks; auto searches without a fusion"
            log.warning(what, folder, join_words(lacking))
        # The cache refers to the state, not to this object: a cycle would keep a closed index in memory until
        # garbage collection.
        resolve = partial(_resolve, self._state.manifest, self._state.folder, self.settings)
        self._resolved = lru_cache(maxsize=REMEMBERED)(resolve)
        self._retrievers: dict[int, tuple[ResolvedSearch, Retriever]] = {}
        state = self._state
        self._context = StageContext(self.settings, state.manifest, lambda: state.terms)
        self._vectors: dict[str, str] = {}
        self._floors: dict[str, tuple[float, float]] = {}
        offered = retrievers.list_retrievers(self._state.manifest, self.settings)
        self.info = IndexInfo(Path(folder), self._state.manifest, offered)

    @property
    def terms(self) -> TermCache:
        """The analyzer, opened on first use."""
        return self._state.terms

    @property
    def encoder(self) -> Encoder:
        """The encoder of the vectors, opened on first use. Raises IndexStateError if it is missing or has changed."""
        return self._state.encoder_of(VECTORS)

    @property
    def re_ranker(self) -> OnnxCrossEncoder:
        """The model of the stage ``rerank``. Raises QueryError if none is configured."""
        return re_ranker(self._context)

    def resolve(self, options: Search = DEFAULT_SEARCH) -> ResolvedSearch:
        """Return a search with every option resolved.

        Raises QueryError if the profile or the retriever does not exist, or if the index lacks what the retriever or
        the filter needs. Raises TypeError if ``stages``, or a field of the filter, is a single string.
        """
        if options.where is not None:
            _check_filter(options.where, self._state.manifest)
        refuse_text("stages", options.stages)
        named = None if options.stages is None else tuple(options.stages)
        return self._resolved(options._replace(stages=named, where=None, typed=None, limit=None, offset=0))

    def search(self, queries: Sequence[str], options: Search = DEFAULT_SEARCH) -> list[list[Hit]]:
        """Return the hits of each query, best first. Raises QueryError if a query or an option is out of range."""
        resolved = self.resolve(options)
        k, texts = resolved.depth(options.offset), _prepare_texts(queries, resolved)
        staged, retriever = self._stages(resolved, options.where), self._retriever(resolved)
        if staged:
            read = partial(read_texts, self._state)
            ranked = stages.search(retriever, staged, resolved, read, queries=texts, k=k, options=options)
        else:
            ranked = retriever.search(texts, k, options.where, options.limit)
        return [hits[options.offset :] for hits in ranked] if options.offset else ranked

    def columns(self, queries: Sequence[str], options: Search = DEFAULT_SEARCH) -> list[ScoredDocids]:
        """Return the documents of the hits that :meth:`search` returns, with their scores."""
        resolved = self.resolve(options)
        if resolved.settings.search.stages or options.offset:
            return list(map(best_documents, self.search(queries, options)))
        k, texts = resolved.depth(options.offset), _prepare_texts(queries, resolved)
        return self._retriever(resolved).columns(texts, k, options.where, options.limit)

    def _retriever(self, resolved: ResolvedSearch) -> Retriever:
        known = self._retrievers.get(id(resolved))
        if known is None or known[0] is not resolved:
            while len(self._retrievers) >= REMEMBERED:
                self._retrievers.pop(next(iter(self._retrievers), 0), None)
            known = resolved, self._state.ranking(resolved.retriever, resolved.settings)
            self._retrievers[id(resolved)] = known
        return known[1]

    def _stages(self, resolved: ResolvedSearch, where: Filter | None) -> list[Named]:
        named = resolved.settings.search.stages
        return stages.opened_over(named, self._state, where, self._context) if named else []

    def count(self, query: str, options: Search = DEFAULT_SEARCH) -> Total:
        """Return the total number of hits of a search."""
        return self._state.count(self._question(query, options))

    def facets(self, query: str, fields: Mapping[str, int], options: Search = DEFAULT_SEARCH) -> dict[str, FacetCounts]:
        """Count the documents of a search by the values of each field."""
        check_fields(fields, self.info.filter_fields)
        return self._state.facets(self._question(query, options), fields)

    def _question(self, query: str, options: Search) -> CountQuery:
        resolved = self.resolve(options)
        (text,) = _prepare_texts([query], resolved)
        if retrievers.expanding(resolved.retriever) is not None:
            text = cast(ExpandingRetriever, self._retriever(resolved)).expand(text, options.where)
        return CountQuery(text, resolved, options.where, options.typed)

    def word_weights(self, query: str, hits: Sequence[Hit], options: Search = DEFAULT_SEARCH) -> list[dict[str, float]]:
        """Return, for each hit, the query's words in its passage, each with its share of the BM25 score."""
        resolved = self.resolve(options)
        (text,) = _prepare_texts([query], resolved)
        return word_weights(self._state, text, hits, resolved.settings.bm25)

    def like(self, docid: str, options: Search = DEFAULT_SEARCH) -> tuple[str, Search]:
        """Return a document as a query, and a search that excludes it and, with ``collapse``, its near-duplicates."""
        copies = bool(options.collapse) and self.info.published.has_signatures
        query, excluded = like(self._state, docid, copies=copies)
        where = options.where or Filter()
        return query, options._replace(where=where._replace(excluded=tuple(sorted(excluded.union(where.excluded)))))

    def spellings(self, query: str, options: Search = DEFAULT_SEARCH) -> Mapping[str, str]:
        """Return the misspelt words of a query, each with its correction from the index."""
        if isinstance(query, DocumentQuery):
            return {}
        return spellings(self._state, self.resolve(options).text(query), options.where)

    def footprint(self, retriever: str) -> Footprint:
        """Return the disk size and build time of what a retriever reads, including the documents."""
        return footprint(self.info.published, self._views(retriever))

    def _views(self, retriever: str) -> Sequence[str]:
        return retrievers.kind(retriever).views(retriever, self._state.manifest, self.settings)

    def evidence(
        self, query: str, hits: Sequence[Hit], options: Search = DEFAULT_SEARCH, *, highlight: bool = True
    ) -> list[Evidence]:
        """Return the evidence of the hits of ``query``."""
        return next(self.evidences([(query, hits)], options, highlight=highlight))

    def evidences(
        self, ranked: Sequence[tuple[str, Sequence[Hit]]], options: Search = DEFAULT_SEARCH, *, highlight: bool = True
    ) -> Iterator[list[Evidence]]:
        """Yield the evidence of the hits of each query; hits that are read after the time limit have no highlights."""
        resolved = self.resolve(options)
        read = [(resolved.text(query), hits) for query, hits in ranked]
        copies = partial(stages.copies_of, self._stages(resolved, options.where))
        shown: dict[str, Any] = {"highlight": highlight, "limit": options.limit, "after": options.offset}
        evidences = read_evidences(self._state, read, resolved.retriever, copies, **shown)
        return map(self._with_weak, evidences) if resolved.encodes else evidences

    def with_passages(self, query: str, hits: Sequence[Evidence], options: Search = DEFAULT_SEARCH) -> list[Evidence]:
        """Return the hits, each with its best passage and, if read in time, all others with a word of ``query``."""
        return read_passages(self._state, self.resolve(options).text(query), hits, options.limit)

    def answer(self, question: Question) -> Answer:
        """Answer a question, as :func:`factseek.retrieval.search.answer.answer` does."""
        return answer(self, question)

    def _with_weak(self, hits: list[Evidence]) -> list[Evidence]:
        """Mark a hit as weak if only vectors found it and each of its cosines is below the noise threshold."""
        views = {name: self._vectors_alone(name) for name in {name for hit in hits for name in hit.retrievers}}
        for hit in hits:
            if all(views[name] and part.score < self._floor(views[name])[0] for name, part in hit.retrievers.items()):
                hit.weak = True
        return hits

    def bears(self, text: str, scores: Mapping[str, float], words: Collection[str]) -> bool:
        """Return whether a hit seems related to a text, from its score in each ranking and the words that it contains.

        It seems related if its cosine is clearly above that of random queries, or if it contains more than half of the
        words of the text. An index without vectors cannot tell: every hit counts as related.
        """
        if not self.resolve().encodes:
            return True
        views = {name: self._vectors_alone(name) for name in scores}
        if any(score >= self._floor(view)[1] for name, score in scores.items() if (view := views[name])):
            return True
        of_text, of_hit = (
            [word for word in {word.lower() for word in some} if len(word) > _SMALL or word.isdigit()]
            for some in (words_in(text), words)
        )
        return bool(of_hit) and len(of_hit) > min(len(of_text), _ENOUGH) / 2

    def _floor(self, view: str) -> tuple[float, float]:
        """Return two cosines of a view: hits below the first are not near, hits from the second on are clearly near."""
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
            views = self._views(ranking)
            view = self._vectors[ranking] = views[0] if len(views) == 1 and reads_vectors(views) else ""
        return view

    def document(self, docid: str) -> Document:
        """Return the document of this docid."""
        return self._state.document(docid)

    def documents(self, where: Filter | None = None) -> Iterator[Document]:
        """Yield the documents that can be found and pass the filter; its conditions on words are ignored."""
        if where is not None:
            refuse_texts(where)
            _check_filter(where.of_documents, self._state.manifest)
        return self._state.documents(where)

    def passages(self, docid: str) -> list[Passage]:
        """Return the passages of the document of this docid, in order."""
        return self._state.passages(docid)

    def passage_vectors(self, hits: Sequence[Hit], view: str) -> Vectors:
        """Return the vectors of the hits' passages in a view of vectors, in the order of the hits."""
        return self._state.passage_vectors([(hit.docid, hit.passage) for hit in hits], view)

    def note(self, query: str, options: Search = DEFAULT_SEARCH) -> str:
        """Return a note for readers of the hits of ``query``, ``""`` if there is none."""
        words = note(query, self.resolve(options), self.info, self.terms, self._views)
        return "; ".join(filter(None, (words, left_out(self.undated(options)))))

    def undated(self, options: Search = DEFAULT_SEARCH) -> int:
        """Return how many documents a date bound excludes because they have no date, ignoring conditions on words."""
        return self._state.count_undated(options.where) if options.where else 0

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
        self._retrievers.clear()
        self._context.opened.let_go()
        self._state.close()
        self._own_encoders.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _check_filter(where: Filter, manifest: Manifest) -> None:
    refuse_texts(where)
    days_of(where.since, where.as_of)
    if where.of_words != Filter() and not manifest.has_phrases:
        raise QueryError(
            "this index has no word positions: it cannot match phrases, exclude words or search titles",
            remedy="rebuild it with index.phrases",
        )
    declared = manifest.filter_fields
    for name, _ in where.metadata:
        if name not in declared:
            remedy = f"the fields are {', '.join((*FIELDS, *declared))}"
            raise QueryError(f"there is no field {name!r} to filter by", remedy=remedy)


def _resolve(manifest: Manifest, folder: Path, config: Config, options: Search) -> ResolvedSearch:
    """Return a search with every option resolved; filter, offset and limit have no effect on the result."""
    for name, group in (("fusion", options.fusion), ("bm25", options.bm25)):
        if group is not None:
            check_group(group, name)
    varied = {name: getattr(options, name) for name in _SHARED if getattr(options, name) is not None}
    last = [f"{name}={value}" for name, value in (("collapse", options.collapse), ("sort", options.sort)) if value]
    if last:
        varied["stages"] = (*(config.search.stages if options.stages is None else options.stages), *last)
    search = msgspec.structs.replace(config.search, **varied)
    config = msgspec.structs.replace(config, search=search, bm25=options.bm25 or config.bm25)
    config = retrievers.with_default_weights(config, manifest)
    if search.profile not in PROFILES:
        remedy = f"the profiles are {' and '.join(sorted(PROFILES))}"
        raise QueryError(f"there is no profile {search.profile!r}", remedy=remedy)
    name = retrievers.resolve(search.retriever, manifest, config, folder)
    kind = retrievers.kind(name)
    read = tuple(kind.views(name, manifest, config))
    approximate = any(searched_approximately(view, manifest, config.dense) for view in read if reads_vectors([view]))
    return ResolvedSearch(name, tuple(kind.rankings(name, config)), read, config, approximate)


def _prepare_texts(queries: Sequence[str], resolved: ResolvedSearch) -> list[str]:
    """Return the texts to search for."""
    refuse_text("queries", queries)
    longest, texts = resolved.settings.search.max_query_chars, list[str]()
    for query in queries:
        if isinstance(query, DocumentQuery):
            texts.append(query)  # its words are already chosen, and vectors alone may find it
            continue
        if len(query) > longest:
            what = f"the query has {len(query)} characters, but at most {longest} are allowed (search.max_query_chars)"
            raise QueryError(what)
        text = resolved.text(query)
        if not has_words(text):
            raise QueryError(f"the query {query[:60]!r} contains no words to search for")
        texts.append(VectorQuery(text, query.vector) if isinstance(query, VectorQuery) else text)
    return texts
