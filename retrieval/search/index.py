"""The open index: it takes missing options of searches from the configuration, and composes
answers.

The index reads its files through its state, an ``IndexState``.
"""

from __future__ import annotations

import dataclasses
import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from statistics import pstdev
from typing import TYPE_CHECKING, Self, cast

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
from ...core.folding import fold
from ...core.languages import unknown_language
from ...core.records.runs import best_documents
from ...core.settings import check_group
from ...core.terminal import join_words
from ...core.text import PROFILES, refuse_text
from .. import retrievers, stages
from ..config import Config
from ..dense.noise import noise_threshold
from ..dense.vectors import Vectors
from ..encoders.cross_encoder import OnnxCrossEncoder
from ..encoders.runtime import SharedEncoders
from ..encoders.sources import languages
from ..filters import FIELDS, days_of, refuse_texts
from ..lucene.analysis import TermCache, words_of
from ..lucene.index import flat_text
from ..lucene.spelling import admitted_edits, nearest, suspects, words_in
from ..retrievers import ExpandingRetriever, Retriever
from ..stages import Stage, StageContext
from ..stages.collapse import NEAR
from ..stages.rerank import re_ranker
from ..store.manifest import DOCUMENTS, LUCENE, VECTORS, WORDS, Manifest
from ..store.signatures import most_disagreements
from ..views import view as view_of
from ..views.vectors import searched_approximately
from .answer import Answer, Question, answer
from .counting import check_fields
from .evidence import Evidence, Reading, read_evidences, read_passages
from .opening import Opening, open_state
from .options import (
    DEFAULT_SEARCH,
    CountQuery,
    Footprint,
    IndexInfo,
    IndexState,
    ResolvedSearch,
    Search,
    ShardHealth,
    reads_vectors,
)
from .prepared_query import AnyQuery, PreparedQuery
from .snapshot import IndexEncoders

