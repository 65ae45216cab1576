"""Export: write the documents of an index as JSON lines, which ``factseek index jsonl`` reads back unchanged."""

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
    """Yield one line of JSON per document that matches ``where``, in the order of the segments.

    The documents are those of the manifest that is published when the iteration begins. Each line contains the checksum
    of its document. Raises IndexStateError if there is no index or its documents cannot be read.
    """
    return map(line_of, documents_of(folder, where))


def documents_of(folder: Path, where: Filter | None = None) -> Iterator[StoredDocument]:
    """Yield the documents that match ``where``, in the order of the segments of the manifest published at the start.

    Raises IndexStateError if there is no index or its documents cannot be read.
    """
    with leased(folder) as parts:
        for part, segment in ((part, segment) for part, manifest in parts for segment in manifest.segments):
            with closing(IndexFolder(part).documents(segment)) as documents:
                for stored in documents.each_stored():
                    if where is None or matches(where, stored.document, segment.kind):
                        yield stored


def export_to(folder: Path, path: Path, where: Filter | None = None) -> int:
    """Write the lines of :func:`export` to a file, completely or not at all, and return the number of documents."""
    writable(path)
    count = 0
    lines = export(folder, where)
    with replacing(path) as file:
        for line in lines:
            file.write(line)
            count += 1
    return count


def line_of(stored: StoredDocument) -> bytes:
    """Return a document as a line of JSON; the order of its metadata does not change the bytes."""
    document = stored.document
    values = (*document[:-1], dict(document.metadata), stored.checksum)
    return msgspec.json.encode(dict(zip(EXPORTED, values, strict=True)), order="deterministic") + b"\n"
