"""A document that is given by itself, not in a file of a user's: read as JSON lines are."""

from __future__ import annotations

import msgspec

from ..retrieval.documents import checksum
from ..retrieval.domain import Document
from .collections import BadLines, ReadOptions
from .collections.jsonl import record_of


def read_line(line: str, language: str) -> Document | str:
    """Return the document of a line of JSON, as ``factseek index jsonl`` reads it, or what is wrong with it."""
    options = ReadOptions(language=language, bad_lines=BadLines(limit=1))
    record = record_of(line, "", options)
    if record is not None:
        return record.document
    return options.bad_lines.examples[0].removeprefix(": ") if options.bad_lines.count else "has neither text nor title"


def exported(document: Document) -> str:
    """Return a document as the line that is read back as it is."""
    row = {**document._asdict(), "metadata": dict(document.metadata), "checksum": checksum(document)}
    return msgspec.json.encode(row, order="deterministic").decode()
