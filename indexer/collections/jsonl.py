"""Documents as JSON lines: one object a line, any further key kept as metadata.

A line that ``factseek export`` wrote has every field and its checksum: it is taken as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ...retrieval.domain import Document
from ...retrieval.records.table_shape import wrapper_advice
from ...retrieval.store.documents import checksum
from . import Files, ReadOptions, Record
from ._documents import check_docid, make_record, named_fields
from ._files import expand
from ._foreign import NOT_JSON_LINES, refuse_foreign
from ._lines import parse_json_object, read_lines

SUMMARY = "documents as JSON lines: docid, text, and optionally title, url, date, language, source, topic"
SPLIT = False
SENTENCES = False
WHOLE_FOLDER = False
FILES: tuple[Files, ...] = (
    ("JSON lines", frozenset({"docid", "text"})),
    ("JSON lines", frozenset({"id", "text"})),
    ("JSON lines", frozenset({"id", "contents"})),
)

# For the docid and the text the first key that is there counts.
_NAMES = {
    "docid": "docid",
    "id": "docid",
    "_id": "docid",
    "text": "text",
    "contents": "text",
    "title": "title",
    "url": "url",
    "date": "date",
    "language": "language",
    "source": "source",
    "topic": "topic",
}

EXPORTED = (*Document._fields, "checksum")
"""The keys of a line that was exported, all of them."""


def read(sources: Sequence[Path], options: ReadOptions) -> Iterator[Record]:
    """Yield a document a line, in the order of the files and of their lines.

    Raises SourceError if a source cannot be read.
    """
    for path in expand(sources, (".jsonl", ".ndjson", ".json"), options):
        refuse_foreign(path, NOT_JSON_LINES, "JSON lines")
        for place, line in read_lines(path, options):
            if line.strip() and (record := record_of(line, place, options)):
                yield record


def record_of(line: str, place: str, options: ReadOptions) -> Record | None:
    """Return the document of one line, or report it as bad and return ``None``."""
    row = parse_json_object(line, place, options)
    if row is not None and row.keys() == set(EXPORTED):
        return _exported(row, place, options)
    parts = None if row is None else named_fields(row, _NAMES, place, options)
    if parts is None:
        return None
    fields, metadata = parts
    for name, keys in (("docid", '"docid", "id" or "_id"'), ("text", '"text" or "contents"')):
        if name not in fields:
            options.bad_lines.report(place, f"has no {keys}{wrapper_advice(row or {})}")
            return None
    return make_record(fields, place, options, metadata)


def _exported(row: dict[str, Any], place: str, options: ReadOptions) -> Record | None:
    """Return a document as it was exported, or report it as bad and return ``None``."""
    digest = row.pop("checksum")
    try:
        document = msgspec.convert(row, _Exported).document
    except msgspec.ValidationError as error:
        options.bad_lines.report(place, f"is no exported document ({error})")
        return None
    reason = check_docid(document.docid)
    if not reason and checksum(document) != digest:
        reason = "its checksum is not that of its content; whoever changes an exported document leaves the checksum out"
    if reason:
        options.bad_lines.report(place, reason)
        return None
    return Record(document, place)


class _Exported(msgspec.Struct):
    docid: str
    text: str
    title: str
    url: str
    date: str
    language: str
    source: str
    topic: str
    metadata: dict[str, Any]

    @property
    def document(self) -> Document:
        return Document(*msgspec.structs.astuple(self))
