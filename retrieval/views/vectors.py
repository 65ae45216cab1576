"""The view ``vectors``: a vector per passage from one encoder, which dense retrieval searches.

``vectors:NAME`` has the vectors of a further encoder, in separate files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from functools import partial
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from ...core.domain import Passage
from ...core.errors import IndexStateError
from ...core.progress import bar
from ..config import Config, DenseSettings
from ..dense.noise import Chance, made_up_vectors, noise_similarities, read_chance, write_chance
from ..dense.vectors import (
    UNFIT,
    VectorFiles,
    VectorIndex,
    Vectors,
    build_ann,
    read_ann,
    read_vectors,
    unfit_rows,
    whole_rows,
    write_vectors,
)
from ..encoders.encoder import Encoder
from ..encoders.given import GivenVectors
from ..lucene.index import flat_text
from ..store.manifest import Manifest
from . import Check, Encoders, Merged, OpenSegment, SegmentPlace, Tools, View

# The number of passages to encode and write together: an interruption loses at most this many.
ENCODED_AT_ONCE = 256
COPIED_AT_ONCE = 4_096


def searched_approximately(name: str, manifest: Manifest, settings: DenseSettings) -> bool:
    """Return whether a search of this view uses the approximate index of at least one segment."""
    ann = VectorFiles.for_variant(name.partition(":")[2]).ann
    return settings.type != "flat" and any(ann in segment.files for segment in manifest.segments)


class VectorsView(View):
    """The vectors of one encoder and, for a segment that is large enough, their approximate
    index.
    """

    @classmethod
    def describe(cls, name: str, config: Config, encoders: Encoders) -> dict[str, Any] | None:
        description: dict[str, Any] = msgspec.to_builtins(encoders(name, None).info)
        return description

    def __init__(self, name: str, manifest: Manifest) -> None:
        super().__init__(name, manifest)
        encoder = manifest.encoder_of(name)
        if encoder is None:
            raise IndexStateError(f"there are no {name} in this index")
        self.encoder = encoder
        self._files = VectorFiles.for_variant(name.partition(":")[2])

    @property
    def carried(self) -> tuple[str, ...]:
        """The vectors; a merge copies their rows, and rebuilds the approximate index."""
        return (self._files.vectors,)

    def owns(self, file: str) -> bool:
        return file in self._files

    def prepare(self, tools: Tools) -> None:
        encoder = tools.encoders(self.name, self.encoder)
        if self.encoder.is_given and not isinstance(encoder, GivenVectors):
            raise IndexStateError(
                f"its vectors were given, and not made by {encoder.name}", place=tools.folder
            )
        self.encoder.check(encoder.info, tools.folder)

    def complete(self, segment: SegmentPlace, tools: Tools) -> None:
        self.prepare(tools)
        encoder = tools.encoders(self.name, self.encoder)
        path, dimension = segment.folder / self._files.vectors, self.encoder.dimension
        done = whole_rows(path, dimension)
        with (
            closing(segment.documents()) as documents,
            closing(bar("encoding", "passage", segment.passages)) as left,
        ):
            left.update(done)

            def chunks() -> Iterator[NDArray[np.float32]]:
                for chunk in _encode_passages(encoder, documents.each_passage(done)):
                    yield chunk
                    left.update(len(chunk))

            write_vectors(path, chunks(), dimension, after=done, similarity=self.encoder.similarity)
        # Nothing can make the vectors of random queries for vectors that were given.
        random = None if self.encoder.is_given else made_up_vectors(encoder)
        self._measure_chance(segment, random)
        self._index(segment, tools)

    def copy(self, parts: Sequence[Merged], segment: SegmentPlace, tools: Tools) -> None:
        write_vectors(
            segment.folder / self._files.vectors,
            self._rows_of(parts),
            self.encoder.dimension,
            similarity=self.encoder.similarity,
        )
        chances = (self._chance_of(part.segment) for part in parts)
        self._measure_chance(
            segment, next((chance.queries for chance in chances if chance is not None), None)
        )
        self._index(segment, tools)

    def checks(self, segment: SegmentPlace, tools: Tools) -> Sequence[Check]:
        return [Check(file, partial(self._faults, segment, file)) for file in self._files]

    def open(
        self, segments: Sequence[OpenSegment], manifest: Manifest, config: Config
    ) -> VectorIndex:
        parts = [(segment.folder, segment.info.passages) for segment in segments]
        return VectorIndex(
            parts, self.encoder.dimension, config.dense, self._files, self.encoder.similarity
        )

    def _index(self, segment: SegmentPlace, tools: Tools) -> None:
        build_ann(self._read(segment), segment.folder, tools.config.dense, file=self._files.ann)

    def _measure_chance(self, segment: SegmentPlace, queries: Vectors | None) -> None:
        """Write the cosines of the nearest passages to random queries; the scan is exact under any
        settings.
        """
        path = segment.folder / self._files.chance
        # An interrupted call may have left these.
        for file in (path, segment.folder / self._files.ann):
            file.unlink(missing_ok=True)
        if queries is not None and segment.passages:
            place = [(segment.folder, segment.passages)]
            vectors = VectorIndex(
                place,
                self.encoder.dimension,
                DenseSettings(type="flat"),
                self._files,
                self.encoder.similarity,
            )
            write_chance(path, queries, noise_similarities(queries, vectors))

    def _chance_of(self, segment: SegmentPlace) -> Chance | None:
        with suppress(IndexStateError):
            return read_chance(
                segment.folder / self._files.chance,
                self.encoder.dimension,
                self.encoder.similarity,
            )
        return None

    def _read(self, segment: SegmentPlace) -> NDArray[np.float32]:
        return read_vectors(
            segment.folder / self._files.vectors, segment.passages, self.encoder.dimension
        )

    def _rows_of(self, parts: Sequence[Merged]) -> Iterator[NDArray[np.float32]]:
        for part, rows in parts:
            vectors = self._read(part)
            for start in range(0, len(rows), COPIED_AT_ONCE):
                yield vectors[rows[start : start + COPIED_AT_ONCE]]

    def _faults(self, segment: SegmentPlace, file: str) -> Iterator[str]:
        path = segment.folder / file
        if file == self._files.vectors:
            similarity = self.encoder.similarity
            for row in unfit_rows(self._read(segment), similarity):
                yield f"vector {row} {UNFIT[similarity]}"
        elif file == self._files.ann and path.exists():
            read_ann(path, segment.passages, self.encoder.dimension)
        elif file == self._files.chance and segment.passages:
            read_chance(path, self.encoder.dimension, self.encoder.similarity)


def _encode_passages(
    encoder: Encoder, passages: Iterable[tuple[str, Passage]]
) -> Iterator[Vectors]:
    """Yield the vectors of passages, each with the title of its document, in their order."""
    if isinstance(encoder, GivenVectors):
        return encoder.of_passages((passage for _, passage in passages), ENCODED_AT_ONCE)
    texts = (flat_text(title, passage.text) for title, passage in passages)
    return encoder.encode_documents_stream(texts, ENCODED_AT_ONCE)


view = VectorsView
