"""The view ``impacts``: the weights of the terms of each passage from one sparse model, by term.

``impacts:NAME`` has those of a further model, in separate files. An index has such a view only if
the user asks for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import partial
from typing import Any

import msgspec

from ...core.errors import IndexStateError
from ...core.progress import bar
from ..config import Config
from ..lucene.index import flat_text
from ..sparse.encoder import open_sparse_encoder, open_sparse_encoder_of
from ..sparse.impacts import (
    ImpactFiles,
    ImpactIndex,
    PendingImpacts,
    SegmentImpacts,
    merge_impacts,
)
from ..store.manifest import Manifest
from . import Check, Encoders, Merged, OpenSegment, SegmentPlace, Tools, View

# The number of passages to encode and write together: an interruption loses at most this many.
ENCODED_AT_ONCE = 256


class ImpactsView(View):
    """The impacts of the terms of passages."""

    optional: bool = True

    @classmethod
    def describe(cls, name: str, config: Config, encoders: Encoders) -> dict[str, Any] | None:
        with closing(open_sparse_encoder(config.impact)) as encoder:
            description: dict[str, Any] = msgspec.to_builtins(encoder.info)
        return description

    def __init__(self, name: str, manifest: Manifest) -> None:
        super().__init__(name, manifest)
        info = manifest.impacts_of(name)
        if info is None:
            raise IndexStateError(f"there are no {name} in this index")
        self.info = info
        self._files = ImpactFiles.for_variant(name.partition(":")[2])

    @property
    def carried(self) -> tuple[str, ...]:
        return self._files.postings

    def owns(self, file: str) -> bool:
        return file in self._files

    def prepare(self, tools: Tools) -> None:
        with closing(open_sparse_encoder_of(self.info, tools.config.impact, tools.folder)):
            return

    def complete(self, segment: SegmentPlace, tools: Tools) -> None:
        if self._is_written(segment):
            return
        encoder = open_sparse_encoder_of(self.info, tools.config.impact, tools.folder)
        pending = PendingImpacts(segment.folder / self._files.pending)
        with (
            closing(encoder),
            closing(pending),
            closing(segment.documents()) as documents,
            closing(bar("weighing terms", "passage", segment.passages)) as left,
        ):
            left.update(pending.passages)
            texts = (
                flat_text(title, passage.text)
                for title, passage in documents.each_passage(pending.passages)
            )
            for chunk in encoder.weigh_documents_stream(texts, ENCODED_AT_ONCE):
                pending.add(chunk)
                left.update(len(chunk))
            pending.sort(segment.folder, self._files, self.info.vocabulary)

    def copy(self, parts: Sequence[Merged], segment: SegmentPlace, tools: Tools) -> None:
        opened = [(self._open(part), rows) for part, rows in parts]
        merge_impacts(opened, segment.folder, self._files)

    def checks(self, segment: SegmentPlace, tools: Tools) -> Sequence[Check]:
        return [Check(self._files.starts, partial(self._faults, segment))]

    def open(
        self, segments: Sequence[OpenSegment], manifest: Manifest, config: Config
    ) -> ImpactIndex:
        places = (
            SegmentPlace(each.folder, each.info.name, each.info.kind, each.info.passages)
            for each in segments
        )
        return ImpactIndex(list(map(self._open, places)))

    def _open(self, segment: SegmentPlace) -> SegmentImpacts:
        return SegmentImpacts(segment.folder, segment.passages, self.info.vocabulary, self._files)

    def _is_written(self, segment: SegmentPlace) -> bool:
        """Return whether an interrupted call had finished this view."""
        is_pending = (segment.folder / self._files.pending).exists()
        written = (segment.folder / file for file in self._files.postings)
        return not is_pending and all(path.exists() for path in written)

    def _faults(self, segment: SegmentPlace) -> Iterator[str]:
        yield from self._open(segment).faults()


view = ImpactsView
