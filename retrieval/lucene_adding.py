"""Adding many passages to Lucene in one crossing.

What a crossing costs is the same for one passage as for hundreds, and while Java adds them, Python does something else.
So passages cross as one JSON document, which the Jackson of the jar parses, and a class of ours hands each to the
writer.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import msgspec

from .java import exclusive, java_cast, java_class, own_class, shared
from .java_class_file import ClassFile, new_object

_OBJECT, _STRING, _LIST = "java/lang/Object", "java/lang/String", "java/util/List"
_WRITER, _DOCUMENT = "org/apache/lucene/index/IndexWriter", "org/apache/lucene/document/Document"
_FIELD = "org/apache/lucene/document/Field"
_READ = {"readValue": f"([BLjava/lang/Class;)L{_OBJECT};"}
_LONGEST = 2**31 - 1
"""Characters of a text: as many as Java can hold; Jackson by itself reads 20 million."""
_EACH = {"forEach": "(Ljava/util/function/Consumer;)V"}


class PassageAdder:
    """Adds passages to a writer: each as the values of some fields of one document. Of one thread at a time."""

    @exclusive
    def __init__(self, writer: Any, document: Any, fields: Sequence[Any]) -> None:
        adder = new_object(_constructor(len(fields)), writer, document, *fields)
        self._adder = java_cast("java.util.function.Consumer", adder)
        self._list = java_class("java.lang.Class").forName("java.util.List")
        self._mapper = java_class("com.fasterxml.jackson.databind.ObjectMapper")()
        constraints = java_class("com.fasterxml.jackson.core.StreamReadConstraints").builder()
        self._mapper.getFactory().setStreamReadConstraints(constraints.maxStringLength(_LONGEST).build())
        java_class("java.util.ArrayList")  # what is read is one, and must be known before others use Java beside

    def add(self, passages: Sequence[Sequence[str]]) -> None:
        """Add passages, each the values of the fields, in order, without halves of surrogate pairs."""
        encoded = msgspec.json.encode(passages)
        mapper_class, list_class = _own_classes()
        with shared:
            mapper = java_cast(mapper_class, self._mapper)
            values = java_cast(list_class, mapper.readValue(encoded, self._list))
            values.forEach(self._adder)
            del mapper, values


@exclusive
def _own_classes() -> tuple[Any, Any]:
    """Return the current thread's own classes."""
    return own_class("com.fasterxml.jackson.databind.ObjectMapper", _READ), own_class("java.util.ArrayList", _EACH)


@cache
def _constructor(fields: int) -> Any:
    """Return the constructor of a consumer of passages, of a writer, a document, and so many fields of it."""
    return _consumer(fields).loaded()


def _consumer(fields: int) -> ClassFile:
    """Return the consumer's class.

    In Java it would read, for one field::

        public class PassageConsumer1 implements Consumer {
            private final IndexWriter writer; private final Document document; private final Field field0;
            public PassageConsumer1(IndexWriter writer, Document document, Field field0) { … }
            public void accept(Object values) {
                field0.setStringValue((String) ((List) values).get(0));
                writer.addDocument(document);
            }
        }
    """
    file = ClassFile(f"PassageConsumer{fields}", interfaces=["java/util/function/Consumer"])
    names = [f"field{number}" for number in range(fields)]
    own = file.keep({"writer": _WRITER, "document": _DOCUMENT, **dict.fromkeys(names, _FIELD)})
    get = file.method_of(_LIST, "get", f"(I)L{_OBJECT};", interface=True)
    set_value = file.method_of(_FIELD, "setStringValue", f"(L{_STRING};)V")
    add = file.method_of(_WRITER, "addDocument", "(Ljava/lang/Iterable;)J")
    code = b""
    for number, name in enumerate(names):
        # aload_0 getfield, aload_1 checkcast, bipush invokeinterface of 2 arguments, checkcast, invokevirtual
        code += b"\x2a\xb4" + own[name] + b"\x2b\xc0" + file.type(_LIST) + b"\x10" + bytes([number])
        code += b"\xb9" + get + b"\x02\x00\xc0" + file.type(_STRING) + b"\xb6" + set_value
    # aload_0 getfield, aload_0 getfield, invokevirtual, pop2, return
    code += b"\x2a\xb4" + own["writer"] + b"\x2a\xb4" + own["document"] + b"\xb6" + add + b"\x58\xb1"
    file.add("accept", f"(L{_OBJECT};)V", code, stack=3)
    return file
