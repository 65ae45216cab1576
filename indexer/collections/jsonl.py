"""Read and write documents as JSON lines: one object per line; unknown keys become metadata.

A line that ``factseek export`` wrote has every field and a checksum, and is read unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import msgspec

from ...core.domain import Document
from ...core.errors import SourceError
from ...core.records.names import DOCUMENTS
from ...retrieval.store.documents import checksum
from . import Files, ReadOptions, Record, dated
from ._documents import check_docid, make_record, named_fields
from ._files import expand
from ._lines import parse_json_object
from ._tables import read_json_lines

SUMMARY = (
    "documents as JSON lines: docid, text, and optionally title, url, date, language, source, topic"
)
FILES: tuple[Files, ...] = (
    ("JSON lines", frozenset({"docid", "text"})),
    ("JSON lines", frozenset({"id", "text"})),
    ("JSON lines", frozenset({"id", "contents"})),
)

EXPORTED = (*Document._fields, "checksum")
"""All keys of an exported line, except those of :data:`ADDED`."""
ADDED = ("added", "added_by")
"""The keys that an exported line may have besides: when the document was added, and by which key.

They describe the index that was exported, so a reader ignores them.
"""
_Exported = msgspec.defstruct(
    "_Exported", [*((name, str) for name in Document._fields[:-1]), ("metadata", dict[str, Any])]
)
_REQUIRED = {"docid": '"docid", "id" or "_id"', "text": '"text" or "contents"'}


@dated
def read(sources: Sequence[Path], options: ReadOptions) -> Iterator[Record]:
    """Yield one document per line, in the order of the files and of their lines."""
    for path in expand(sources, (".jsonl", ".ndjson", ".json"), options):
        for place, row in read_json_lines(path, options):
            if record := _record(row, place, options):
                yield record


def _record(row: dict[str, Any], place: str, options: ReadOptions) -> Record | None:
    if is_exported(row):
        own = {name: value for name, value in row.items() if name not in ADDED}
        return _read_exported(own, place, options)
    found = named_fields(row, DOCUMENTS, place, options, _REQUIRED)
    return None if found is None else make_record(found[0], place, options, found[1])


def is_exported(keys: Iterable[str]) -> bool:
    """Return whether these are the keys of a line that ``factseek export`` wrote."""
    return set(keys).difference(ADDED) == set(EXPORTED)


def _read_exported(row: dict[str, Any], place: str, options: ReadOptions) -> Record | None:
    digest = row.pop("checksum")
    try:
        document = Document(*msgspec.structs.astuple(msgspec.convert(row, _Exported)))
    except msgspec.ValidationError as error:
        options.bad_lines.report(place, f"is not a valid exported document ({error})")
        return None
    reason = check_docid(document.docid)
    if not reason and checksum(document) != digest:
        reason = (
            "its checksum does not match its content; if you edit an exported document, remove "
            "its checksum"
        )
    if reason:
        options.bad_lines.report(place, reason)
        return None
    return Record(document, place)


class Refused(NamedTuple):
    """The reason why a line is not a valid document, and the part to fix: docid, text, or the whole
    line.
    """

    reason: str
    part: Literal["docid", "text", "body"]


def read_line(line: str, language: str) -> Document | Refused:
    """Return the document of a line of JSON, as ``factseek index jsonl`` reads it, or the reason to
    refuse it.
    """
    options = ReadOptions(language=language)
    try:
        row = parse_json_object(line, "", options)
        record = None if row is None else _record(row, "", options)
    except SourceError as error:
        try:
            content = msgspec.json.decode(line)
        except (msgspec.DecodeError, RecursionError):
            content = None
        docid = content.get("docid") if isinstance(content, dict) else "unknown"
        return Refused(
            error.what, "body" if isinstance(docid, str) and not check_docid(docid) else "docid"
        )
    return Refused("has neither text nor title", "text") if record is None else record.document


def unread_date(document: Document) -> str:
    """Return the original date of a document if it was not understood, else ``""``."""
    return "" if document.date else str(document.metadata.get("date", ""))


def export_document(
    document: Document, digest: str = "", added: Mapping[str, str] = MappingProxyType({})
) -> str:
    """Return a document as a line of JSON; reading the line returns an equal document.

    ``digest`` is its checksum; ``added`` has further keys, those of :data:`ADDED`.
    """
    row = {
        **document._asdict(),
        "metadata": dict(document.metadata),
        "checksum": digest or checksum(document),
        **added,
    }
    return msgspec.json.encode(row, order="deterministic").decode()
