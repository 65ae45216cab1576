"""Lucene: writing a segment's index and searching several as one.

Crossing from Python into Java is what costs, so a passage is added with three calls and a search answered with one
string, whatever the number of hits.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

import msgspec

from retrieval.analyzers import ANALYZERS
from retrieval.domain import Filter
from retrieval.errors import IndexStateError, MachineError
from retrieval.filters import token
from retrieval.java import chars, guarded, java_cast, java_class, kept, own_class, serial

Fields = Literal["flat", "title_text"]
FLAT, TITLE, TEXT, FILTERS = "contents", "title", "text", "filters"
LONGEST_TOKEN = 32_766  # bytes: Lucene's own limit for a term
_MOST_CLAUSES = 65_536
_UNREADABLE = "cannot be read ({}); restore it or rebuild the index with --overwrite"
_Returned = TypeVar("_Returned")


class Weights(NamedTuple):
    """What BM25 is given at the time of a search."""

    k1: float = 0.9
    b: float = 0.4
    title: float = 1.0
    text: float = 1.0


class _ScoreDoc(msgspec.Struct, gc=False):
    score: float
    doc: int


class _TopDocs(msgspec.Struct):
    scoreDocs: list[_ScoreDoc]  # noqa: N815  Lucene's own name


def open_analyzer(name: str) -> Any:
    """Return the Java analyzer of a name in :data:`retrieval.analyzers.ANALYZERS`."""
    java = java_class(ANALYZERS[name])
    return java.newDefaultInstance() if name == "english" else java()


class TermFinder:
    """From a word to the terms that an analyzer makes of it; remembers what it was asked."""

    @serial
    def __init__(self, analyzer: str) -> None:
        self._analyzer = open_analyzer(analyzer)
        self._found = lru_cache(maxsize=100_000)(self._analyzed)

    def __call__(self, word: str) -> tuple[str, ...]:
        """Return the terms of ``word``: none for a stop word."""
        return self._found(word)

    @serial
    def _analyzed(self, word: str) -> tuple[str, ...]:
        analyze = java_class("io.anserini.analysis.AnalyzerUtils").analyze
        return tuple(analyze(self._analyzer, _sound(word)).toArray())


class PassageWriter:
    """Writes the Lucene index of one segment: passages in the order in which they are added, in one leaf."""

    @serial
    def __init__(self, folder: Path, analyzer: str, fields: Fields, buffer_mb: int = 128) -> None:
        self._folder = folder
        self._fields = fields
        self._writer = self._guarded(lambda: self._open(folder, analyzer, buffer_mb))
        names = (FLAT,) if fields == "flat" else (TITLE, TEXT)
        self._document = java_class("org.apache.lucene.document.Document")()
        self._slots = [self._slot(name, _text_type()) for name in names]
        self._filters = self._slot(FILTERS, _filter_type())

    def _open(self, folder: Path, analyzer: str, buffer_mb: int) -> Any:
        config = java_class("org.apache.lucene.index.IndexWriterConfig")(_with_filters(open_analyzer(analyzer)))
        config.setRAMBufferSizeMB(float(buffer_mb))
        # Neighbours are merged with neighbours: document numbers stay the order of adding.
        config.setMergePolicy(java_class("org.apache.lucene.index.LogDocMergePolicy")())
        config.setMergeScheduler(java_class("org.apache.lucene.index.SerialMergeScheduler")())
        return java_class("org.apache.lucene.index.IndexWriter")(_directory(folder), config)

    def _slot(self, name: str, kind: Any) -> Any:
        field = java_class("org.apache.lucene.document.Field")(name, chars(" "), kind)
        self._document.add(field)
        return field

    @serial
    def add(self, title: str, text: str, filters: str) -> None:
        """Add the next passage; ``filters`` is :func:`retrieval.filters.tokens`'s string.

        Raises MachineError if the disk is full.
        """
        if self._fields == "flat":
            self._slots[0].setStringValue(_sound(flat_text(title, text)))
        else:
            self._slots[0].setStringValue(_sound(title))
            self._slots[1].setStringValue(_sound(text))
        self._filters.setStringValue(filters)
        self._guarded(lambda: self._writer.addDocument(self._document))

    @serial
    def finish(self) -> int:
        """Merge to one leaf, make it durable, close; return the number of passages.

        Raises MachineError if the disk is full.
        """
        return self._guarded(self._finished)

    def _finished(self) -> int:
        self._writer.forceMerge(1)
        count = int(self._writer.getDocStats().numDocs)
        self._writer.close()
        return count

    @serial
    def abandon(self) -> None:
        """Close without keeping anything; a writer that has failed is closed already."""
        with suppress(MachineError):
            self._guarded(self._writer.rollback)

    def _guarded(self, call: Callable[[], _Returned]) -> _Returned:
        return guarded(call, self._folder, MachineError, "cannot be written ({})")


def flat_text(title: str, text: str) -> str:
    """Return the one flat field: title, newline and text."""
    return f"{title}\n{text}" if title else text


def _sound(text: str) -> str:
    """Replace what is no character (a lone surrogate) or ends a C string; Java would refuse or cut there."""
    if "\0" in text:
        text = text.replace("\0", " ")
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


class PassageSearcher:
    """Searches the Lucene indexes of several segments as one, with global statistics.

    Rows number the passages of all segments in order. Safe for threads, which search side by side: each has Java
    objects of its own. The thread that closes it should be the one that opened it.
    """

    @serial
    def __init__(self, folders: Sequence[Path], analyzer: str, fields: Fields) -> None:
        self._place = os.path.commonpath(folders) if folders else ""
        self._fields = fields
        self._readers = [guarded(partial(_reader, folder), folder, IndexStateError, _UNREADABLE) for folder in folders]
        joined = self._readers[0] if len(self._readers) == 1 else _joined(self._readers)
        self._reader = java_cast("org.apache.lucene.index.IndexReader", joined)
        self._analyzer = java_cast("org.apache.lucene.analysis.Analyzer", open_analyzer(analyzer))
        self._key = _Key()
        for name in ("IndexSearcher", "Query", "TopDocs"):
            java_class(f"org.apache.lucene.search.{name}")
        java_class("org.apache.lucene.search.IndexSearcher").setMaxClauseCount(_MOST_CLAUSES)

    @property
    @serial
    def rows(self) -> int:
        """The number of passages."""
        return int(self._reader.maxDoc())

    def search(
        self,
        query: str,
        n: int,
        where: Filter | None = None,
        dead: Dead = None,
        weights: Weights = Weights(),
    ) -> tuple[list[float], list[int]]:
        """Return scores and rows of the ``n`` best passages by score descending, then row ascending.

        Scores are float32 values. Among equal scores at the cut, which rows come back is Lucene's choice.
        Raises IndexStateError if the index turns out to be damaged.
        """
        found = guarded(lambda: self._search(query, n, where, dead, weights), self._place, IndexStateError, _UNREADABLE)
        return [hit.score for hit in found], [hit.doc for hit in found]

    def _search(self, query: str, n: int, where: Filter | None, dead: Dead, weights: Weights) -> list[_ScoreDoc]:
        own = self._own()
        java = own.query(_sound(query), weights)
        if java is None:
            return []
        if where or dead:
            java = own.restricted(java, where, dead)
        return own.hits(java, n, weights)

    @serial
    def close(self) -> None:
        """Close the readers; searches must have ended."""
        for reader in self._readers:
            reader.close()
        self._readers.clear()
        self._key.closed = True
        kept().pop(self._key, None)

    def _own(self) -> _Own:
        """Return what the current thread searches with, made when it first does."""
        mine = kept()
        own: _Own | None = mine.get(self._key)
        if own is None:
            for key in [key for key in mine if isinstance(key, _Key) and key.closed]:
                del mine[key]
            own = mine[self._key] = _Own(self._reader, self._analyzer, self._fields)
        return own


class _Key:
    """Stands for a searcher in what a thread keeps, without holding on to it."""

    closed = False


Dead = Any
"""A Java query for the deleted passages (see :func:`dead_documents`), or None."""

_QUERY = "Lorg/apache/lucene/search/Query;"
_SEARCHER = {"search": f"({_QUERY}I)Lorg/apache/lucene/search/TopDocs;"}
_BUILD = "Lorg/apache/lucene/analysis/Analyzer;Ljava/lang/String;)" + _QUERY
_GENERATOR = {
    "flat": {"buildQuery": f"(Ljava/lang/String;{_BUILD}"},
    "title_text": {"buildQuery": f"(Ljava/util/Map;{_BUILD}"},
}
_MAPPER = {"writeValueAsString": "(Ljava/lang/Object;)Ljava/lang/String;"}


class _Own:
    """What one thread needs to search: none of it is shared, so that threads need not take turns."""

    @serial
    def __init__(self, reader: Any, analyzer: Any, fields: Fields) -> None:
        self._reader = reader
        self._analyzer = analyzer
        self._searchers: dict[tuple[float, float], Any] = {}
        self._fields = lru_cache(maxsize=64)(_flat if fields == "flat" else _title_text)
        self._restriction = lru_cache(maxsize=256)(_restriction)
        self._generator = own_class("io.anserini.search.query.BagOfWordsQueryGenerator", _GENERATOR[fields])()
        self._mapper = own_class("com.fasterxml.jackson.databind.ObjectMapper", _MAPPER)()
        self._decode = msgspec.json.Decoder(_TopDocs).decode

    def query(self, text: str, weights: Weights) -> Any:
        """Return Lucene's query for a text, or None if it has no terms."""
        return self._generator.buildQuery(self._fields(weights), self._analyzer, text)

    @serial
    def restricted(self, query: Any, where: Filter | None, dead: Dead) -> Any:
        """Return ``query`` kept to what passes a filter and is not deleted."""
        return _restricted(query, self._restriction(where), dead)

    def hits(self, query: Any, n: int, weights: Weights) -> list[_ScoreDoc]:
        """Return the ``n`` best passages for a query."""
        found = self._searcher(weights).search(query, n)
        return self._decode(self._mapper.writeValueAsString(found)).scoreDocs

    def _searcher(self, weights: Weights) -> Any:
        """Return the searcher for these BM25 parameters."""
        key = (weights.k1, weights.b)
        if key not in self._searchers:
            if len(self._searchers) > 64:
                self._searchers.clear()
            self._searchers[key] = self._new_searcher(*key)
        return self._searchers[key]

    @serial
    def _new_searcher(self, k1: float, b: float) -> Any:
        searcher = java_class("org.apache.lucene.search.IndexSearcher")(self._reader)
        searcher.setSimilarity(java_class("org.apache.lucene.search.similarities.BM25Similarity")(k1, b))
        return java_cast(own_class("org.apache.lucene.search.IndexSearcher", _SEARCHER), searcher)


