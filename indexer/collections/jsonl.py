"""Read documents as JSON lines: one object per line; unknown keys become metadata.

A line that ``factseek export`` wrote has every field and its checksum, and is read unchanged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ...retrieval.domain import Document
from ...retrieval.records.table_shape import wrapper_advice
from ...retrieval.store.documents import checksum
from . import Files, ReadOptions, Record, dated
from ._documents import check_docid, make_record, named_fields
from ._files import expand
from ._lines import parse_json_object
from ._tables import read_json_lines

SUMMARY = "documents as JSON lines: docid, text, and optionally title, url, date, language, source, topic"
SPLIT = False
SENTENCES = False
WHOLE_FOLDER = False
FILES: tuple[Files, ...] = (
    ("JSON lines", frozenset({"docid", "text"})),
    ("JSON lines", frozenset({"id", "text"})),
    ("JSON lines", frozenset({"id", "contents"})),
)

_NAMES = {
    "docid": ("docid", "id", "_id"),
    "text": ("text", "contents"),
    **{name: (name,) for name in ("title", "url", "date", "language", "source", "topic")},
}

EXPORTED = (*Document._fields, "checksum")
"""All keys of an exported line."""


@dated
def read(sources: Sequence[Path], options: ReadOptions) -> Iterator[Record]:
    """Yield one document per line, in the order of the files and of their lines.

    Raises SourceError if a source cannot be read.
    """
    for path in expand(sources, (".jsonl", ".ndjson", ".json"), options):
        for place, row in read_json_lines(path, options):
            if record := _record(row, place, options):
                yield record


def record_of(line: str, place: str, options: ReadOptions) -> Record | None:
    """Return the document of one line, or report it as bad and return ``None``."""
    row = parse_json_object(line, place, options)
    return None if row is None else _record(row, place, options)


def _record(row: dict[str, Any], place: str, options: ReadOptions) -> Record | None:
    if row.keys() == set(EXPORTED):
        return _exported(row, place, options)
    found = named_fields(row, _NAMES, place, options)
    if found is None:
        return None
    for name, keys in (("docid", '"docid", "id" or "_id"'), ("text", '"text" or "contents"')):
        if name not in found[0]:
            options.bad_lines.report(place, f"has no {keys}{wrapper_advice(row)}")
            return None
    return make_record(found[0], place, options, found[1])


def _exported(row: dict[str, Any], place: str, options: ReadOptions) -> Record | None:
    """Return an exported document unchanged, or report it as bad and return ``None``."""
    digest = row.pop("checksum")
    try:
        document = msgspec.convert(row, _Exported).document
    except msgspec.ValidationError as error:
        options.bad_lines.report(place, f"is not an exported document ({error})")
        return None
    reason = check_docid(document.docid)
    if not reason and checksum(document) != digest:
        reason = "its checksum does not match its content; if you edit an exported document, remove its checksum"
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
