"""Lucene's statistics of fields and terms: reading them, and searching with those of a larger collection.

Lucene scores with what its searcher says of a field and of a term. A searcher that is to say something else is a
subclass, and there is no compiler of Java here; so the class, two methods that look into a map, is written as the bytes
of a class file.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from .collection_statistics import CollectionStatistics, FieldStatistics, Term, TermCount
from .java import exclusive, java_cast, java_class, own_class

_NAME = "$ProxyCollectionSearcher"
"""Pyjnius looks the class of every object up by name, where it would not find ours, except those named ``$Proxy``."""
_SEARCHER = "org/apache/lucene/search/IndexSearcher"
_OF_FIELD, _OF_TERM = "org/apache/lucene/search/CollectionStatistics", "org/apache/lucene/search/TermStatistics"
_MAP = "java/util/Map"
_NEW = {"newInstance": "([Ljava/lang/Object;)Ljava/lang/Object;"}
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
        constructor = java_cast(own_class("java.lang.reflect.Constructor", _NEW), _constructor())
        arguments = [java_cast("java.lang.Object", each) for each in (reader, self._fields, self._terms)]
        return java_cast("org.apache.lucene.search.IndexSearcher", constructor.newInstance(arguments))

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
@exclusive
def _constructor() -> Any:
    """Return the constructor of the searcher that looks its statistics up, of a reader and two maps."""
    with TemporaryDirectory(prefix="factseek-") as folder:
        file = Path(folder, f"{_NAME}.class")
        file.write_bytes(_class_file())
        place = java_class("java.io.File")(folder).toURI().toURL()
        loader = java_class("java.net.URLClassLoader").newInstance([place])
        return loader.loadClass(_NAME.replace("/", ".")).getConstructors()[0]


class _Constants:
    """The constant pool of a class file: each constant once, numbered from 1."""

    def __init__(self) -> None:
        self._numbers: dict[bytes, int] = {}

    def add(self, tag: int, data: bytes) -> bytes:
        """Return the number of a constant as two bytes."""
        return struct.pack(">H", self._numbers.setdefault(bytes([tag]) + data, len(self._numbers) + 1))

    def text(self, text: str) -> bytes:
        """Return the number of a text."""
        return self.add(1, struct.pack(">H", len(text)) + text.encode("ascii"))

    def type(self, name: str) -> bytes:
        """Return the number of a class."""
        return self.add(7, self.text(name))

    def member(self, tag: int, owner: str, name: str, signature: str) -> bytes:
        """Return the number of a field (tag 9), a method (10), or a method of an interface (11)."""
        return self.add(tag, self.type(owner) + self.add(12, self.text(name) + self.text(signature)))

    def packed(self) -> bytes:
        """Return the pool as it stands in the file."""
        return struct.pack(">H", len(self._numbers) + 1) + b"".join(self._numbers)


def _class_file() -> bytes:
    """Return the searcher's class, as the Java Virtual Machine Specification, chapter 4, lays it out (version 52).

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
    constants = _Constants()
    reader, a_map = "Lorg/apache/lucene/index/IndexReader;", f"L{_MAP};"
    own = {name: constants.member(9, _NAME, name, a_map) for name in ("fields", "terms")}
    above = constants.member(10, _SEARCHER, "<init>", f"({reader})V")
    # aload_0 aload_1 invokespecial, aload_0 aload_2 putfield, aload_0 aload_3 putfield, return
    code = b"\x2a\x2b\xb7" + above + b"\x2a\x2c\xb5" + own["fields"] + b"\x2a\x2d\xb5" + own["terms"] + b"\xb1"
    methods = _method(constants, "<init>", f"({reader}{a_map}{a_map})V", 4, code)
    methods += _looked_up(
        constants, "collectionStatistics", "(Ljava/lang/String;)", 2, field=own["fields"], answer=_OF_FIELD
    )
    methods += _looked_up(
        constants, "termStatistics", "(Lorg/apache/lucene/index/Term;IJ)", 5, field=own["terms"], answer=_OF_TERM
    )
    fields = b"".join(b"\x00\x12" + constants.text(name) + constants.text(a_map) + b"\0\0" for name in own)
    this = b"\x00\x21" + constants.type(_NAME) + constants.type(_SEARCHER) + b"\0\0"
    head = struct.pack(">IHH", 0xCAFEBABE, 0, 52) + constants.packed()
    return head + this + struct.pack(">H", 2) + fields + struct.pack(">H", 3) + methods + b"\0\0"


def _looked_up(constants: _Constants, name: str, asked: str, places: int, *, field: bytes, answer: str) -> bytes:
    """Return a method that looks its first argument up in the map of a field."""
    get = constants.member(11, _MAP, "get", "(Ljava/lang/Object;)Ljava/lang/Object;")
    # aload_0 getfield, aload_1 invokeinterface of 2 arguments, checkcast, areturn
    code = b"\x2a\xb4" + field + b"\x2b\xb9" + get + b"\x02\x00\xc0" + constants.type(answer) + b"\xb0"
    return _method(constants, name, f"{asked}L{answer};", places, code)


def _method(constants: _Constants, name: str, signature: str, places: int, code: bytes) -> bytes:
    """Return a public method of so many places for variables, which needs two places on the stack."""
    body = struct.pack(">HHI", 2, places, len(code)) + code + b"\0\0\0\0"
    head = b"\x00\x01" + constants.text(name) + constants.text(signature) + b"\x00\x01"
    return head + constants.text("Code") + struct.pack(">I", len(body)) + body
