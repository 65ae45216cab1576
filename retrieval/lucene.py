"""Lucene: writing a segment's index and searching several as one.

Crossing from Python into Java is what costs, so some hundred passages are added with two calls and a search answered
with one string, whatever the number of hits.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import cached_property, lru_cache, partial
from pathlib import Path
from time import monotonic
from typing import Any, Literal, NamedTuple, TypeVar, overload

import msgspec
import numpy as np
from numpy.typing import NDArray

from .analyzers import ANALYZERS
from .collection_statistics import CollectionQuery, CollectionStatistics, FieldStatistics, Term, TermCount
from .domain import Filter
from .errors import IndexStateError, MachineError
from .filters import FIELDS, METADATA, token
from .integrity import REMEDY
from .java import chars, exclusive, guarded, java_cast, java_class, java_thread, kept, own_class, shared
from .lucene_adding import PassageAdder
from .lucene_finding import FIND, SearchObjects, one_crossing
from .lucene_matches import MatchFinder
from .lucene_statistics import JavaStatistics, field_statistics, term_counts
from .lucene_weights import term_weights
from .lucene_words import without, word_clauses
from .vocabulary import Vocabulary

Fields = Literal["flat", "title_text"]
Ranked = tuple[list[float], list[int]]
"""Scores and rows, best first."""
FLAT, TITLE, TEXT, FILTERS = "contents", "title", "text", "filters"
LONGEST_TOKEN = 32_766  # bytes: Lucene's own limit for a term
_MOST_CLAUSES = 65_536
_FEW_WORDS = 1_000  # that are analysed one by one: the first time, what analyses many takes a third of a second to load
_WORDS_AT_ONCE = 1_000  # that are analysed while others wait
_PASSAGES_AT_ONCE, _CHARACTERS_AT_ONCE = 256, 1 << 20  # that are handed to Java to be added
_OBJECT = "java.lang.Object"
_ANALYZE = "(Lorg/apache/lucene/analysis/Analyzer;Ljava/lang/String;)Ljava/util/List;"
_AT_ONCE = 200  # ids of deleted documents that are handed to Java while others wait
_FINDERS = 64  # kinds of searches that a thread keeps what finds their hits in one crossing for
_NEARLY = 15 / 16  # of the time that a search has: a limit that another one left may end so early
_UNREADABLE = "cannot be read ({})", REMEDY
_Returned = TypeVar("_Returned")


class Weights(NamedTuple):
    """The parameters of BM25 that are chosen at the time of a search."""

    k1: float = 0.9
    b: float = 0.4
    title: float = 1.0
    text: float = 1.0


EQUAL_WEIGHTS = Weights()


class _ScoreDoc(msgspec.Struct, array_like=True, gc=False):
    """A hit of Lucene's; its properties come in the order of their names, and the last, ``shardIndex``, is left."""

    doc: int
    score: float


class _TopDocs(msgspec.Struct, array_like=True):
    """What a search of Lucene's returns; ``totalHits`` is left."""

    scoreDocs: list[_ScoreDoc]  # noqa: N815  Lucene's own name


@exclusive
def open_analyzer(name: str) -> Any:
    """Return the Java analyzer of a name in :data:`factseek.retrieval.analyzers.ANALYZERS`."""
    java = java_class(ANALYZERS[name])
    return java.newDefaultInstance() if name == "english" else java()


