"""A search of one index whose options are resolved: it answers any number of queries."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

from msgspec.structs import replace

from ...core.deadline import Deadline
from ...core.domain import FacetCounts, Filter, Hit, ScoredDocids, Total
from ...core.errors import QueryError
from ...core.folding import fold
from ...core.languages import foreign_language
from ...core.records.runs import best_documents
from ...core.terminal import join_words
from .. import retrievers, stages
from ..encoders.sources import languages
from ..lucene.analysis import TermCache, words_of
from ..lucene.spelling import admitted_edits, nearest, suspects, words_in
from ..retrievers import ExpandingRetriever, Retriever
from ..stages import Stage, StageContext
from ..store.manifest import LUCENE, WORDS
from .absent_words import ContentWord, absent_among, content_words, words_to_name
from .counting import check_fields
from .evidence import Evidence, Reading, read_evidences, read_passages
from .index_state import IndexState
from .nearness import Nearness, shares_words
from .options import CountQuery, IndexInfo, ResolvedSearch, Search, is_impacts
from .prepared_query import AnyQuery, PreparedQuery
from .relatedness import (
    CLEARLY_RELATED,
    JUDGED,
    RELATED,
    RELATED_ACROSS_LANGUAGES,
    UNTOLD,
    Relatedness,
)

# The maximum number of words to correct: a text with more is probably in another language.
_MOST_MISSPELT = 8


@dataclass(frozen=True, slots=True)
class PlanContext:
    """What all plans of an open index share: its state, its description, what stages read, and the
    cosines of random queries.
    """

    state: IndexState
    info: IndexInfo
    stages: StageContext
    nearness: Nearness


@dataclass(frozen=True, eq=False)
class Plan:
    """A search of one index, resolved once: its retriever, rankings, views, settings and stages.

    ``search`` has the options as they were given, ``resolved`` a value for each. The plan holds
    until its index is closed. Threads may share it.
    """

    context: PlanContext
    search: Search
    resolved: ResolvedSearch
    open_retriever: Callable[[], Retriever]

    @property
    def terms(self) -> TermCache:
        """The analyzer, opened on first use."""
        return self.context.state.terms

    @cached_property
    def stages(self) -> dict[str, Stage]:
        """The stages, by name.

        Raises QueryError if one cannot be used. The error names the field ``stages``, also if the
        configuration names them.
        """
        context = dataclasses.replace(self.context.stages, where=self.search.where)
        try:
            return stages.open_stages(self.resolved.settings.search.stages, context)
        except QueryError as error:
            field = error.field or "stages"
            raise QueryError(
                error.what, place=error.place, remedy=error.remedy, field=field
            ) from None

    def hits(
        self, queries: Sequence[AnyQuery], limit: Deadline | None = None, *, further: int = 0
    ) -> list[list[Hit]]:
        """Return the hits of each query, best first; ``limit`` records what was cut off.

        If there are more hits, return at most this many ``further`` hits after the ``k``. Raises
        QueryError if a query or an option is out of range.
        """
        search, settings = self.search, self.resolved.settings.search
        depth = min(self.resolved.depth(search.offset) + further, settings.max_k)
        prepared = self.resolved.prepare_all(queries)
        if settings.stages:
            ranked = stages.search(
                self.open_retriever(),
                self.stages,
                self.resolved,
                self.context.state,
                queries=prepared,
                k=depth,
                where=search.where,
                limit=limit,
            )
        else:
            ranked = self.open_retriever().search(prepared, depth, search.where, limit)
        return [hits[search.offset :] for hits in ranked] if search.offset else ranked

    def hits_and_first(
        self, queries: Sequence[AnyQuery], limit: Deadline | None = None, *, further: int = 0
    ) -> list[tuple[list[Hit], list[Hit]]]:
        """Return, for each query, its first hits, which decide whether the hits are related to it,
        and the hits that :meth:`hits` returns.

        The first hits depend neither on ``k`` nor on the offset.
        """
        search, offset = self.resolved.settings.search, self.search.offset
        wanted = self.resolved.depth(offset) + further
        # If the newest hits come first, the best ones may be anywhere in the window.
        judged = search.fusion.depth if self.search.sort else JUDGED
        whole = self
        if offset:
            whole = dataclasses.replace(self, search=replace(self.search, offset=0))
        rankings = whole.hits(queries, limit, further=max(wanted, judged) - search.k)
        return [(ranking[:judged], ranking[offset:wanted]) for ranking in rankings]

    def columns(
        self, queries: Sequence[AnyQuery], limit: Deadline | None = None
    ) -> list[ScoredDocids]:
        """Return the documents of the hits that :meth:`hits` returns, with their scores."""
        search = self.search
        if self.resolved.settings.search.stages or search.offset:
            return list(map(best_documents, self.hits(queries, limit)))
        depth = self.resolved.depth(search.offset)
        prepared = self.resolved.prepare_all(queries)
        return self.open_retriever().columns(prepared, depth, search.where, limit)

    def count(self, query: AnyQuery) -> Total:
        """Return the total number of hits."""
        return self.context.state.count(self._count_query(query, None))

    def facets(
        self, query: AnyQuery, fields: Mapping[str, int], condition: Filter | None = None
    ) -> dict[str, FacetCounts]:
        """Count the documents by the values of each field.

        A field's counts ignore the filter's own condition on this field, but not ``condition``, the
        part of the filter that the query itself contains.
        """
        check_fields(fields, self.context.info.filter_fields)
        return self.context.state.facets(self._count_query(query, condition), fields)

    def _count_query(self, query: AnyQuery, condition: Filter | None) -> CountQuery:
        (prepared,) = self.resolved.prepare_all([query])
        retriever = self.open_retriever()
        if isinstance(retriever, ExpandingRetriever):
            prepared = retriever.expand(prepared, self.search.where)
        return CountQuery(prepared, self.resolved, self.search.where, condition)

    def word_weights(self, query: AnyQuery, hits: Sequence[Hit]) -> list[dict[str, float]]:
        """Return, for each hit, the query's words in its passage, each with its share of the BM25
        score.

        If several words have the same term, the first word represents them.
        """
        state = self.context.state
        (prepared,) = self.resolved.prepare_all([query])
        words: dict[str, str] = {}
        for word in words_of(prepared.text):
            for term in state.terms(word):
                words.setdefault(term, word)
        places = [(hit.docid, hit.passage) for hit in hits]
        of_hits = []
        for terms in state.term_weights(prepared, places, self.resolved.settings.bm25):
            of_words: dict[str, float] = defaultdict(float)
            for term, weight in sorted(terms.items()):
                of_words[words.get(term, term)] += weight
            of_hits.append(dict(of_words))
        return of_hits

    def impact_weights(
        self, query: AnyQuery, hits: Sequence[Hit]
    ) -> list[dict[str, dict[str, float]]]:
        """Return, for each hit and each ranking by a sparse model, the query's terms in its
        passage, each with its share of that ranking's score.
        """
        state = self.context.state
        (prepared,) = self.resolved.prepare_all([query])
        places = [(hit.docid, hit.passage) for hit in hits]
        of_hits: list[dict[str, dict[str, float]]] = [{} for _ in hits]
        for ranking in self.resolved.rankings:
            for view in filter(is_impacts, self._views(ranking)):
                name = state.query_weights(view).name
                terms_of_hits = state.impacts_of(prepared, places, view)
                for of_hit, terms in zip(of_hits, terms_of_hits, strict=True):
                    of_hit[ranking] = {name(term): weight for term, weight in terms}
        return of_hits

    def evidence(
        self,
        query: AnyQuery,
        hits: Sequence[Hit],
        limit: Deadline | None = None,
        *,
        highlight: bool = True,
    ) -> list[Evidence]:
        """Return the evidence of the hits of ``query``."""
        return next(self.evidences([(query, hits)], limit, highlight=highlight))

    def evidences(
        self,
        ranked: Sequence[tuple[AnyQuery, Sequence[Hit]]],
        limit: Deadline | None = None,
        *,
        highlight: bool = True,
    ) -> Iterator[list[Evidence]]:
        """Yield the evidence of the hits of each query; hits that are read after the time limit
        have no highlights.
        """
        texts = [(self._text_to_mark(query), hits) for query, hits in ranked]
        reading = Reading(
            self.resolved.retriever, self.stages, self.search.offset, highlight, limit
        )
        evidences = read_evidences(self.context.state, texts, reading)
        return map(self._mark_weak, evidences) if self.resolved.encodes else evidences

    def _text_to_mark(self, query: AnyQuery) -> str:
        """Return the text whose words are highlighted: the query, and the words that a sparse model
        expects beside it.
        """
        text = self.resolved.text(query)
        words: dict[str, None] = {}
        for ranking in self.resolved.rankings:
            for view in filter(is_impacts, self._views(ranking)):
                words |= dict.fromkeys(self.context.state.query_weights(view).expected_words(text))
        return " ".join([text, *words])

    def _mark_weak(self, hits: list[Evidence]) -> list[Evidence]:
        self.context.nearness.mark_weak(hits)
        return hits

    def with_passages(
        self, query: AnyQuery, hits: Sequence[Evidence], limit: Deadline | None = None
    ) -> list[Evidence]:
        """Return the hits, each with its best passage and, if read in time, all others with a word
        of ``query``.
        """
        return read_passages(self.context.state, self.resolved.text(query), hits, limit)

    def relatedness(self, query: AnyQuery, hits: Sequence[Hit]) -> Relatedness:
        """Return whether the first hits of a query seem related to it."""
        if not hits or not self.resolved.encodes:
            return UNTOLD
        prepared = self.resolved.prepare(query)
        degrees = self._known_degrees(_text_of(prepared), hits)
        if not degrees:
            return UNTOLD
        nearest = max(degrees)
        is_own = not self.is_foreign(query)
        # A hit that shares the words is related too. Looking for them takes a call of Lucene.
        related = nearest >= (RELATED if is_own else RELATED_ACROSS_LANGUAGES) or any(
            shares_words(prepared.text, words) for words in self.word_weights(query, hits)
        )
        if is_own:
            return Relatedness(related, nearest < CLEARLY_RELATED)
        # Related documents in another language have the words of the query in that language.
        return Relatedness(related, False if related else None)

    def _known_degrees(self, text: str, hits: Sequence[Hit]) -> list[float]:
        """Return the degree of the nearest hit for each view whose encoder knows the language of
        the query.
        """
        resolved, info = self.resolved, self.context.info
        scores = [
            # The part of a stage says nothing about relatedness.
            (part.retriever, part.score)
            for hit in hits
            for part in hit.parts
            if part.retriever in resolved.rankings
        ] or [(resolved.retriever, hit.score) for hit in hits]
        degrees = self.context.nearness.degrees(scores)
        return [
            degree
            for view, degree in degrees.items()
            if not foreign_language(
                text, languages(info.encoders[view].name, resolved.settings.encoder)
            )
        ]

    def is_foreign(self, query: AnyQuery) -> bool:
        """Return whether a query is in another language than the index, as far as one can tell."""
        language = self.context.info.language
        text = _text_of(self.resolved.prepare(query))
        return bool(language and foreign_language(text, (language,)))

    def absent_words(self, query: AnyQuery) -> tuple[str, ...]:
        """Return the words of a query, as they are written there, that no document of the index
        contains; at most eight.

        Words whose absence says little are left out: see :mod:`.absent_words`.
        """
        words = self.content_words(query)
        return words_to_name(self.absent_among(query, words), words)

    def content_words(self, query: AnyQuery) -> list[ContentWord]:
        """Return the words of a query whose absence from the index would say something."""
        prepared = self.resolved.prepare(query)
        # A document of the index is no claim.
        return [] if prepared.docid else content_words(str(query), self.context.info.language)

    def absent_among(self, query: AnyQuery, words: Sequence[ContentWord]) -> list[ContentWord]:
        """Return those of the words of a query that no document of the index contains."""
        state, info = self.context.state, self.context.info
        if not words or WORDS not in info.published.views:
            return []
        return absent_among(state, words, info.language, self.spellings(query))

    def spellings(self, query: AnyQuery) -> Mapping[str, str]:
        """Return the misspelt words of a query, each with a correction that some passage under the
        filter contains.
        """
        state, language = self.context.state, self.context.state.manifest.language
        prepared = self.resolved.prepare(query)
        if prepared.docid or WORDS not in state.manifest.views:
            return {}
        text = fold(prepared.text)
        suspected = suspects(text, language)
        unknown = state.find_unwritten(list(suspected))
        if not unknown or len(unknown) > _MOST_MISSPELT:
            return {}
        is_foreign = partial(foreign_language, text, (language,))
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
            if form and state.has_word(form, self.search.where)
        }
        # Language detection is slow, and most queries with a few unknown words have no corrections.
        return {} if meant and is_foreign() else meant

    def note(self, query: AnyQuery) -> str:
        """Return a note for readers of the hits of ``query``, ``""`` if there is none.

        It says that the index is empty, that the query has only stop words or an unknown language,
        or that documents without a date are left out.
        """
        if not self.context.info.documents:
            return "the index has no documents yet"
        undated = self.count_undated()
        if set(self.resolved.views) == {LUCENE}:
            of_query = self._note_on_words(query)
        else:
            of_query = self._note_on_language(str(query))
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

    def _note_on_words(self, query: AnyQuery) -> str:
        chunks = str(query).split()
        if any(self.context.state.terms(word) for chunk in chunks for word in words_of(chunk)):
            return ""
        if self.resolved.prepare(query).docid:
            return "no other passage contains a word of this document"
        return f"the analyzer {self.context.info.published.analyzer} drops every word of this query"

    def _note_on_language(self, query: str) -> str:
        info, settings = self.context.info, self.resolved.settings
        for name in sorted(set(self.resolved.views) & info.encoders.keys()):
            known = languages(info.encoders[name].name, settings.encoder)
            if language := foreign_language(query, known):
                doubtful = sorted(each for each in info.retrievers if name in self._views(each))
                others = sorted(set(info.retrievers).difference(doubtful))
                trusted = ""
                if others:
                    are = "is" if len(others) == 1 else "are"
                    trusted = (
                        f"{join_words(others)} {are} more reliable here than "
                        f"{join_words(doubtful, 'or')}; "
                    )
                documents = f"the documents are in {info.language}, " if info.language else ""
                return (
                    f"the query looks like {language}, {documents}and the vectors of this index "
                    f"are for {', '.join(known)}"
                    f" ({info.encoders[name].name}); {trusted}a multilingual encoder would know "
                    "the language"
                )
        return ""

    def _views(self, retriever: str) -> Sequence[str]:
        settings = self.context.stages.settings
        return retrievers.kind(retriever).views(retriever, self.context.info.published, settings)

    def count_undated(self) -> int:
        """Return how many documents a date bound excludes because they have no date, ignoring
        conditions on words.
        """
        return self.context.state.count_undated(self.search.where) if self.search.where else 0


def _text_of(query: PreparedQuery) -> str:
    """Return the text whose language matters: none of a document of the index, which is in its
    language.
    """
    return "" if query.docid else query.text
