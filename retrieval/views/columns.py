"""The view ``columns``: the docids of a segment, and the values of its documents in the fields that
can be counted.

A search reads docids from a mapped file, and the counts of a facet read values, so neither reads
documents. ``docids.bin`` has the end of each docid in the text of all docids (int64, little-endian,
after a 0). If documents have several passages, the row of each passage's document and its number
follow (int32). The UTF-8 of all docids is last. ``values.msgpack`` has a column for each field.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import cache, partial
from itertools import count
from pathlib import Path

import msgspec
import numpy as np

from ...core.domain import Document, Span
from ...core.errors import IndexStateError
from ...core.files import read_regular
from ..config import Config
from ..filters import last_day, metadata_values
from ..store.columns import KIND, NO_VALUE, SINGLE, Column, DocumentColumns, SegmentDocids
from ..store.integrity import REMEDY, damage_reported, map_file
from ..store.manifest import Manifest, SegmentInfo
from . import Check, OpenSegment, PassageSink, SegmentPlace, Tools, View

DOCIDS, VALUES = "docids.bin", "values.msgpack"
_decode = msgspec.msgpack.Decoder(dict[str, Column]).decode


class ColumnsView(View):
    """The docids and values of a segment."""

    def __init__(self, name: str, manifest: Manifest) -> None:
        super().__init__(name, manifest)
        self._declared = manifest.filter_fields
        self._fields = (*SINGLE, *self._declared)

    def owns(self, file: str) -> bool:
        return file in (DOCIDS, VALUES)

    def sink(self, segment: SegmentPlace, tools: Tools) -> _ColumnSink:
        return _ColumnSink(segment.folder, self._declared)

    def checks(self, segment: SegmentPlace, tools: Tools) -> Sequence[Check]:
        contents = cache(lambda: self._contents(segment))
        names = (DOCIDS, VALUES)
        return [
            Check(name, partial(_find_wrong, segment.folder / name, contents)) for name in names
        ]

    def open(
        self, segments: Sequence[OpenSegment], manifest: Manifest, config: Config
    ) -> DocumentColumns:
        docids = [_read_docids(segment.folder / DOCIDS, segment.info) for segment in segments]
        return DocumentColumns(
            docids, (KIND, *self._fields), lambda: list(map(self._read_values, segments))
        )

    def _read_values(self, segment: OpenSegment) -> dict[str, Column]:
        path, documents = segment.folder / VALUES, segment.info.documents
        with _damage_named(path):
            read = _decode(read_regular(path))
            if read.keys() != set(self._fields):
                raise ValueError("it has other fields than the index")
            checked = {
                name: column.checked(documents, single=name in SINGLE)
                for name, column in read.items()
            }
        return {KIND: Column.constant(segment.info.kind, documents), **checked}

    def _contents(self, segment: SegmentPlace) -> dict[str, bytes]:
        sink = _ColumnSink(segment.folder, self._declared)
        with closing(segment.documents()) as documents:
            for stored in documents.each_stored():
                sink.add(stored.document, stored.spans)
        return sink.contents()


view = ColumnsView


class _ColumnSink(PassageSink):
    def __init__(self, folder: Path, declared: Sequence[str]) -> None:
        self._folder = folder
        self._docids, self._ends = bytearray(), array("q", [0])
        self._owners, self._numbers = array("i"), array("i")
        self._fields = {name: _Codes() for name in (*SINGLE, *declared)}
        self._declared = declared

    def add(self, document: Document, spans: Sequence[Span]) -> None:
        row = len(self._ends) - 1
        self._docids += document.docid.encode()
        self._ends.append(len(self._docids))
        self._owners.extend([row] * len(spans))
        self._numbers.extend([span.number for span in spans])
        single = document.topic, document.source, document.language, last_day(document.date)[:4]
        for name, value in zip(SINGLE, single, strict=True):
            self._fields[name].add(row, value)
        for name in self._declared:
            for value in metadata_values(document.metadata.get(name)):
                self._fields[name].add(row, value)

    def finish(self) -> None:
        for name, content in self.contents().items():
            (self._folder / name).write_bytes(content)

    def contents(self) -> dict[str, bytes]:
        """Return the content of each file of the view."""
        owners, numbers = np.array(self._owners, "<i4"), np.array(self._numbers, "<i4")
        are_whole = np.array_equal(owners, np.arange(len(self._ends) - 1)) and not numbers.any()
        passages = b"" if are_whole else owners.tobytes() + numbers.tobytes()
        columns = {
            name: codes.column(name in self._declared) for name, codes in self._fields.items()
        }
        return {
            DOCIDS: np.array(self._ends, "<i8").tobytes() + passages + self._docids,
            VALUES: msgspec.msgpack.encode(columns, order="deterministic"),
        }


@contextmanager
def _damage_named(path: Path) -> Iterator[None]:
    try:
        with damage_reported(path):
            yield
    except (ValueError, RecursionError) as error:
        raise IndexStateError(f"is damaged ({error})", place=path, remedy=REMEDY) from None


def _read_docids(path: Path, info: SegmentInfo) -> SegmentDocids:
    with _damage_named(path):
        return SegmentDocids.of(map_file(path, "u1"), info.documents, info.passages)


def _find_wrong(path: Path, contents: Callable[[], dict[str, bytes]]) -> Iterator[str]:
    with damage_reported(path):
        content = read_regular(path)
    if content != contents()[path.name]:
        yield "is not made from the documents of this segment"


class _Codes:
    """Collects the values of a field as numbers, then replaces these by places in the sorted list
    of values.
    """

    def __init__(self) -> None:
        self._numbers = defaultdict[str, int](count(1).__next__, {"": NO_VALUE})
        self._codes, self._documents = array("i"), array("i")

    def add(self, row: int, value: str) -> None:
        self._codes.append(self._numbers[value])
        self._documents.append(row)

    def column(self, of_several: bool) -> Column:
        values = sorted(self._numbers)
        places = {value: code for code, value in enumerate(values)}
        final = np.array([places[value] for value in self._numbers], dtype="<i4")
        codes = final[np.array(self._codes, dtype=np.int32)].tobytes()
        return Column(
            values, codes, np.array(self._documents, "<i4").tobytes() if of_several else None
        )
