"""Export: the documents of an index as JSON lines, which ``factseek index jsonl`` reads back as they were."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec

from ..retrieval.domain import Filter
from ..retrieval.files import replacing, writable
from ..retrieval.filters import matches
from ..retrieval.search.opening import leased
from ..retrieval.store.documents import StoredDocument
from ..retrieval.store.index_folder import IndexFolder
from .collections.jsonl import EXPORTED


def export(folder: Path, where: Filter | None = None) -> Iterator[bytes]:
    """Yield a line of JSON a document, in the order of the segments, of the state that is published when it begins.

    Only documents that pass ``where``. A line carries the checksum of its document.
    Raises IndexStateError if there is no index or its documents cannot be read.
    """
    return map(line_of, documents_of(folder, where))


def documents_of(folder: Path, where: Filter | None = None) -> Iterator[StoredDocument]:
    """Yield the documents that pass ``where``, in the order of the segments, of the state published when it begins.

    Raises IndexStateError if there is no index or its documents cannot be read.
    """
    with leased(folder) as parts:
        for part, segment in ((part, segment) for part, manifest in parts for segment in manifest.segments):
            with closing(IndexFolder(part).documents(segment)) as documents:
                for stored in documents.each_stored():
                    if where is None or matches(where, stored.document, segment.kind):
                        yield stored


def export_to(folder: Path, path: Path, where: Filter | None = None) -> int:
    """Write what :func:`export` yields to a file, which is there whole or not at all; return how many documents."""
    writable(path)
    count = 0
    lines = export(folder, where)
    with replacing(path) as file:
        for line in lines:
            file.write(line)
            count += 1
    return count


def line_of(stored: StoredDocument) -> bytes:
    """Return a document as a line of JSON, the same bytes whatever the order of its metadata."""
    document = stored.document
    values = (*document[:-1], dict(document.metadata), stored.checksum)
    return msgspec.json.encode(dict(zip(EXPORTED, values, strict=True)), order="deterministic") + b"\n"
