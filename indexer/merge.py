"""Merging: the surviving documents of some segments, copied into new ones."""

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
    """A document of one of the segments that are merged, by its number among them."""

    part: int
    stored: StoredDocument


class PlacedSegment(NamedTuple):
    """A segment that is merged: the folder of its index, and what the manifest says of it."""

    folder: Path
    segment: SegmentInfo


class Merge(NamedTuple):
    """A merge of segments: ``group`` are those of one kind.

    ``tools`` says into which index they are written, by which manifest. With ``mend`` files are taken that are not what
    the manifest says; the views that ``anew`` names are made from the documents then, not copied. Only documents are
    taken whose docids are ``wanted``.
    """

    group: Sequence[PlacedSegment]
    tools: Tools
    mend: bool = False
    anew: frozenset[str] = frozenset()
    wanted: Callable[[str], bool] | None = None

    def segments(self, number: int) -> Iterator[SegmentInfo]:
        """Write and yield new segments with the documents of the group in order; nothing is published yet.

        They are named from ``number`` on and full but for the last.
        Raises IndexStateError if what is copied is damaged.
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
        """Yield the documents that are wanted of the group; those to mend may lie in another segment's place."""
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
        """Write one segment with as many of the documents as it may hold; return its description."""
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
    """Write what each merge makes, numbered from ``first`` on; return it by the name of the first of its group."""
    made: dict[str, list[SegmentInfo]] = {}
    for merge in merges:
        made[merge.group[0].segment.name] = list(merge.segments(first + sum(map(len, made.values()))))
    return made


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