class TermFinder(Vocabulary):
    """The vocabulary of an analyzer of Lucene."""

    @exclusive
    def __init__(self, analyzer: str) -> None:
        self._analyzer = open_analyzer(analyzer)
        super().__init__(self._terms)

    @exclusive
    def close(self) -> None:
        """Release the analyzer; from then on no word has terms."""
        self._analyzer = None
        super().__init__(_no_terms)

    @exclusive
    def tokens(self, text: str) -> list[str]:
        """Return the terms of a text as they stand in it."""
        return _tokens(self._analyzer, _java_text(text))

    def _terms(self, words: Sequence[str]) -> list[tuple[str, ...]]:
        """Return the terms of each word; other threads may use the JVM after every thousand."""
        if len(words) < _FEW_WORDS:
            return [self._terms_of(word) for word in words]
        return [terms for some in _batches(words, _WORDS_AT_ONCE) for terms in self._terms_of_many(some)]

    @exclusive
    def _terms_of(self, word: str) -> tuple[str, ...]:
        analyze = java_class("io.anserini.analysis.AnalyzerUtils").analyze
        return tuple(analyze(self._analyzer, _java_text(word)).toArray())

    @exclusive
    def _terms_of_many(self, words: Sequence[str]) -> list[tuple[str, ...]]:
        """Return the terms of each word in three crossings, which take as long as those for a few words."""
        mapper = java_class("com.fasterxml.jackson.databind.ObjectMapper")()
        encoded = msgspec.json.encode([_java_text(word) for word in words]).decode()
        java_words = mapper.readValue(encoded, _java_type("java.util.List"))
        terms = java_cast("java.util.Collection", java_words).stream().map(self._analysis()).toList()
        return msgspec.json.decode(mapper.writeValueAsString(java_cast(_OBJECT, terms)), type=list[tuple[str, ...]])

    def _analysis(self) -> Any:
        """Return Anserini's ``analyze`` with this analyzer as a Java function."""
        kind = java_class("java.lang.invoke.MethodType").fromMethodDescriptorString(_ANALYZE, None)
        lookup = java_class("java.lang.invoke.MethodHandles").publicLookup()
        analyze = lookup.findStatic(_java_type("io.anserini.analysis.AnalyzerUtils"), "analyze", kind)
        as_instance = java_class("java.lang.invoke.MethodHandleProxies").asInterfaceInstance
        function = "java.util.function.Function"
        return java_cast(function, as_instance(_java_type(function), analyze.bindTo(self._analyzer)))


def _java_type(name: str) -> Any:
    return java_class("java.lang.Class").forName(name)


