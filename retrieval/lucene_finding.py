"""A search in one crossing: from the text of a query to its hits as one string, all of it in Java.

Making Lucene's query, searching, and writing what was found are three calls, and what two of them return Python only
hands to the next one. So they are one method of a class of ours.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final, Literal, NamedTuple

from .java import exclusive, java_cast, java_class, own_class
from .java_class_file import ClassFile, new_object

_STRING: Final = "java/lang/String"
_MAP: Final = "java/util/Map"
_NUMBER = "java/lang/Integer"
_ANALYZER = "org/apache/lucene/analysis/Analyzer"
_GENERATOR = "io/anserini/search/query/BagOfWordsQueryGenerator"
_SEARCHER, _MAPPER = "org/apache/lucene/search/IndexSearcher", "com/fasterxml/jackson/databind/ObjectMapper"
_QUERY, _TOP_DOCS = "Lorg/apache/lucene/search/Query;", "Lorg/apache/lucene/search/TopDocs;"
_INTERFACE, FIND = "java/net/FileNameMap", "getContentTypeFor"
"""An interface of Java's own base whose method takes a string and returns one; it says nothing of files here."""
_FINDS = f"(L{_STRING};)L{_STRING};"
Wanted = Literal["java/lang/String", "java/util/Map"]
"""The type of what a query is made for: the name of a field, or the names of several with their weights."""


class SearchObjects(NamedTuple):
    """The objects of Java that a search calls, and the name of a field or a map of names and weights."""

    searcher: Any
    generator: Any
    fields: Any
    analyzer: Any
    mapper: Any


@exclusive
def one_crossing(objects: SearchObjects, n: int) -> Any:
    """Return an object of this thread's own whose method :data:`FIND` finds the ``n`` best passages of a text, as JSON.

    It is to be called within :data:`factseek.retrieval.java.shared`, and is worth its making where it is called often.
    Return None where there is no folder that the class can be loaded from.
    """
    wanted: Wanted = _MAP
    if isinstance(objects.fields, str):
        wanted, objects = _STRING, objects._replace(fields=java_class("java.lang.String")(objects.fields))
    constructor = _constructor(wanted)
    if constructor is None:
        return None
    finder = new_object(constructor, *objects, java_class("java.lang.Integer")(n))
    return java_cast(own_class(_INTERFACE.replace("/", "."), {FIND: _FINDS}), finder)


@cache
def _constructor(wanted: Wanted) -> Any:
    try:
        return _finder(wanted).loaded()
    except OSError:
        return None


def _finder(wanted: Wanted) -> ClassFile:
    """Return the finder's class.

    In Java it would read, for one field::

        public class PassageFinder implements FileNameMap {
            private final IndexSearcher searcher; private final BagOfWordsQueryGenerator generator; …
            public PassageFinder(IndexSearcher searcher, BagOfWordsQueryGenerator generator, String fields,
                                 Analyzer analyzer, ObjectMapper mapper, Integer n) { … }
            public String getContentTypeFor(String text) {
                return mapper.writeValueAsString(
                    searcher.search(generator.buildQuery(fields, analyzer, text), n.intValue()));
            }
        }
    """
    file = ClassFile(f"PassageFinder{wanted.rpartition('/')[2]}", interfaces=[_INTERFACE])
    own = file.keep(
        {
            "searcher": _SEARCHER,
            "generator": _GENERATOR,
            "fields": wanted,
            "analyzer": _ANALYZER,
            "mapper": _MAPPER,
            "n": _NUMBER,
        }
    )
    query = file.method_of(_GENERATOR, "buildQuery", f"(L{wanted};L{_ANALYZER};L{_STRING};){_QUERY}")
    value = file.method_of(_NUMBER, "intValue", "()I")
    search = file.method_of(_SEARCHER, "search", f"({_QUERY}I){_TOP_DOCS}")
    write = file.method_of(_MAPPER, "writeValueAsString", f"(Ljava/lang/Object;)L{_STRING};")
    # aload_0 getfield of each that the calls are of or take, aload_1, and the four calls: invokevirtual; areturn
    read = {name: b"\x2a\xb4" + number for name, number in own.items()}
    code = (
        b"".join(read[name] for name in ("mapper", "searcher", "generator", "fields", "analyzer")) + b"\x2b\xb6" + query
    )
    code += read["n"] + b"\xb6" + value + b"\xb6" + search + b"\xb6" + write + b"\xb0"
    file.add(FIND, _FINDS, code, stack=6)
    return file
