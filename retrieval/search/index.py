"""The open index: it takes missing options of searches from the configuration, and composes
answers.

The index reads its files through its state, an ``IndexState``.
"""

from __future__ import annotations

import dataclasses
import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypedDict, Unpack, overload

import numpy as np
from msgspec.structs import replace

from ...core.deadline import Deadline
from ...core.domain import (
    Document,
    FacetCounts,
    Filter,
    Hit,
    Passage,
    ScoredDocids,
    Total,
)
from ...core.errors import QueryError
from ...core.settings import check_group
from ...core.terminal import join_words
from ...core.text import PROFILES, ProfileName, refuse_text
from .. import retrievers, stages
from ..config import AUTO, Config
from ..dense.vectors import Vectors, query_vector
from ..encoders.cross_encoder import OnnxCrossEncoder
from ..encoders.opening import SharedEncoders
from ..filters import FIELDS, days_of, refuse_texts
from ..lucene.analysis import TermCache
from ..lucene.index import flat_text
from ..retrievers import Retriever
from ..stages import Stage, StageContext
from ..stages.collapse import NEAR
from ..stages.rerank import re_ranker
from ..store.documents import Addition
from ..store.manifest import DOCUMENTS, VECTORS, Manifest
from ..store.signatures import most_disagreements
from ..views import view as view_of
from ..views.vectors import searched_approximately
from .answer import Answer, Question, answer
from .declared import check_options, stage_options
from .evidence import Evidence
from .index_state import IndexState
from .nearness import Nearness
from .opening import Opening, open_state
from .options import (
    DEFAULT_SEARCH,
    Footprint,
    IndexInfo,
    ResolvedSearch,
    Search,
    ShardHealth,
    is_impacts,
    reads_vectors,
)
from .plan import Plan, PlanContext
from .prepared_query import AnyQuery, PreparedQuery
from .ranked_hits import RankedHits
from .relatedness import RelatednessAnswer
from .snapshot import IndexEncoders

if TYPE_CHECKING:
    from ..encoders.encoder import Encoder

log = logging.getLogger(__name__)
_SHARED = ("k", "retriever", "fusion", "profile", "group", "stages")
"""The options of a :class:`Search` with the same name in ``config.search``."""
REMEMBERED = 64
"""The number of resolved searches in memory: nearly all searches of an index differ only in query
and filter.
"""
QUERY_WORDS = 25  # the number of words of a document query; Lucene uses the same number
# The number of characters at the beginning of a document from which its query words are taken.
READ_CHARS = 100_000
# The number of terms in these characters to examine; Lucene uses the same number.
READ_TERMS = 5_000


class Shorthands(TypedDict, total=False):
    """The options of a search that may be given by keyword."""

    retriever: str
    k: int
    where: Filter
    profile: ProfileName