def _flat(_: Weights) -> str:
    return FLAT


@serial
def _title_text(weights: Weights) -> Any:
    fields = java_class("java.util.HashMap")()
    for name, weight in ((TITLE, weights.title), (TEXT, weights.text)):
        fields.put(name, java_class("java.lang.Float")(weight))
    return fields


def dead_documents(ids: Sequence[str]) -> Dead:
    """Return the query that matches the passages of deleted documents, each named ``segment:docid``."""
    return _any_of("id", ids) if ids else None


def _restricted(query: Any, restriction: Sequence[Any], dead: Dead) -> Any:
    occur = java_class("org.apache.lucene.search.BooleanClause$Occur")
    both = java_class("org.apache.lucene.search.BooleanQuery$Builder")()
    both.add(query, occur.MUST)
    for clause in restriction:
        both.add(clause, occur.FILTER)
    if dead is not None:
        both.add(dead, occur.MUST_NOT)
    return both.build()


def _restriction(where: Filter | None) -> tuple[Any, ...]:
    if where is None:
        return ()
    clauses = [
        _any_of(name, getattr(where, name)) for name in ("topic", "source", "language", "kind") if getattr(where, name)
    ]
    if where.as_of or where.since:
        clauses.append(_dated(where))
    return tuple(clauses)


def _any_of(name: str, values: Sequence[str]) -> Any:
    terms = java_class("java.util.ArrayList")()
    for value in values:
        terms.add(java_class("org.apache.lucene.util.BytesRef")(chars(token(name, value))))
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


def _text_type() -> Any:
    kind = java_class("org.apache.lucene.document.FieldType")()
    kind.setIndexOptions(java_class("org.apache.lucene.index.IndexOptions").DOCS_AND_FREQS)
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
    """Open a folder as Lucene does.

    Raises MachineError if its name is not text: Java could not name it.
    """
    if os.fsencode(folder).decode("utf-8", "replace") != str(folder):
        raise MachineError(f"{folder}: a name in this path is not UTF-8 text; rename it")
    # Java goes on from the folder in which it was started, wherever Python has gone since.
    path = java_class("java.nio.file.Paths").get(str(folder.absolute()))
    return java_class("org.apache.lucene.store.FSDirectory").open(path)


def _reader(folder: Path) -> Any:
    return java_class("org.apache.lucene.index.DirectoryReader").open(_directory(folder))


def _joined(readers: Sequence[Any]) -> Any:
    return java_class("org.apache.lucene.index.MultiReader")(list(readers), True)
