"""Lucene's statistics of fields and terms: reading them, and searching with those of a larger collection.

Lucene scores with what its searcher says of a field and of a term. A searcher that is to say something else is a
subclass, and there is no compiler of Java here; so the class, two methods that look into a map, is written as the bytes
of a class file (:mod:`factseek.retrieval.java_class_file`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from .collection_statistics import CollectionStatistics, FieldStatistics, Term, TermCount
from .java import exclusive, java_cast, java_class
from .java_class_file import ClassFile, new_object

_SEARCHER = "org/apache/lucene/search/IndexSearcher"
_OF_FIELD, _OF_TERM = "org/apache/lucene/search/CollectionStatistics", "org/apache/lucene/search/TermStatistics"
_MAP = "java/util/Map"
_MOST_TERMS = 20_000
"""Terms whose counts a thread keeps in Java; a query of words that it has keeps costs no crossing."""


@exclusive
def field_statistics(reader: Any, fields: Sequence[str]) -> list[FieldStatistics]:
    """Return the statistics of fields, in their order; a field that no passage has is of zeros."""
    searcher = java_class("org.apache.lucene.search.IndexSearcher")(reader)
    passages = int(reader.maxDoc())
    read = ((field, searcher.collectionStatistics(field)) for field in fields)
    return [
        FieldStatistics(field, passages, *(int(n) for n in (of.docCount(), of.sumTotalTermFreq(), of.sumDocFreq())))
        if of is not None
        else FieldStatistics(field, passages, 0, 0, 0)
        for field, of in read
    ]


@exclusive
def term_counts(reader: Any, terms: Sequence[Term]) -> list[TermCount]:
    """Return the counts of terms, in their order; those that are nowhere are of zeros."""
    java_term = java_class("org.apache.lucene.index.Term")
    named = (java_term(field, text) for field, text in terms)
    return [TermCount(int(reader.docFreq(term)), int(reader.totalTermFreq(term))) for term in named]


class JavaStatistics:
    """The statistics of a collection in Java, for the searchers of one thread."""

    @exclusive
    def __init__(self) -> None:
        self._fields = java_class("java.util.HashMap")()
        self._terms = java_class("java.util.HashMap")()
        self._known: set[Term] = set()
        self._generation = ""

    def learn(self, statistics: CollectionStatistics) -> None:
        """Make the searchers score with these statistics; those of another generation are forgotten."""
        if statistics.generation != self._generation or len(self._known) > _MOST_TERMS:
            self._begin(statistics)
        new = [term for term in statistics.terms if term not in self._known]
        if new:
            self._add(statistics, new)

    @exclusive
    def searcher(self, reader: Any) -> Any:
        """Return a searcher over ``reader`` that scores with what was learned."""
        searcher = new_object(_constructor(), reader, self._fields, self._terms)
        return java_cast("org.apache.lucene.search.IndexSearcher", searcher)

    @exclusive
    def _begin(self, statistics: CollectionStatistics) -> None:
        self._terms.clear()
        self._known.clear()
        self._fields.clear()
        of_field = java_class(_OF_FIELD.replace("/", "."))
        for field, *numbers in statistics.fields:
            if numbers[1]:  # Lucene has no statistics of a field that no passage has
                self._fields.put(field, of_field(field, *numbers))
        self._generation = statistics.generation

    @exclusive
    def _add(self, statistics: CollectionStatistics, terms: Sequence[Term]) -> None:
        java_term, of_term = java_class("org.apache.lucene.index.Term"), java_class(_OF_TERM.replace("/", "."))
        for field, text in terms:
            count = statistics.terms[field, text]
            term = java_term(field, text)
            if count.passages:
                self._terms.put(term, of_term(term.bytes(), count.passages, count.occurrences))
        self._known.update(terms)


@cache
def _constructor() -> Any:
    """Return the constructor of the searcher that looks its statistics up, of a reader and two maps."""
    return _collection_searcher().loaded()


def _collection_searcher() -> ClassFile:
    """Return the searcher's class.

    In Java it would read::

        public class CollectionSearcher extends IndexSearcher {
            private final Map fields, terms;
            public CollectionSearcher(IndexReader reader, Map fields, Map terms) {
                super(reader); this.fields = fields; this.terms = terms;
            }
            public CollectionStatistics collectionStatistics(String field) {
                return (CollectionStatistics) fields.get(field);
            }
            public TermStatistics termStatistics(Term term, int passages, long occurrences) {
                return (TermStatistics) terms.get(term);
            }
        }
    """
    file = ClassFile("CollectionSearcher", _SEARCHER)
    own = file.keep({"fields": _MAP, "terms": _MAP}, passed_on=["org/apache/lucene/index/IndexReader"])
    get = file.method_of(_MAP, "get", "(Ljava/lang/Object;)Ljava/lang/Object;", interface=True)
    for name, asked, field, answer in (
        ("collectionStatistics", "Ljava/lang/String;", own["fields"], _OF_FIELD),
        ("termStatistics", "Lorg/apache/lucene/index/Term;IJ", own["terms"], _OF_TERM),
    ):
        # aload_0 getfield, aload_1 invokeinterface of 2 arguments, checkcast, areturn
        code = b"\x2a\xb4" + field + b"\x2b\xb9" + get + b"\x02\x00\xc0" + file.type(answer) + b"\xb0"
        file.add(name, f"({asked})L{answer};", code, stack=2)
    return file