class Index:
    """An index directory, opened for reading; use it as a context manager, or close it.

    It is safe for threads, but do not use it after a ``fork``. It keeps its snapshot and files
    until it is closed; a later search raises ClosedError. To search segments that are published
    later, open the index again.
    """

    def __init__(
        self,
        folder: str | Path,
        config: Config | None = None,
        *,
        encoders: IndexEncoders | None = None,
        opened: Opening = open_state,
    ) -> None:
        """Open the index in ``folder`` for searching.

        ``encoders`` opens the encoders that its manifest names; they stay open when the index is
        closed. ``opened`` opens the state of the index; by default it reads the files. Raises
        IndexStateError if the index is missing, incomplete, damaged, or of another layout.
        """
        config = config or Config()
        self._own_encoders = SharedEncoders(config.encoder)
        # An alias may change while this index is open, so resolve it once.
        place = Path(folder).resolve() if Path(folder).is_symlink() else Path(folder)
        state = self._state = opened(place, config, encoders or self._own_encoders)
        self.settings = retrievers.with_default_weights(config, state.manifest)
        """The default settings of a search."""
        if lacking := retrievers.weighed_in_vain(config, state.manifest):
            fused = retrievers.without_rankings(self.settings, lacking)
            if fused is not None:
                self.settings, consequence = fused, "hybrid fuses the others"
            else:
                consequence = "auto searches without a fusion"
            what = "%s: search.fusion.weights names %s, which the index lacks; %s"
            log.warning(what, folder, join_words(lacking), consequence)
        # The caches refer to the state, not to this object: a cycle would keep a closed index in
        # memory until garbage collection.
        resolve = partial(_resolve, state.manifest, state.folder, self.settings)
        self._resolved = lru_cache(maxsize=REMEMBERED)(resolve)
        self._retriever = lru_cache(maxsize=REMEMBERED)(
            partial(_open_retriever, state, self._resolved)
        )
        self.info = IndexInfo.of(
            Path(folder), state.manifest, retrievers.list_retrievers(state.manifest, self.settings)
        )
        self._context = PlanContext(
            state, self.info, StageContext(self.settings, state), Nearness(state, self.settings)
        )

    @property
    def terms(self) -> TermCache:
        """The analyzer, opened on first use."""
        return self._state.terms

    @property
    def encoder(self) -> Encoder:
        """The encoder of the vectors, opened on first use.

        Raises IndexStateError if it is missing or has changed.
        """
        return self._state.encoder_of(VECTORS)

    @property
    def re_ranker(self) -> OnnxCrossEncoder:
        """The model of the stage ``rerank``. Raises QueryError if none is configured."""
        return re_ranker(self._context.stages)

    def plan(self, search: Search = DEFAULT_SEARCH) -> Plan:
        """Return a search with every option resolved, for any number of queries.

        Raises QueryError if the profile or the retriever does not exist, or if the index lacks what
        the retriever or the filter needs. Raises TypeError if ``stages``, or a field of the filter,
        is a single string.
        """
        check_options(search)
        if search.where is not None:
            _check_filter(search.where, self._state.manifest)
        named = search.stages
        if named is not None and not isinstance(named, tuple):
            refuse_text("stages", named)
            search = replace(search, stages=tuple(named))
        # Searches that differ only in filter and offset share what is remembered.
        shared = replace(search, where=None, offset=0)
        return Plan(self._context, search, self._resolved(shared), partial(self._retriever, shared))

    def resolve(self, options: Search = DEFAULT_SEARCH) -> ResolvedSearch:
        """Return a search with every option resolved; it raises what :meth:`plan` raises."""
        return self.plan(options).resolved

    @overload
    def search(  # type: ignore[overload-overlap]  # a text is a sequence of texts too
        self, queries: str | PreparedQuery, options: Search = ..., **shorthands: Unpack[Shorthands]
    ) -> RankedHits: ...

    @overload
    def search(
        self,
        queries: Sequence[AnyQuery],
        options: Search = ...,
        limit: Deadline | None = ...,
        **shorthands: Unpack[Shorthands],
    ) -> list[list[Hit]]: ...

    def search(
        self,
        queries: str | PreparedQuery | Sequence[AnyQuery],
        options: Search = DEFAULT_SEARCH,
        limit: Deadline | None = None,
        **shorthands: Unpack[Shorthands],
    ) -> RankedHits | list[list[Hit]]:
        """Return the hits of a query, best first; for a list of queries, a list for each.

        A notebook shows the hits of one query with their passages.

        ``shorthands`` are short forms of the most common options; they override ``options``.
        ``limit`` records what was cut off. Raises QueryError if a query or an option is out of
        range.
        """
        if shorthands:
            options = replace(options, **shorthands)
        if isinstance(queries, str | PreparedQuery):
            (hits,) = self.plan(options).hits([queries], limit)
            return RankedHits(hits, self, queries, options)
        return self.plan(options).hits(queries, limit)

    def columns(
        self,
        queries: Sequence[AnyQuery],
        options: Search = DEFAULT_SEARCH,
        limit: Deadline | None = None,
    ) -> list[ScoredDocids]:
        """Return the documents of the hits that :meth:`search` returns, with their scores."""
        return self.plan(options).columns(queries, limit)

    def stages(self, texts: Sequence[str], where: Filter | None = None) -> dict[str, Stage]:
        """Return the stages that ``texts`` name, by name.

        Raises QueryError if one cannot be used.
        """
        return stages.open_stages(texts, dataclasses.replace(self._context.stages, where=where))

    def count(self, query: AnyQuery, options: Search = DEFAULT_SEARCH) -> Total:
        """Return the total number of hits of a search."""
        return self.plan(options).count(query)

    def facets(
        self,
        query: AnyQuery,
        fields: Mapping[str, int],
        options: Search = DEFAULT_SEARCH,
        condition: Filter | None = None,
    ) -> dict[str, FacetCounts]:
        """Count the documents of a search by the values of each field.

        A field's counts ignore the filter's own condition on this field, but not ``condition``, the
        part of the filter that the query itself contains.
        """
        return self.plan(options).facets(query, fields, condition)

    def word_weights(
        self, query: AnyQuery, hits: Sequence[Hit], options: Search = DEFAULT_SEARCH
    ) -> list[dict[str, float]]:
        """Return, for each hit, the query's words in its passage, each with its share of the BM25
        score.

        If several words have the same term, the first word represents them.
        """
        return self.plan(options).word_weights(query, hits)

    def like(self, docid: str, options: Search = DEFAULT_SEARCH) -> tuple[PreparedQuery, Search]:
        """Return a document as a query, and a search that excludes it and, with ``collapse``, its
        near-duplicates.
        """
        state, document = self._state, self._state.document(docid)
        text = flat_text(document.title, document.text)[:READ_CHARS]
        field = state.field_statistics()[0]
        often = Counter(state.terms.tokens(text)[:READ_TERMS])
        terms = sorted(often)
        weights = {
            term: np.float32(
                often[term] * np.float32(np.log((field.passages + 1) / (count.passages + 1)) + 1)
            )
            for term, count in zip(
                terms, state.term_counts([(field.field, term) for term in terms]), strict=True
            )
            if count.passages > 1
        }
        heaviest = sorted(weights, key=lambda term: (-weights[term], term))[:QUERY_WORDS]
        where = options.where or Filter()
        excluded = {docid, *where.excluded}
        if options.collapse and self.info.published.has_signatures:
            signatures = state.signatures(
                [(docid, passage.number) for passage in state.passages_of([docid])[docid]]
            )
            excluded.update(*state.near_copies(signatures, most_disagreements(NEAR), None))
        query = PreparedQuery(" ".join(_words_for(heaviest, text, state.terms)), docid=docid)
        return query, replace(options, where=where._replace(excluded=tuple(sorted(excluded))))

    def query_with_vector(
        self, text: str, vector: Sequence[float], options: Search = DEFAULT_SEARCH
    ) -> PreparedQuery:
        """Return a query whose vector the caller brings, for a search with these options.

        The vector is for the given vectors that the search reads, else for those of the first
        encoder. Other encoders read the text. Raises QueryError if the text has no words or is too
        long, or if the vector does not fit.
        """
        (query,) = self.resolve(options).prepare_all([text])
        view = self.check_vector(vector, options)
        return replace(query, vector=tuple(map(float, vector)), vector_view=view)

    def check_vector(self, vector: Sequence[float], options: Search = DEFAULT_SEARCH) -> str:
        """Return the view of vectors that the vector of a query is for, ``""`` for any.

        Raises QueryError if it does not fit this view, or if the search reads several views of
        given vectors.
        """
        encoders, read = self.info.encoders, self.resolve(options).views
        views = [view for view in encoders if view in read] or list(encoders)
        views = [view for view in views if encoders[view].is_given] or views
        if len(views) > 1 and encoders[views[0]].is_given:
            if not reads_vectors(read):
                return ""  # a later search names its retriever
            names = [f"dense{view.removeprefix(VECTORS)}" for view in views]
            raise QueryError(
                f"a query has one vector, and this search reads several kinds of given vectors: "
                f"{join_words(names)}",
                remedy=f"search with one of them, such as {names[0]}",
                field="vector",
            )
        if not views:
            return ""
        where = "this index" if len(encoders) == 1 else views[0]
        try:
            query_vector(vector, encoders[views[0]].dimension, encoders[views[0]].similarity, where)
        except QueryError as error:
            raise QueryError(error.what, field="vector") from None
        return views[0]

    @property
    def retrievers_of_texts(self) -> tuple[str, ...]:
        """The retrievers that need no vector of the query, the default first."""
        manifest, settings = self._state.manifest, self.settings
        return tuple(
            name
            for name in self.info.retrievers
            if not retrievers.needs_query_vector(name, manifest, settings)
        )

    def trial_query(self, words: str, options: Search = DEFAULT_SEARCH) -> PreparedQuery:
        """Return a query to try a search with: if it needs the vector of its query, it gets any."""
        resolved, encoders = self.resolve(options), self.info.encoders
        query = resolved.prepare(words)
        if not retrievers.needs_query_vector(
            resolved.retriever, self._state.manifest, resolved.settings
        ):
            return query
        view = next(view for view in resolved.views if view in encoders)
        direction = (1.0, *[0.0] * (encoders[view].dimension - 1))
        return replace(query, vector=direction, vector_view=view)

    def retriever_for_vectors(self, retriever: str | None = None) -> str:
        """Return the retriever of queries that bring their vectors: the given one, else the one
        with the highest priority that reads vectors.

        Raises QueryError if the retriever reads no vectors, or if the index has none.
        """
        if retriever and retriever != AUTO:
            chosen = [retriever]
        else:
            chosen = sorted(self.info.retrievers, key=lambda name: -retrievers.kind(name).priority)
        for name in chosen:
            if reads_vectors(self._views(name)):
                return name
        what = f"{retriever} reads no vectors" if retriever else "this index has no vectors"
        raise QueryError(what, remedy="leave out the vector", field="vector")

    def spellings(self, query: AnyQuery, options: Search = DEFAULT_SEARCH) -> Mapping[str, str]:
        """Return the misspelt words of a query, each with a correction that some passage under the
        filter contains.
        """
        return self.plan(options).spellings(query)

    def find_unwritten(self, words: Sequence[str]) -> list[str]:
        """Return those of the lower-case ``words`` of which the index contains no form."""
        return self._state.find_unwritten(words)

    def footprint(self, retriever: str) -> Footprint:
        """Return the disk size and build time of what a retriever reads, including the
        documents.
        """
        manifest, names = self.info.published, self._views(retriever)
        read = [view_of(name, manifest) for name in names]
        files = [
            (name, file.bytes)
            for segment in manifest.segments
            for name, file in segment.files.items()
        ]
        seconds = sum(segment.text_seconds for segment in manifest.segments)
        if reads_vectors(names) or any(map(is_impacts, names)):
            seconds += sum(segment.vector_seconds for segment in manifest.segments)
        taken = (
            size
            for file, size in files
            if file == DOCUMENTS or any(each.owns(file) for each in read)
        )
        return Footprint(sum(taken), seconds)

    def _views(self, retriever: str) -> Sequence[str]:
        return retrievers.kind(retriever).views(retriever, self._state.manifest, self.settings)

    def evidence(
        self,
        query: AnyQuery,
        hits: Sequence[Hit],
        options: Search = DEFAULT_SEARCH,
        *,
        highlight: bool = True,
        limit: Deadline | None = None,
    ) -> list[Evidence]:
        """Return the evidence of the hits of ``query``."""
        return self.plan(options).evidence(query, hits, limit, highlight=highlight)

    def evidences(
        self,
        ranked: Sequence[tuple[AnyQuery, Sequence[Hit]]],
        options: Search = DEFAULT_SEARCH,
        *,
        highlight: bool = True,
        limit: Deadline | None = None,
    ) -> Iterator[list[Evidence]]:
        """Yield the evidence of the hits of each query; hits that are read after the time limit
        have no highlights.
        """
        return self.plan(options).evidences(ranked, limit, highlight=highlight)

    def with_passages(
        self,
        query: AnyQuery,
        hits: Sequence[Evidence],
        options: Search = DEFAULT_SEARCH,
        limit: Deadline | None = None,
    ) -> list[Evidence]:
        """Return the hits, each with its best passage and, if read in time, all others with a word
        of ``query``.
        """
        return self.plan(options).with_passages(query, hits, limit)

    def answer(self, question: Question, limit: Deadline | None = None) -> Answer:
        """Answer a question, as :func:`factseek.retrieval.search.answer.answer` does."""
        return answer(self, question, limit)

    def bears(self, text: str, scores: Mapping[str, float], words: Collection[str]) -> bool:
        """Return whether a hit seems related to a text, from its score in each ranking and the
        words that it contains.

        It seems related if its cosine is clearly above that of random queries, or if it contains
        more than half of the words of the text. An index without vectors cannot tell: every hit
        counts as related.
        """
        return not self.resolve().encodes or self._context.nearness.bears(text, scores, words)

    def likeness(self, scores: Mapping[str, float]) -> float | None:
        """Return how like a text a hit is, from its score in each ranking.

        It is 0 for a hit that is as near as random texts, and 1 for an equal text; None if no
        ranking has cosines that an encoder made.
        """
        return self._context.nearness.likeness(scores)

    def relatedness(
        self, query: AnyQuery, options: Search = DEFAULT_SEARCH, limit: Deadline | None = None
    ) -> RelatednessAnswer:
        """Search, and return whether the first hits seem related to the query, and which of its
        words no document contains.

        Raises QueryError if the query or an option is out of range.
        """
        plan = self.plan(options)
        ((first, _),) = plan.hits_and_first([query], limit)
        relatedness = plan.relatedness(query, first)
        absent = plan.absent_words(query) if relatedness.asks_for_absent_words else ()
        return RelatednessAnswer(relatedness.related, absent)

    def document(self, docid: str) -> Document:
        """Return the document of this docid."""
        return self._state.document(docid)

    def addition(self, docid: str) -> Addition:
        """Return when and how the document of this docid was added."""
        return self._state.addition(docid)

    def documents(self, where: Filter | None = None) -> Iterator[Document]:
        """Yield the documents that can be found and pass the filter; its conditions on words are
        ignored.
        """
        if where is not None:
            refuse_texts(where)
            _check_filter(where.of_documents, self._state.manifest)
        return self._state.documents(where)

    def passages(self, docid: str) -> list[Passage]:
        """Return the passages of the document of this docid, in order."""
        return self._state.passages_of([docid])[docid]

    def passage_vectors(self, hits: Sequence[Hit], view: str) -> Vectors:
        """Return the vectors of the hits' passages in a view of vectors, in the order of the
        hits.
        """
        return self._state.passage_vectors([(hit.docid, hit.passage) for hit in hits], view)

    def note(self, query: AnyQuery, options: Search = DEFAULT_SEARCH) -> str:
        """Return a note for readers of the hits of ``query``, ``""`` if there is none.

        It says that the query has only stop words or an unknown language, or that documents without
        a date are left out.
        """
        return self.plan(options).note(query)

    def undated(self, options: Search = DEFAULT_SEARCH) -> int:
        """Return how many documents a date bound excludes because they have no date, ignoring
        conditions on words.
        """
        return self.plan(options).count_undated()

    def missing_since(self, moment: float) -> Sequence[str]:
        """Return the names of the shards that failed to answer since a moment of
        :func:`time.monotonic`.
        """
        return self._state.missing_since(moment)

    def shards(self) -> Sequence[ShardHealth]:
        """Return the shards that other processes serve; none if this process reads the index
        itself.
        """
        return self._state.shards()

    def docids(self) -> Iterator[str]:
        """Yield the docid of each passage."""
        return self._state.docids()

    def close(self) -> None:
        """Close the files and the encoders that this index opened.

        Running searches raise ClosedError.
        """
        self._retriever.cache_clear()
        self._context.stages.opened.end(self._state.folder)
        self._state.close()
        self._own_encoders.close()

    def __reduce__(self) -> str:
        """Raise TypeError: two copies would close the same files."""
        raise TypeError(
            "an open index cannot be copied or pickled; open it again: "
            f"open_index({str(self.info.place)!r})"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


open_index = Searcher = Index
"""The names of the public API."""


def _check_filter(where: Filter, manifest: Manifest) -> None:
    refuse_texts(where)
    days_of(where.since, where.as_of)
    if where.of_words != Filter() and not manifest.has_phrases:
        raise QueryError(
            "this index has no word positions: it cannot match phrases, exclude words or search "
            "titles",
            remedy="rebuild it with index.phrases",
        )
    declared = manifest.filter_fields
    for name, _ in where.metadata:
        if name not in declared:
            remedy = f"the fields are {', '.join((*FIELDS, *declared))}"
            raise QueryError(f"there is no field {name!r} to filter by", remedy=remedy)


def _resolve(manifest: Manifest, folder: Path, config: Config, options: Search) -> ResolvedSearch:
    """Return a search with every option resolved; filter and offset have no effect on the
    result.
    """
    for name, group in (("fusion", options.fusion), ("bm25", options.bm25)):
        if group is not None:
            check_group(group, name)
    varied = {
        name: getattr(options, name) for name in _SHARED if getattr(options, name) is not None
    }
    as_stages = {
        name: value for name in stage_options() if (value := getattr(options, name)) is not None
    }
    if options.stages is None:
        configured = {text.partition("=")[0] for text in config.search.stages}
        for name, value in as_stages.items():
            if name in configured:
                what = (
                    f"{name} {value}: search.stages of the configuration has the stage {name} too"
                )
                raise QueryError(
                    what, remedy=f"leave out {name}, or give the stages of this search", field=name
                )
    if as_stages:
        own = config.search.stages if options.stages is None else options.stages
        varied["stages"] = (*own, *(f"{name}={value}" for name, value in as_stages.items()))
    search = replace(config.search, **varied)
    config = retrievers.with_default_weights(
        replace(config, search=search, bm25=options.bm25 or config.bm25), manifest
    )
    if search.profile not in PROFILES:
        remedy = f"the profiles are {' and '.join(sorted(PROFILES))}"
        raise QueryError(f"there is no profile {search.profile!r}", remedy=remedy)
    name = retrievers.resolve(search.retriever, manifest, config, folder)
    kind = retrievers.kind(name)
    read = tuple(kind.views(name, manifest, config))
    approximate = any(
        searched_approximately(view, manifest, config.dense)
        for view in read
        if reads_vectors([view])
    )
    return ResolvedSearch(name, tuple(kind.rankings(name, config)), read, config, approximate)


def _open_retriever(
    state: IndexState, resolve: Callable[[Search], ResolvedSearch], options: Search
) -> Retriever:
    resolved = resolve(options)
    return state.ranking(resolved.retriever, resolved.settings)


def _words_for(terms: Sequence[str], text: str, vocabulary: TermCache) -> list[str]:
    """Return a word of the text for each term, or the term itself.

    A script without spaces needs the term itself: there, a word may be a sentence of many terms.
    """
    of_term: dict[str, str] = {}
    for word, made in sorted(vocabulary.matcher(frozenset(terms))(text).items()):
        if len(made) == 1:
            of_term.setdefault(made[0], word)
    of_term = {term: term for term in terms if vocabulary(term) == (term,)} | of_term
    return [of_term[term] for term in terms if term in of_term]