def _batches(words: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    for start in range(0, len(words), size):
        yield words[start : start + size]


def _no_terms(words: Sequence[str]) -> list[tuple[str, ...]]:
    return [()] * len(words)


class PassageWriter:
    """Writes the Lucene index of one segment: passages in the order in which they are added, in one leaf.

    They are gathered, and added some hundred at a time in a thread beside the one that reads.
    """

    def __init__(
        self, folder: Path, analyzer: str, fields: Fields, buffer_mb: int = 128, *, phrases: bool = False
    ) -> None:
        """Open the index to be written; with ``phrases`` the places of words are indexed too."""
        self._folder = folder
        self._fields = fields
        self._open(analyzer, buffer_mb, phrases=phrases)
        self._gathered: list[tuple[str, ...]] = []
        self._size = 0
        self._beside = ThreadPoolExecutor(1, thread_name_prefix="lucene")
        self._adding: Future[None] | None = None
        self._finishing: Future[int] | None = None

    @exclusive
    def _open(self, analyzer: str, buffer_mb: int, *, phrases: bool) -> None:
        self._writer = self._guarded(lambda: _index_writer(self._folder, analyzer, buffer_mb))
        names = (FLAT,) if self._fields == "flat" else (TITLE, TEXT)
        document = java_class("org.apache.lucene.document.Document")()
        slots = [_slot(document, name, _text_type(phrases=phrases)) for name in names]
        self._adder = PassageAdder(self._writer, document, [*slots, _slot(document, FILTERS, _filter_type())])

    def add(self, title: str, text: str, filters: str) -> None:
        """Add the next passage; ``filters`` is :func:`factseek.retrieval.filters.tokens`'s string.

        Raises MachineError if the disk is full, which may be noticed some passages later.
        """
        texts = (flat_text(title, text),) if self._fields == "flat" else (title, text)
        self._gathered.append((*map(_java_text, texts), filters))
        self._size += len(title) + len(text)
        if len(self._gathered) >= _PASSAGES_AT_ONCE or self._size >= _CHARACTERS_AT_ONCE:
            self._hand_over()

    def end(self) -> None:
        """Begin, beside, to merge what was added to one leaf, to make it durable and to close.

        Raises MachineError if the disk is full.
        """
        self._begin_finishing()

    def finish(self) -> int:
        """Wait until what :meth:`end` begins is done; return the number of passages.

        Raises MachineError if the disk is full.
        """
        finishing = self._begin_finishing()
        self._wait()
        count = finishing.result()
        self._end_thread()
        return count

    def abandon(self) -> None:
        """Close without keeping anything; a writer that has failed is closed already."""
        self._end_thread()
        self._roll_back()

    def _begin_finishing(self) -> Future[int]:
        if self._finishing is None:
            self._hand_over()
            self._finishing = self._beside.submit(self._finished)
        return self._finishing

    def _hand_over(self) -> None:
        """Have what was gathered added beside, once that has been added which was handed over before."""
        self._wait()
        gathered, self._gathered, self._size = self._gathered, [], 0
        if gathered:
            self._adding = self._beside.submit(self._guarded, partial(self._adder.add, gathered))

    def _wait(self) -> None:
        adding, self._adding = self._adding, None
        if adding is not None:
            adding.result()

    def _end_thread(self) -> None:
        """Wait for whatever is done beside, and end the thread."""
        with suppress(RuntimeError):  # it has ended already
            self._beside.submit(java_thread()(lambda: None))
        self._beside.shutdown()

    @exclusive
    def _finished(self) -> int:
        return self._guarded(partial(_finished, self._writer))

    @exclusive
    def _roll_back(self) -> None:
        with suppress(MachineError):
            self._guarded(self._writer.rollback)

    def _guarded(self, call: Callable[[], _Returned]) -> _Returned:
        return guarded(call, self._folder, MachineError, "cannot be written ({})")


def _index_writer(folder: Path, analyzer: str, buffer_mb: int) -> Any:
    config = java_class("org.apache.lucene.index.IndexWriterConfig")(_with_filters(open_analyzer(analyzer)))
    config.setRAMBufferSizeMB(float(buffer_mb))
    # Neighbours are merged with neighbours: document numbers stay the order of adding.
    config.setMergePolicy(java_class("org.apache.lucene.index.LogDocMergePolicy")())
    config.setMergeScheduler(java_class("org.apache.lucene.index.SerialMergeScheduler")())
    return java_class("org.apache.lucene.index.IndexWriter")(_directory(folder), config)


def _slot(document: Any, name: str, kind: Any) -> Any:
    field = java_class("org.apache.lucene.document.Field")(name, chars(" "), kind)
    document.add(field)
    return field


def _finished(writer: Any) -> int:
    writer.forceMerge(1)
    count = int(writer.getDocStats().numDocs)
    writer.close()
    return count


def flat_text(title: str, text: str) -> str:
    """Return the one flat field: title, newline and text."""
    return f"{title}\n{text}" if title else text


def _java_text(text: str) -> str:
    """Return ``text`` without lone surrogates, which Java refuses, and NUL, where it would cut the text.

    Pyjnius takes no subclass of ``str``.
    """
    if "\0" in text:
        text = text.replace("\0", " ")
    return str(text) if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


class PassageSearcher:
    """Searches the Lucene indexes of several segments as one, with global statistics.

    Rows number the passages of all segments in order. Safe for threads, which search side by side: each has Java
    objects of its own. The thread that closes it should be the one that opened it.
    """

    def __init__(self, folders: Sequence[Path], analyzer: str, fields: Fields, dead: Sequence[str] = ()) -> None:
        """Open the indexes in ``folders``; ``dead`` names the documents that are deleted as ``segment:docid``.

        Others search meanwhile: no step keeps them waiting for long. Raises IndexStateError if one cannot be read.
        """
        self._place = os.path.commonpath(folders) if folders else ""
        self._fields = fields
        self._readers = [guarded(partial(_reader, folder), folder, IndexStateError, *_UNREADABLE) for folder in folders]
        joined = self._readers[0] if len(self._readers) == 1 else _joined(self._readers)
        self._reader = java_cast("org.apache.lucene.index.IndexReader", joined)
        # The id of a document in Lucene carries the name of its segment, whose folder ours lies in.
        self._segments = tuple(folder.parent.name for folder in folders)
        self._analyzer = java_cast("org.apache.lucene.analysis.Analyzer", open_analyzer(analyzer))
        self._dead = _any_of("id", dead) if dead else None
        self._key = _Key()
        _prepare()

    @property
    @exclusive
    def segment_rows(self) -> list[int]:
        """The number of passages of each segment."""
        return [int(reader.maxDoc()) for reader in self._readers]

    @property
    @exclusive
    def rows(self) -> int:
        """The number of passages."""
        return int(self._reader.maxDoc())

    @overload
    def search(self, query: str, n: int, where: Filter | None = None, weights: Weights = EQUAL_WEIGHTS) -> Ranked: ...

    @overload
    def search(
        self, query: str, n: int, where: Filter | None = None, weights: Weights = EQUAL_WEIGHTS, *, seconds: float
    ) -> Ranked | None: ...

    def search(
        self,
        query: str,
        n: int,
        where: Filter | None = None,
        weights: Weights = EQUAL_WEIGHTS,
        *,
        seconds: float | None = None,
    ) -> Ranked | None:
        """Return scores and rows of the ``n`` best passages by score descending, then row ascending.

        Scores are float32 values. Among equal scores at the cut, which rows come back is Lucene's choice. None means
        that it took longer than ``seconds``. Raises IndexStateError if the index turns out to be damaged.
        """
        hits = guarded(
            lambda: self._search(query, n, where, weights, seconds), self._place, IndexStateError, *_UNREADABLE
        )
        return None if hits is None else ([hit.score for hit in hits], [hit.doc for hit in hits])

    def _search(
        self, query: str, n: int, where: Filter | None, weights: Weights, seconds: float | None
    ) -> list[_ScoreDoc] | None:
        own = self._own()
        tools = own.tools(where, weights, timed=seconds is not None, of_collection=_statistics(query))
        text = _java_text(query)
        quick = None if where or self._dead else own.quick(tools, n)
        with shared:
            if quick is not None:
                return own.hits(tools, partial(getattr(quick, FIND), text), seconds)
            java = own.query(tools, text)
            if java is None:
                return []
            if where or self._dead:
                java = own.restricted(tools, java, self._dead)
            hits = own.hits(tools, partial(own.as_json, tools, java, n), seconds)
            del java
            return hits

    def matching(self, where: Filter) -> list[int]:
        """Return the rows of all passages that pass a filter, also those of deleted documents.

        Raises QueryError if a phrase holds no words, IndexStateError if the index turns out to be damaged.
        """
        return guarded(lambda: self._matching(where), self._place, IndexStateError, *_UNREADABLE)

    def _matching(self, where: Filter) -> list[int]:
        own = self._own()
        tools = own.tools(where, EQUAL_WEIGHTS, timed=False)
        with shared:
            return own.rows(tools)

    def holds(self, word: str) -> bool:
        """Return whether a passage, or a deleted one, holds a term of a word.

        Other threads search meanwhile. Raises IndexStateError if the index turns out to be damaged.
        """
        return guarded(lambda: self._holds(word), self._place, IndexStateError, *_UNREADABLE)

    def _holds(self, word: str) -> bool:
        own = self._own()
        tools = own.tools(None, EQUAL_WEIGHTS, timed=False)
        with shared:
            java = own.query(tools, _java_text(word))
            held = java is not None and tools.searcher.count(java) > 0
            del java
        return bool(held)

    def having_words(self, query: str) -> NDArray[np.bool_]:
        """Return a mask of the passages that hold a word of the query: those that a search may find, and deleted ones.

        Raises IndexStateError if the index turns out to be damaged.
        """
        return guarded(lambda: self._having_words(query), self._place, IndexStateError, *_UNREADABLE)

    def _having_words(self, query: str) -> NDArray[np.bool_]:
        terms = sorted(set(_tokens(self._analyzer, _java_text(query))))
        return self._own().finder.matches(terms)

    def term_weights(self, query: str, rows: Sequence[int], weights: Weights = EQUAL_WEIGHTS) -> list[dict[str, float]]:
        """Return, for each of these passages, the terms of the query that it holds, with what each adds to the score.

        Raises IndexStateError if the index turns out to be damaged.
        """
        return guarded(lambda: self._term_weights(query, rows, weights), self._place, IndexStateError, *_UNREADABLE)

    def _term_weights(self, query: str, rows: Sequence[int], weights: Weights) -> list[dict[str, float]]:
        own = self._own()
        tools = own.tools(None, weights, timed=False, of_collection=_statistics(query))
        with shared:
            java = own.query(tools, _java_text(query))
        return [{} for _ in rows] if java is None else term_weights(tools.searcher, java, rows)

    def field_statistics(self) -> list[FieldStatistics]:
        """Return the statistics of the fields that words are searched in.

        Raises IndexStateError if the index turns out to be damaged.
        """
        names = (FLAT,) if self._fields == "flat" else (TEXT, TITLE)
        return guarded(partial(field_statistics, self._reader, names), self._place, IndexStateError, *_UNREADABLE)

    def term_counts(self, terms: Sequence[Term]) -> list[TermCount]:
        """Return in how many passages terms stand, and how often.

        Raises IndexStateError if the index turns out to be damaged.
        """
        return guarded(partial(term_counts, self._reader, terms), self._place, IndexStateError, *_UNREADABLE)

    @exclusive
    def close(self) -> None:
        """Close the readers; searches must have ended."""
        for reader in self._readers:
            reader.close()
        self._readers.clear()
        self._key.closed = True
        kept().pop(self._key, None)
        self._reader = self._analyzer = self._dead = None

    def _own(self) -> _ThreadSearcher:
        """Return the current thread's own objects for searching, made when it first searches."""
        mine = kept()
        own: _ThreadSearcher | None = mine.get(self._key)
        if own is None:
            for key in [key for key in mine if isinstance(key, _Key) and key.closed]:
                del mine[key]
            own = mine[self._key] = _ThreadSearcher(self._reader, self._analyzer, self._fields, self._segments)
        return own


@exclusive
def _prepare() -> None:
    """Load the Java classes that must not be loaded within :data:`shared`."""
    for name in ("BooleanQuery", "BooleanQuery$Builder", "IndexSearcher", "Query", "TopDocs"):
        java_class(f"org.apache.lucene.search.{name}")
    java_class("org.apache.lucene.search.IndexSearcher").setMaxClauseCount(_MOST_CLAUSES)


class _Key:
    """The key of a searcher among the objects that a thread keeps; it does not keep the searcher alive."""

    closed = False


_QUERY = "Lorg/apache/lucene/search/Query;"
_SEARCHER = {
    "search": f"({_QUERY}I)Lorg/apache/lucene/search/TopDocs;",
    "count": f"({_QUERY})I",
    "setTimeout": "(Lorg/apache/lucene/index/QueryTimeout;)V",
    "timedOut": "()Z",
}
_BUILD = "Lorg/apache/lucene/analysis/Analyzer;Ljava/lang/String;)" + _QUERY
_GENERATOR = {
    "flat": {"buildQuery": f"(Ljava/lang/String;{_BUILD}"},
    "title_text": {"buildQuery": f"(Ljava/util/Map;{_BUILD}"},
}
_MAPPER = {"writeValueAsString": "(Ljava/lang/Object;)Ljava/lang/String;"}
_BOTH = "org.apache.lucene.search.BooleanQuery$Builder"
_BUILDER = {
    "add": f"({_QUERY}Lorg/apache/lucene/search/BooleanClause$Occur;)Lorg/apache/lucene/search/BooleanQuery$Builder;",
    "build": "()Lorg/apache/lucene/search/BooleanQuery;",
}


class _Tools(NamedTuple):
    """The objects that one kind of search needs, made before the search."""

    weights: Weights
    fields: Any
    searcher: Any
    clock: _Clock
    restriction: tuple[Any, ...]


class _Clock:
    """When the time limit is over that a searcher of Lucene has, by the monotonic clock.

    To give it another one crosses into Java twice, so it keeps the one that it has while that is nearly the right one.
    """

    over = 0.0

    def suits(self, now: float, seconds: float) -> bool:
        """Return whether the limit ends within the last sixteenth of so many seconds from now."""
        return now + _NEARLY * seconds <= self.over <= now + seconds


class _ThreadSearcher:
    """The objects that one thread searches with: none is shared, so that threads search side by side."""

    @exclusive
    def __init__(self, reader: Any, analyzer: Any, fields: Fields, segments: Sequence[str]) -> None:
        self._reader = reader
        self._analyzer = analyzer
        self._fields = lru_cache(maxsize=64)(_flat if fields == "flat" else _title_text)
        self._searcher = lru_cache(maxsize=64)(partial(_searcher, reader))
        self._asked_once: set[tuple[_Clock, Weights, int]] = set()
        self._finders: dict[tuple[_Clock, Weights, int], Any] = {}
        self._of_collection: JavaStatistics | None = None
        self._names = (FLAT,) if fields == "flat" else (TITLE, TEXT)
        self._restriction = lru_cache(maxsize=256)(partial(_restriction, analyzer, self._names, segments))
        self._everything = java_class("org.apache.lucene.search.MatchAllDocsQuery")()
        self._generator = own_class("io.anserini.search.query.BagOfWordsQueryGenerator", _GENERATOR[fields])()
        self._mapper = _mapper()
        self._builder = own_class(_BOTH, _BUILDER)
        self._timeout = own_class("org.apache.lucene.index.QueryTimeoutImpl", constructor="(J)V")
        self._occur = [getattr(java_class("org.apache.lucene.search.BooleanClause$Occur"), name) for name in _OCCUR]
        self._decode = msgspec.json.Decoder(_TopDocs).decode

    @cached_property
    def finder(self) -> MatchFinder:
        """What finds all passages that hold a word of a query."""
        return MatchFinder(self._reader, self._names)

    def tools(
        self,
        where: Filter | None,
        weights: Weights,
        *,
        timed: bool,
        of_collection: CollectionStatistics | None = None,
    ) -> _Tools:
        """Return the objects for a search with this filter, these weights, and statistics other than the index's own.

        A searcher keeps the last time limit that it was given, so searches without one have searchers of their own.
        """
        statistics = None if of_collection is None else self._learned(of_collection)
        searcher, clock = self._searcher(weights.k1, weights.b, timed, statistics)
        return _Tools(weights, self._fields(weights), searcher, clock, self._restriction(where))

    def _learned(self, statistics: CollectionStatistics) -> JavaStatistics:
        if self._of_collection is None:
            self._of_collection = JavaStatistics()
        self._of_collection.learn(statistics)
        return self._of_collection

    def query(self, tools: _Tools, text: str) -> Any:
        """Return Lucene's query for a text, or None if it has no terms."""
        return self._generator.buildQuery(tools.fields, self._analyzer, text)

    def restricted(self, tools: _Tools, query: Any, dead: Any) -> Any:
        """Return ``query`` restricted to passages that pass the filter and are not deleted."""
        must, only, must_not = self._occur
        both = self._builder()
        both.add(query, must)
        for clause in tools.restriction:
            both.add(clause, only)
        if dead is not None:
            both.add(dead, must_not)
        return both.build()

    def rows(self, tools: _Tools) -> list[int]:
        """Return the rows of all passages that pass the filter."""
        query = self.restricted(tools, self._everything, None)
        matching = tools.searcher.count(query)
        if not matching:
            return []
        top_docs = tools.searcher.search(query, matching)
        return [hit.doc for hit in self._decode(self._mapper.writeValueAsString(top_docs)).scoreDocs]

    def quick(self, tools: _Tools, n: int) -> Any:
        """Return what finds hits in one crossing, or None; it is made when a search of this kind comes again."""
        key = (tools.clock, tools.weights, n)
        if key in self._finders:
            return self._finders[key]
        if key not in self._asked_once:
            if len(self._asked_once) >= _FINDERS:
                self._asked_once.clear()
                self._finders.clear()
            self._asked_once.add(key)
            return None
        objects = SearchObjects(tools.searcher, self._generator, tools.fields, self._analyzer, self._mapper)
        self._finders[key] = one_crossing(objects, n)
        return self._finders[key]

    def as_json(self, tools: _Tools, query: Any, n: int) -> str:
        """Return the ``n`` best passages for a query as JSON."""
        encoded: str = self._mapper.writeValueAsString(tools.searcher.search(query, n))
        return encoded

    def hits(self, tools: _Tools, find: Callable[[], str], seconds: float | None) -> list[_ScoreDoc] | None:
        """Return the passages that are found, as JSON, or None if that took too long."""
        if seconds is not None:
            self._limit(tools, seconds)
        encoded = find()
        if seconds is not None and monotonic() >= tools.clock.over and tools.searcher.timedOut():
            self._searcher.cache_clear()  # this one says so for ever
            self._asked_once.clear()
            self._finders.clear()
            return None
        return self._decode(encoded).scoreDocs

    def _limit(self, tools: _Tools, seconds: float) -> None:
        """Give a searcher a time limit, of so many seconds or a sixteenth less."""
        now, milliseconds = monotonic(), int(seconds * 1000)
        if not tools.clock.suits(now, seconds):
            tools.searcher.setTimeout(self._timeout(milliseconds))
            tools.clock.over = now + milliseconds / 1000


@exclusive
def _tokens(analyzer: Any, text: str) -> list[str]:
    """Return the terms of a text as they stand in it."""
    return list(java_class("io.anserini.analysis.AnalyzerUtils").analyze(analyzer, text).toArray())


def _mapper() -> Any:
    """Return what writes hits as JSON, each an array: half as long as with the names of their properties."""
    jackson = "com.fasterxml.jackson"
    mapper = java_class(f"{jackson}.databind.ObjectMapper")()
    mapper.configure(java_class(f"{jackson}.databind.MapperFeature").SORT_PROPERTIES_ALPHABETICALLY, True)
    array = java_class(f"{jackson}.annotation.JsonFormat$Shape").ARRAY
    as_array = java_class(f"{jackson}.annotation.JsonFormat$Value").forShape(array)
    for name in ("ScoreDoc", "TopDocs"):
        mapper.configOverride(_java_type(f"org.apache.lucene.search.{name}")).setFormat(as_array)
    return java_cast(own_class(f"{jackson}.databind.ObjectMapper", _MAPPER), mapper)


_OCCUR = ("MUST", "FILTER", "MUST_NOT")


def _statistics(query: str) -> CollectionStatistics | None:
    """Return the statistics that a query brings along, None if those of the index are meant."""
    return query.statistics if isinstance(query, CollectionQuery) else None


@exclusive
def _searcher(reader: Any, k1: float, b: float, timed: bool, statistics: JavaStatistics | None) -> tuple[Any, _Clock]:
    """Return a searcher of the current thread's own with these BM25 parameters and statistics (None: the index's).

    ``timed`` only tells searchers for searches with a time limit from those for others.
    """
    plain = java_class("org.apache.lucene.search.IndexSearcher")
    searcher = plain(reader) if statistics is None else statistics.searcher(reader)
    searcher.setSimilarity(java_class("org.apache.lucene.search.similarities.BM25Similarity")(k1, b))
    return java_cast(own_class("org.apache.lucene.search.IndexSearcher", _SEARCHER), searcher), _Clock()


def _flat(_: Weights) -> str:
    return FLAT


@exclusive
def _title_text(weights: Weights) -> Any:
    fields = java_class("java.util.HashMap")()
    for name, weight in ((TITLE, weights.title), (TEXT, weights.text)):
        fields.put(name, java_class("java.lang.Float")(weight))
    return fields


@exclusive
def _restriction(
    analyzer: Any, fields: Sequence[str], segments: Sequence[str], where: Filter | None
) -> tuple[Any, ...]:
    if where is None:
        return ()
    clauses = [_any_of(name if name in FIELDS else f"{METADATA}.{name}", admitted) for name, admitted in where.values()]
    if where.as_of or where.since:
        clauses.append(_dated(where))
    if where.excluded:
        ids = [f"{segment}:{docid}" for segment in segments for docid in where.excluded]
        clauses.append(without([_any_of("id", ids)]))
    return (*clauses, *word_clauses(where, analyzer, fields, FILTERS))


def _any_of(name: str, values: Sequence[str]) -> Any:
    terms = _list()
    for start in range(0, len(values), _AT_ONCE):
        _add_terms(terms, name, values[start : start + _AT_ONCE])
    return _in_set(terms)


@exclusive
def _list() -> Any:
    return java_class("java.util.ArrayList")()


@exclusive
def _add_terms(terms: Any, name: str, values: Sequence[str]) -> None:
    for value in values:
        terms.add(java_class("org.apache.lucene.util.BytesRef")(chars(token(name, value))))


@exclusive
def _in_set(terms: Any) -> Any:
    return java_class("org.apache.lucene.search.TermInSetQuery")(FILTERS, java_cast("java.util.Collection", terms))


def _dated(where: Filter) -> Any:
    lowest, highest = token("date", where.since or "0"), token("date", where.as_of or "9999-12-31")
    days = java_class("org.apache.lucene.search.TermRangeQuery").newStringRange(FILTERS, lowest, highest, True, True)
    if not where.undated:
        return days
    should = java_class("org.apache.lucene.search.BooleanClause$Occur").SHOULD
    either = java_class("org.apache.lucene.search.BooleanQuery$Builder")()
    either.add(days, should)
    either.add(_any_of("date", ("",)), should)
    return either.build()


def _text_type(*, phrases: bool) -> Any:
    kind = java_class("org.apache.lucene.document.FieldType")()
    options = java_class("org.apache.lucene.index.IndexOptions")
    kind.setIndexOptions(options.DOCS_AND_FREQS_AND_POSITIONS if phrases else options.DOCS_AND_FREQS)
    kind.freeze()
    return kind


def _filter_type() -> Any:
    kind = java_class("org.apache.lucene.document.FieldType")()
    kind.setIndexOptions(java_class("org.apache.lucene.index.IndexOptions").DOCS)
    kind.setOmitNorms(True)
    kind.freeze()
    return kind


def _with_filters(analyzer: Any) -> Any:
    """Return an analyzer that splits the filter field at blanks only, whatever the language."""
    special = java_class("java.util.HashMap")()
    special.put(FILTERS, java_class("org.apache.lucene.analysis.core.WhitespaceAnalyzer")(LONGEST_TOKEN))
    wrapper = java_class("org.apache.lucene.analysis.miscellaneous.PerFieldAnalyzerWrapper")
    java_analyzer = java_cast("org.apache.lucene.analysis.Analyzer", analyzer)
    return java_cast("org.apache.lucene.analysis.Analyzer", wrapper(java_analyzer, special))


def _directory(folder: Path) -> Any:
    """Return a folder as a Lucene directory.

    Raises MachineError if its name is not text: Java could not name it.
    """
    if os.fsencode(folder).decode("utf-8", "replace") != str(folder):
        raise MachineError("a name in this path is not UTF-8 text", place=folder, remedy="rename it")
    # Java goes on from the folder in which it was started, wherever Python has gone since.
    path = java_class("java.nio.file.Paths").get(str(folder.absolute()))
    return java_class("org.apache.lucene.store.FSDirectory").open(path)


@exclusive
def _reader(folder: Path) -> Any:
    return java_class("org.apache.lucene.index.DirectoryReader").open(_directory(folder))


@exclusive
def _joined(readers: Sequence[Any]) -> Any:
    return java_class("org.apache.lucene.index.MultiReader")(list(readers), True)
