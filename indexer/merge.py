"""Merging: copy the remaining documents of some segments into new segments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..retrieval.progress import Bar, bar
from ..retrieval.store.documents import StoredDocument
from ..retrieval.store.index_folder import IndexFolder
from ..retrieval.store.integrity import check_files
from ..retrieval.store.manifest import DOCUMENTS, SegmentInfo
from ..retrieval.views import Merged, SegmentPlace, Tools, View, views
from .segment import TextWriter, checksums, settle


class _Stored(NamedTuple):
    """A document of one of the segments to merge. ``part`` is the number of its segment in the group."""

    part: int
    stored: StoredDocument


class PlacedSegment(NamedTuple):
    """A segment to merge: the folder of its index, and its entry in the manifest."""

    folder: Path
    segment: SegmentInfo


class Merge(NamedTuple):
    """A merge of segments. ``group`` contains segments of one kind.

    ``tools`` names the target index and its manifest. With ``mend``, files are copied even if they differ from the
    manifest. The views named in ``anew`` are made from the documents instead of copied. Only documents whose docid is
    ``wanted`` are copied.
    """

    group: Sequence[PlacedSegment]
    tools: Tools
    mend: bool = False
    anew: frozenset[str] = frozenset()
    wanted: Callable[[str], bool] | None = None

    def segments(self, number: int) -> Iterator[SegmentInfo]:
        """Write and yield new segments with the documents of the group, in order, without publishing them.

        Their names count from ``number`` on. All segments but the last are full. Raises IndexStateError if a file to
        copy is damaged.
        """
        if not self.mend:
            carried = [file for view in self._copied_views for file in view.carried]
            for folder, segment in self.group:
                check_files(folder, segment, (DOCUMENTS, *carried))
        passages = None if self.wanted else sum(origin.segment.passages for origin in self.group)
        with closing(bar("compacting", "passage", passages)) as copying:
            left = self._documents()
            first = next(left, None)
            while first is not None:
                yield self._segment(f"{number:06d}", chain((first,), left), copying)
                first, number = next(left, None), number + 1

    def _documents(self) -> Iterator[_Stored]:
        """Yield the wanted documents of the group. With ``mend``, the files may differ from the manifest."""
        for part, (path, segment) in enumerate(self.group):
            folder = IndexFolder(path)
            opened = folder.documents_as_found if self.mend else folder.documents
            with closing(opened(segment)) as documents:
                for stored in documents.each_stored():
                    if self.wanted is None or self.wanted(stored.document.docid):
                        yield _Stored(part, stored)

    @property
    def _copied_views(self) -> list[View]:
        return [view for view in views(self.tools.manifest) if view.name not in self.anew]

    def _segment(self, name: str, documents: Iterator[_Stored], copying: Bar) -> SegmentInfo:
        """Write one segment with as many of the documents as fit, and return its description."""
        built, first = self.tools.folder.unfinished(name), self.group[0].segment
        writer = TextWriter(built, first.kind, self.tools)
        most = self.tools.config.index.segment_passages
        try:
            rows = _copy_text(writer, len(self.group), documents, most, copying)
            writer.finish()
        except BaseException:
            writer.abandon()
            raise
        self._copy_views(SegmentPlace(built, name, first.kind, writer.passages), rows)
        merged = [origin.segment for origin in self.group]
        info = SegmentInfo(
            name=name,
            kind=first.kind,
            split=first.split,
            sentences=first.of_sentences,
            documents=writer.documents,
            passages=writer.passages,
            sources=tuple(dict.fromkeys(source for part in merged for source in part.sources)),
            files=checksums(built),
            text_seconds=round(sum(part.text_seconds for part in merged), 3),
            vector_seconds=round(sum(part.vector_seconds for part in merged), 3),
        )
        settle(built, self.tools.folder.segments)
        return info

    def _copy_views(self, segment: SegmentPlace, rows: Sequence[NDArray[np.int64]]) -> None:
        parts = [
            Merged(SegmentPlace(IndexFolder(folder).segment(part.name), part.name, part.kind, part.passages), of_part)
            for (folder, part), of_part in zip(self.group, rows, strict=True)
        ]
        for view in views(self.tools.manifest):
            if view.name in self.anew:
                view.complete(segment, self.tools)
            else:
                view.copy(parts, segment, self.tools)


def write_all(merges: Iterable[Merge], first: int) -> dict[str, list[SegmentInfo]]:
    """Write each merge's segments, numbered from ``first`` on. Return them by the name of the group's first segment."""
    made: dict[str, list[SegmentInfo]] = {}
    for merge in merges:
        made[merge.group[0].segment.name] = list(merge.segments(first + sum(map(len, made.values()))))
    return made


def _copy_text(
    writer: TextWriter, parts: int, documents: Iterator[_Stored], most: int, copying: Bar
) -> list[NDArray[np.int64]]:
    """Add documents until the segment has ``most`` passages; return the rows that they had in each part."""
    rows: list[list[int]] = [[] for _ in range(parts)]
    for part, (document, spans, first_row, digest, place) in documents:
        writer.add(document, spans, digest, place)
        rows[part].extend(range(first_row, first_row + len(spans)))
        copying.update(len(spans))
        if writer.passages >= most:
            break
    return [np.array(of_part, dtype=np.int64) for of_part in rows]
