"""Merging: the surviving documents of some segments, copied into new ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..retrieval.config import Config
from ..retrieval.documents import StoredDocument
from ..retrieval.encoder import Encoder
from ..retrieval.index_folder import IndexFolder
from ..retrieval.integrity import check_files
from ..retrieval.manifest import BUILD, DOCUMENTS, SEGMENTS, VECTORS, Manifest, SegmentInfo
from ..retrieval.progress import Bar, bar
from ..retrieval.vectors import QUANTIZER, Vectors, read_vectors, write_vectors
from .segment import TextWriter, checksums, encode_missing, index_vectors, settle

CHUNK = 4_096
"""Vectors that are copied at once."""


class _Stored(NamedTuple):
    """A document of one of the segments that are merged, by its number among them."""

    part: int
    stored: StoredDocument


class Merge(NamedTuple):
    """Which segments are merged, where: ``shape`` is the manifest that names them, ``group`` those of one kind.

    They are read in the index ``folder`` and written ``into`` another, or the same. With an ``encoder`` vectors are
    made anew; with ``mend`` files are taken that are not what the manifest says.
    """

    folder: Path
    into: Path
    shape: Manifest
    group: Sequence[SegmentInfo]
    config: Config
    encoder: Encoder | None = None
    mend: bool = False

    def segments(self, number: int) -> Iterator[SegmentInfo]:
        """Write and yield new segments with the documents of the group in order; nothing is published yet.

        They are named from ``number`` on and full but for the last.
        Raises IndexStateError if what is copied is damaged.
        """
        if not self.mend:
            for segment in self.group:
                check_files(self.folder, segment, (DOCUMENTS, VECTORS))
        passages = sum(segment.passages for segment in self.group)
        with closing(bar("compacting", "passages", passages)) as copying:
            left = _each(self.folder, self.group)
            first = next(left, None)
            while first is not None:
                yield self._segment(f"{number:06d}", chain((first,), left), copying)
                first, number = next(left, None), number + 1

    def _segment(self, name: str, documents: Iterator[_Stored], copying: Bar) -> SegmentInfo:
        """Write one segment with as many of the documents as it takes."""
        built, first = self.into / BUILD / name, self.group[0]
        buffer_mb = self.config.build.lucene_buffer_mb
        writer = TextWriter(built, first.kind, self.shape.analyzer, self.shape.fields, buffer_mb)
        try:
            rows = _copy_text(writer, len(self.group), documents, self.config.index.segment_passages, copying)
            writer.finish()
        except BaseException:
            writer.abandon()
            raise
        self._write_vectors(built, rows)
        info = SegmentInfo(
            name=name,
            kind=first.kind,
            split=first.split,
            sentences=first.of_sentences,
            documents=writer.documents,
            passages=writer.passages,
            sources=tuple(dict.fromkeys(source for part in self.group for source in part.sources)),
            files=checksums(built),
            text_seconds=round(sum(part.text_seconds for part in self.group), 3),
            vector_seconds=round(sum(part.vector_seconds for part in self.group), 3),
        )
        settle(built, self.into / SEGMENTS)
        return info

    def _write_vectors(self, built: Path, rows: Sequence[NDArray[np.int64]]) -> None:
        if self.shape.encoder is None:
            return
        passages, dimension = sum(map(len, rows)), self.shape.encoder.dimension
        if self.encoder is not None:
            with closing(bar("encoding", "passages", passages)) as encoding:
                encode_missing(built, self.encoder, encoding.update)
        else:
            write_vectors(built / VECTORS, _copied(self._vectors(dimension), rows), dimension)
        quantizer = self.into / (self.shape.quantizer or QUANTIZER)
        index_vectors(built, passages, dimension, self.config.dense, quantizer)

    def _vectors(self, dimension: int) -> list[Vectors]:
        folder = self.folder / SEGMENTS
        return [read_vectors(folder / part.name / VECTORS, part.passages, dimension) for part in self.group]


def write_all(merges: Iterable[Merge], first: int) -> dict[str, list[SegmentInfo]]:
    """Write what each merge makes, numbered from ``first`` on; return it by the name of the first of its group."""
    made: dict[str, list[SegmentInfo]] = {}
    for merge in merges:
        made[merge.group[0].name] = list(merge.segments(first + sum(map(len, made.values()))))
    return made


def _each(folder: Path, group: Sequence[SegmentInfo]) -> Iterator[_Stored]:
    for part, segment in enumerate(group):
        documents = IndexFolder(folder).documents(segment)
        with closing(documents):
            for stored in documents.each_stored():
                yield _Stored(part, stored)


def _copy_text(
    writer: TextWriter, parts: int, documents: Iterator[_Stored], most: int, copying: Bar
) -> list[NDArray[np.int64]]:
    """Add documents until there are ``most`` passages; return the rows that they had in each part."""
    rows: list[list[int]] = [[] for _ in range(parts)]
    for part, (document, spans, first_row, digest, place) in documents:
        writer.add(document, spans, digest, place)
        rows[part].extend(range(first_row, first_row + len(spans)))
        copying.update(len(spans))
        if writer.passages >= most:
            break
    return [np.array(of_part, dtype=np.int64) for of_part in rows]


def _copied(vectors: Sequence[Vectors], rows: Sequence[NDArray[np.int64]]) -> Iterator[Vectors]:
    for of_part, wanted in zip(vectors, rows, strict=True):
        for start in range(0, len(wanted), CHUNK):
            yield of_part[wanted[start : start + CHUNK]]
