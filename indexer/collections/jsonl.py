"""Documents as JSON lines: one object a line, any further key kept as metadata."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from indexer.collections import ReadOptions, Record
from indexer.collections._documents import make_record, named_fields
from indexer.collections._files import expand
from indexer.collections._lines import parse_json_object, read_lines

SUMMARY = "documents as JSON lines: docid, text, and optionally title, url, date, language, source, topic"
SPLIT = False

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


def read(sources: Sequence[Path], options: ReadOptions) -> Iterator[Record]:
    """Yield a document a line, in the order of the files and of their lines.

    Raises SourceError if a source cannot be read.
    """
    for path in expand(sources, (".jsonl", ".ndjson", ".json")):
        for place, line in read_lines(path, options):
            if line.strip() and (record := _record(line, place, options)):
                yield record


def _record(line: str, place: str, options: ReadOptions) -> Record | None:
    """Make a document of one line, or report it as bad and return ``None``."""
    row = parse_json_object(line, place, options)
    parts = None if row is None else named_fields(row, _NAMES, place, options)
    if parts is None:
        return None
    fields, metadata = parts
    for name, keys in (("docid", '"docid", "id" or "_id"'), ("text", '"text" or "contents"')):
        if name not in fields:
            options.bad_lines.report(place, f"has no {keys}")
            return None
    return make_record(fields, place, options, metadata)
