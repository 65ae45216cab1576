"""One segment, written in a folder of its own: first documents and Lucene's index, then the vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..retrieval.config import DenseSettings
from ..retrieval.documents import DocumentWriter, SegmentDocuments
from ..retrieval.domain import Document, Span
from ..retrieval.encoder import Encoder
from ..retrieval.files import sha256, sync_folder, sync_tree
from ..retrieval.filters import tokens
from ..retrieval.lucene import Fields, PassageWriter, flat_text
from ..retrieval.manifest import DOCUMENTS, LUCENE, VECTORS, FileInfo
from ..retrieval.vectors import build_ann, read_vectors, sample_vectors, train_quantizer, whole_rows, write_vectors

CHUNK = 256
"""Passages that are encoded and written together: what an interruption can lose of the encoding."""


class Seen(NamedTuple):
    """A document that is there already: the checksum of its content, and the place where it was read."""

    checksum: str
    place: str


class TextWriter:
    """Writes the documents of a segment and Lucene's index of their passages."""

    def __init__(self, folder: Path, kind: str, analyzer: str, fields: Fields, buffer_mb: int) -> None:
        folder.mkdir(parents=True)
        self._name = folder.name
        self._kind = kind
        self._folder = folder
        self._documents = DocumentWriter(folder / DOCUMENTS)
        self._lucene = PassageWriter(folder / LUCENE, analyzer, fields, buffer_mb)

    @property
    def documents(self) -> int:
        """The number of documents so far."""
        return self._documents.documents

    @property
    def passages(self) -> int:
        """The number of passages so far."""
        return self._documents.passages

    def seen(self, docid: str) -> Seen | None:
        """Return what is known of a document of this segment, or None."""
        found = self._documents.seen(docid)
        return Seen(*found) if found else None

    def add(self, document: Document, spans: Sequence[Span], digest: str, place: str) -> None:
        """Add a document with its passages."""
        self._documents.add(document, spans, digest, place)
        filters = tokens(document, self._kind, self._name)
        for span in spans:
            self._lucene.add(document.title, document.text[span.start : span.end], filters)

    def finish(self) -> None:
        """Make the text of the segment durable."""
        self._documents.finish()
        self._lucene.finish()
        sync_tree(self._folder)

    def abandon(self) -> None:
        """Stop without keeping anything."""
        self._documents.abandon()
        self._lucene.abandon()


def encode_missing(folder: Path, encoder: Encoder, progress: Callable[[int], object]) -> None:
    """Encode the passages that have no vector yet, in order; ``progress`` is told how many were done.

    The vectors that an earlier, interrupted call wrote are kept.
    """
    path = folder / VECTORS
    done = whole_rows(path, encoder.dimension)
    progress(done)
    documents = SegmentDocuments(folder / DOCUMENTS)

    def chunks() -> Iterator[NDArray[np.float32]]:
        texts = (flat_text(stored.title, stored.passage.text) for stored in documents.each_passage(done))
        for chunk in encoder.encode_documents_stream(texts, CHUNK):
            yield chunk
            progress(len(chunk))

    write_vectors(path, chunks(), encoder.dimension, after=done)
    documents.close()


def index_vectors(folder: Path, passages: int, dimension: int, settings: DenseSettings, quantizer: Path) -> None:
    """Write the approximate index of a segment's vectors, if the settings and its size ask for one.

    An IVF-PQ index is trained once, on the first segment that is large enough: ``quantizer`` is then shared by all.
    """
    vectors = read_vectors(folder / VECTORS, passages, dimension)
    if settings.type == "ivfpq" and passages >= settings.flat_below and not quantizer.exists():
        temporary = quantizer.with_suffix(".tmp")
        train_quantizer(sample_vectors(vectors, settings.train_sample), settings, temporary)
        temporary.replace(quantizer)
    build_ann(vectors, folder, settings, quantizer if quantizer.exists() else None)


def checksums(folder: Path) -> dict[str, FileInfo]:
    """Return size and checksum of every file of a segment, by its path in the segment."""
    return {
        path.relative_to(folder).as_posix(): FileInfo(bytes=path.stat().st_size, sha256=sha256(path))
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def settle(built: Path, segments: Path) -> None:
    """Move a finished segment to its place among the others, durably."""
    sync_folder(built)
    segments.mkdir(exist_ok=True)
    built.rename(segments / built.name)
    sync_folder(segments)