if TYPE_CHECKING:
    from ..encoders.runtime import OnnxEncoder as Encoder

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
# The maximum number of words to correct: a text with more is probably in another language.
_MOST_MISSPELT = 8
_SMALL = 2  # a word of at most this many characters says little about a text
_ENOUGH = 8
"""A hit seems related if it contains more than half of a text's words; for a longer text, more than
half of this.
"""
_CLEARLY = 3
"""A passage is clearly near if its cosine exceeds the noise threshold by this many standard
deviations.

These are the standard deviations of the cosines of random queries.
"""
_NEARER = 0.2
"""The minimum distance between the noise threshold and the cosine of a passage that is clearly
near.

It is a share of the distance from the threshold to 1. It matters in an index of a few short texts,
whose cosines are all well above the threshold.
"""


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
            what = (
                "%s: search.fusion.weights names %s, which the index lacks; auto searches "
                "without a fusion"
            )
            log.warning(what, folder, join_words(lacking))
        # The caches refer to the state, not to this object: a cycle would keep a closed index in
        # memory until garbage collection.
        resolve = partial(_resolve, state.manifest, state.folder, self.settings)
        self._resolved = lru_cache(maxsize=REMEMBERED)(resolve)
        self._retriever = lru_cache(maxsize=REMEMBERED)(
            partial(_open_retriever, state, self._resolved)
        )
        self._vectors_alone = lru_cache(maxsize=REMEMBERED)(
            partial(_vectors_alone, state.manifest, self.settings)
        )
        self._context = StageContext(self.settings, state)
        self._floors: dict[str, tuple[float, float]] = {}
        self.info = IndexInfo.of(
            Path(folder), state.manifest, retrievers.list_retrievers(state.manifest, self.settings)
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
        return re_ranker(self._context)

    def resolve(self, options: Search = DEFAULT_SEARCH) -> ResolvedSearch:
        """Return a search with every option resolved.

        Raises QueryError if the profile or the retriever does not exist, or if the index lacks what
        the retriever or the filter needs. Raises TypeError if ``stages``, or a field of the filter,
        is a single string.
        """
        return self._resolved(self._shared_options(options))

    def _shared_options(self, options: Search) -> Search:
        """Return the options that searches share: without the filter, which is checked, and the
        offset.
        """
        if options.where is not None:
            _check_filter(options.where, self._state.manifest)
        named = options.stages
        if named is not None and not isinstance(named, tuple):
            refuse_text("stages", named)
            named = tuple(named)
        return options._replace(stages=named, where=None, offset=0)

    def search(
        self,
        queries: Sequence[AnyQuery],
        options: Search = DEFAULT_SEARCH,
        limit: Deadline | None = None,
    ) -> list[list[Hit]]:
        """Return the hits of each query, best first; ``limit`` records what was cut off.

        Raises QueryError if a query or an option is out of range.
        """
        shared = self._shared_options(options)
        resolved = self._resolved(shared)
        k, prepared = resolved.depth(options.offset), resolved.prepare_all(queries)
        if resolved.settings.search.stages:
            staged, retriever = self._stages_of(resolved, options.where), self._retriever(shared)
            ranked = stages.search(
                retriever,
                staged,
                resolved,
                self._state,
                queries=prepared,
                k=k,
                where=options.where,
                limit=limit,
            )
        else:
            ranked = self._retriever(shared).search(prepared, k, options.where, limit)
        return [hits[options.offset :] for hits in ranked] if options.offset else ranked

    def columns(
        self,
        queries: Sequence[AnyQuery],
        options: Search = DEFAULT_SEARCH,
        limit: Deadline | None = None,
    ) -> list[ScoredDocids]:
        """Return the documents of the hits that :meth:`search` returns, with their scores."""
        shared = self._shared_options(options)
        resolved = self._resolved(shared)
        if resolved.settings.search.stages or options.offset:
            return list(map(best_documents, self.search(queries, options, limit)))
        k, prepared = resolved.depth(options.offset), resolved.prepare_all(queries)
        return self._retriever(shared).columns(prepared, k, options.where, limit)

    def stages(self, texts: Sequence[str], where: Filter | None = None) -> dict[str, Stage]:
        """Return the stages that ``texts`` name, by name.

        Raises QueryError if one cannot be used.
        """
        return stages.open_stages(texts, dataclasses.replace(self._context, where=where))

    def _stages_of(self, resolved: ResolvedSearch, where: Filter | None) -> dict[str, Stage]:
        """Return the stages of a search; an error names the field ``stages``, also if the
        configuration names them.
        """
        try:
            return self.stages(resolved.settings.search.stages, where)
        except QueryError as error:
            field = error.field or "stages"
            raise QueryError(
                error.what, place=error.place, remedy=error.remedy, field=field
            ) from None

    def count(self, query: AnyQuery, options: Search = DEFAULT_SEARCH) -> Total:
        """Return the total number of hits of a search."""
        return self._state.count(self._question(query, options))

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
        check_fields(fields, self.info.filter_fields)
        return self._state.facets(self._question(query, options, condition), fields)

    def _question(
        self, query: AnyQuery, options: Search, condition: Filter | None = None
    ) -> CountQuery:
        shared = self._shared_options(options)
        resolved = self._resolved(shared)
        (prepared,) = resolved.prepare_all([query])
        if retrievers.expanding(resolved.retriever) is not None:
            retriever = cast(ExpandingRetriever, self._retriever(shared))
            prepared = retriever.expand(prepared, options.where)
        return CountQuery(prepared, resolved, options.where, condition)

    def word_weights(
        self, query: AnyQuery, hits: Sequence[Hit], options: Search = DEFAULT_SEARCH
    ) -> list[dict[str, float]]:
        """Return, for each hit, the query's words in its passage, each with its share of the BM25
        score.

        If several words have the same term, the first word represents them.
        """
        resolved = self.resolve(options)
        (prepared,) = resolved.prepare_all([query])
        words: dict[str, str] = {}
        for word in words_of(prepared.text):
            for term in self.terms(word):
                words.setdefault(term, word)
        places, of_hits = [(hit.docid, hit.passage) for hit in hits], []
        for terms in self._state.term_weights(prepared, places, resolved.settings.bm25):
            of_words: dict[str, float] = defaultdict(float)
            for term, weight in sorted(terms.items()):
                of_words[words.get(term, term)] += weight
            of_hits.append(dict(of_words))
        return of_hits

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
                [(docid, passage.number) for passage in state.passages(docid)]
            )
            excluded.update(*state.near_copies(signatures, most_disagreements(NEAR), None))
        query = PreparedQuery(" ".join(_words_for(heaviest, text, state.terms)), docid=docid)
        return query, options._replace(where=where._replace(excluded=tuple(sorted(excluded))))

    def spellings(self, query: AnyQuery, options: Search = DEFAULT_SEARCH) -> Mapping[str, str]:
        """Return the misspelt words of a query, each with a correction that some passage under the
        filter contains.
        """
        state, language = self._state, self._state.manifest.language
        prepared = self.resolve(options).prepare(query)
        if prepared.docid or WORDS not in state.manifest.views:
            return {}
        text = fold(prepared.text)
        suspected = suspects(text, language)
        unknown = state.find_unwritten(list(suspected))
        if not unknown or len(unknown) > _MOST_MISSPELT:
            return {}
        is_foreign = partial(unknown_language, text, (language,))
        if 2 * len(unknown) > len(words_in(text.lower())) and is_foreign():
            return {}
        near = {
            word: nearest(
                word, state.words_near(word, admitted_edits(word)), may_be_name=suspected[word]
            )
            for word in unknown
        }
        meant = {
            word: form
            for word, form in near.items()
            if form and state.has_word(form, options.where)
        }
        # Language detection is slow, and most queries with a few unknown words have no corrections.
        return {} if meant and is_foreign() else meant

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
        if reads_vectors(names):
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
        return next(self.evidences([(query, hits)], options, highlight=highlight, limit=limit))

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
        resolved = self.resolve(options)
        read = [(resolved.text(query), hits) for query, hits in ranked]
        staged = self._stages_of(resolved, options.where)
        evidences = read_evidences(
            self._state,
            read,
            Reading(resolved.retriever, staged, options.offset, highlight, limit),
        )
        return map(self._with_weak, evidences) if resolved.encodes else evidences

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
        return read_passages(self._state, self.resolve(options).text(query), hits, limit)

    def answer(self, question: Question, limit: Deadline | None = None) -> Answer:
        """Answer a question, as :func:`factseek.retrieval.search.answer.answer` does."""
        return answer(self, question, limit)

    def _with_weak(self, hits: list[Evidence]) -> list[Evidence]:
        """Mark a hit as weak if only vectors found it and each of its cosines is below the noise
        threshold.
        """
        for hit in hits:
            views = [
                (self._vectors_alone(name), part.score) for name, part in hit.retrievers.items()
            ]
            if all(view and score < self._floor(view)[0] for view, score in views):
                hit.weak = True
        return hits

    def bears(self, text: str, scores: Mapping[str, float], words: Collection[str]) -> bool:
        """Return whether a hit seems related to a text, from its score in each ranking and the
        words that it contains.

        It seems related if its cosine is clearly above that of random queries, or if it contains
        more than half of the words of the text. An index without vectors cannot tell: every hit
        counts as related.
        """
        if not self.resolve().encodes:
            return True
        views = [(self._vectors_alone(name), score) for name, score in scores.items()]
        if any(view and score >= self._floor(view)[1] for view, score in views):
            return True
        of_text, of_hit = (
            [
                word
                for word in {word.lower() for word in some}
                if len(word) > _SMALL or word.isdigit()
            ]
            for some in (words_in(text), words)
        )
        return bool(of_hit) and len(of_hit) > min(len(of_text), _ENOUGH) / 2

    def _floor(self, view: str) -> tuple[float, float]:
        """Return two cosines of a view: hits below the first are not near, hits from the second on
        are clearly near.
        """
        if view not in self._floors:
            by_chance = self._state.noise_similarities(view)
            floor = noise_threshold(by_chance)
            spread = pstdev(by_chance) if by_chance else 0.0
            self._floors[view] = floor, floor + max(_CLEARLY * spread, _NEARER * (1 - floor))
        return self._floors[view]

    def document(self, docid: str) -> Document:
        """Return the document of this docid."""
        return self._state.document(docid)

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
        return self._state.passages(docid)

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
        resolved = self.resolve(options)
        undated = self.undated(options)
        if set(resolved.views) == {LUCENE}:
            of_query = self._note_on_words(resolved.prepare(query), str(query))
        else:
            of_query = self._note_on_language(str(query), resolved)
        notes = [of_query]
        if undated:
            documents = (
                "1 document has no date and is"
                if undated == 1
                else f"{undated:,} documents have no date and are"
            )
            notes.append(
                f"{documents} left out by the date filter; undated: keep (--undated keep) includes "
                "them"
            )
        return "; ".join(filter(None, notes))

    def _note_on_words(self, query: PreparedQuery, typed: str) -> str:
        if any(self.terms(word) for chunk in typed.split() for word in words_of(chunk)):
            return ""
        if query.docid:
            return "no other passage contains a word of this document"
        return f"the analyzer {self.info.published.analyzer} drops every word of this query"

    def _note_on_language(self, query: str, resolved: ResolvedSearch) -> str:
        encoders = self.info.encoders
        for name in sorted(set(resolved.views) & encoders.keys()):
            known = languages(encoders[name].name, resolved.settings.encoder)
            if language := unknown_language(query, known):
                doubtful = sorted(
                    each for each in self.info.retrievers if name in self._views(each)
                )
                others = sorted(set(self.info.retrievers).difference(doubtful))
                trusted = ""
                if others:
                    are = "is" if len(others) == 1 else "are"
                    trusted = (
                        f"{join_words(others)} {are} more reliable here than "
                        f"{join_words(doubtful, 'or')}; "
                    )
                return (
                    f"the query looks like {language}, and the vectors of this index are for "
                    f"{', '.join(known)}"
                    f" ({encoders[name].name}); {trusted}a multilingual encoder would know the "
                    "language"
                )
        return ""

    def undated(self, options: Search = DEFAULT_SEARCH) -> int:
        """Return how many documents a date bound excludes because they have no date, ignoring
        conditions on words.
        """
        return self._state.count_undated(options.where) if options.where else 0

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
        self._context.opened.end(self._state.folder)
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
    last = {
        name: value
        for name, value in (("collapse", options.collapse), ("sort", options.sort))
        if value
    }
    if options.stages is None:
        configured = {text.partition("=")[0] for text in config.search.stages}
        for name, value in last.items():
            if name in configured:
                what = (
                    f"{name} {value}: search.stages of the configuration has the stage {name} too"
                )
                raise QueryError(
                    what, remedy=f"leave out {name}, or give the stages of this search", field=name
                )
    if last:
        own = config.search.stages if options.stages is None else options.stages
        varied["stages"] = (*own, *(f"{name}={value}" for name, value in last.items()))
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


def _vectors_alone(manifest: Manifest, settings: Config, ranking: str) -> str:
    """Return the view of vectors if a ranking reads nothing else, else ``""``."""
    views = retrievers.kind(ranking).views(ranking, manifest, settings)
    return views[0] if len(views) == 1 and reads_vectors(views) else ""


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
