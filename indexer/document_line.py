"""Read a single document from a line of JSON, as the reader ``jsonl`` does, and write it."""

from __future__ import annotations

from typing import Literal, NamedTuple

import msgspec

from ..retrieval.domain import Document
from ..retrieval.errors import SourceError
from ..retrieval.store.documents import checksum
from .collections import ReadOptions, jsonl
from .collections._documents import check_docid

KIND = jsonl.__name__.rpartition(".")[2]
"""The kind of source whose reader reads these lines."""


class Refused(NamedTuple):
    """The reason why a line is not a valid document, and the part to fix: docid, text, or the whole line."""

    reason: str
    part: Literal["docid", "text", "body"]


def read_line(line: str, language: str) -> Document | Refused:
    """Return the document of a line of JSON, as ``factseek index jsonl`` reads it, or the reason to refuse it."""
    try:
        record = jsonl.record_of(line, "", ReadOptions(language=language))
    except SourceError as error:
        return Refused(error.what, "body" if _has_fit_docid(line) else "docid")
    return Refused("has neither text nor title", "text") if record is None else record.document


def unread_date(document: Document) -> str:
    """Return the original date of a document if it was not understood, else ``""``."""
    return "" if document.date else str(document.metadata.get("date", ""))


def exported(document: Document) -> str:
    """Return a document as a line of JSON; reading the line returns an equal document."""
    row = {**document._asdict(), "metadata": dict(document.metadata), "checksum": checksum(document)}
    return msgspec.json.encode(row, order="deterministic").decode()


def _has_fit_docid(line: str) -> bool:
    """Return False if a JSON object has no valid docid; return True for a line that is not a JSON object."""
    try:
        row = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError):
        return True
    docid = row.get("docid") if isinstance(row, dict) else ""
    return not isinstance(row, dict) or (isinstance(docid, str) and not check_docid(docid))
