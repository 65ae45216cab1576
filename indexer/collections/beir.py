"""Collections in BEIR's form: ``corpus.jsonl`` with ``_id``, ``title``, ``text`` and ``metadata``."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ...retrieval.domain import Document
from ...retrieval.errors import SourceError
from ...retrieval.records.table_shape import wrapper_advice
from . import Files, ReadOptions, Record
from ._dates import clean_date
from ._documents import check_docid
from ._files import one_file
from ._foreign import NOT_JSON_LINES, refuse_foreign
from ._lines import parse_json_object, read_lines

SUMMARY = "a collection in BEIR's form: its folder, or its corpus.jsonl"
SPLIT = False
SENTENCES = False
WHOLE_FOLDER = True
FILES: tuple[Files, ...] = (("JSON lines", frozenset({"_id", "text"})),)

_FIELDS = ("url", "date", "language", "source", "topic")


def read(sources: Sequence[Path], options: ReadOptions) -> Iterator[Record]:
    """Yield the documents of each corpus in the order of its lines.

    What ``metadata`` says of url, date, language, source and topic becomes the document's own.
    Raises SourceError if a corpus cannot be read.
    """
    for path in [_corpus(source) for source in sources]:
        refuse_foreign(path, NOT_JSON_LINES, "JSON lines")
        for place, line in read_lines(path, options):
            entry = parse_json_object(line, place, options) if line.strip() else None
            if entry is None:
                continue
            reason = _fault(entry)
            if reason:
                options.bad_lines.report(place, reason)
            elif not (entry.get("title") or entry.get("text")):
                options.leave_out(place, "documents without title and text")
            else:
                yield Record(_document(entry, options), place)


def _corpus(source: Path) -> Path:
    """Return the corpus file that a source means."""
    if not source.is_dir():
        return one_file(source)
    for name in ("corpus.jsonl", "corpus.jsonl.gz"):
        if os.path.lexists(source / name):
            return one_file(source / name)
    raise SourceError("holds no corpus.jsonl", place=source)


def _fault(entry: dict[str, Any]) -> str:
    """Return the fault of a line of a corpus, or ``""`` if it has none."""
    if "_id" not in entry:
        return f"has no '_id'{wrapper_advice(entry)}"
    if isinstance(entry["_id"], bool) or not isinstance(entry["_id"], str | int):
        return "'_id' is not a string"
    for name in ("title", "text"):
        if not isinstance(entry.get(name, ""), str | None):
            return f"{name!r} is not a string"
    if not isinstance(entry.get("metadata", {}), dict | None):
        return "'metadata' is not a JSON object"
    return check_docid(str(entry["_id"])) or ""


def _document(entry: dict[str, Any], options: ReadOptions) -> Document:
    """Return the document of a line; a field that is not a string stays in the metadata."""
    metadata = dict(entry.get("metadata") or {})
    own = {name: metadata.pop(name) for name in _FIELDS if isinstance(metadata.get(name), str)}
    if "date" in own:
        own["date"] = clean_date(own["date"])
    own["language"] = own.get("language") or options.language
    return Document(
        docid=str(entry["_id"]),
        text=entry.get("text") or "",
        title=entry.get("title") or "",
        metadata=metadata,
        **own,
    )
