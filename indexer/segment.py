"""Write one segment in its own folder, from documents or from the remaining documents of other
segments.

Views that take documents one by one are written together with the documents, the other views
afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..core.domain import Document, Span
from ..core.files import sync_folder, sync_tree
from ..core.progress import Bar, bar
from ..retrieval.store.documents import DocumentWriter, StoredDocument
from ..retrieval.store.index_folder import open_documents
from ..retrieval.store.integrity import check_files
from ..retrieval.store.manifest import BUILD, DOCUMENTS, SEGMENTS, Added, FileInfo, SegmentInfo
from ..retrieval.views import Merged, PassageSink, SegmentPlace, Tools, views
from . import journal as journals

Origin = tuple[Path, SegmentInfo]
"""A segment to merge: the folder of its index, and its entry in the manifest."""


class TextWriter:
    """Writes the documents of a segment, with ``stored``, and the views that take documents one by
    one.
    """

    def __init__(self, folder: Path, kind: str, tools: Tools) -> None:
        folder.mkdir(parents=True)
        self._folder = folder
        self.stored = DocumentWriter(folder / DOCUMENTS)
        self._sinks: list[PassageSink] = []
        try:
            for view in views(tools.manifest):
                if (sink := view.sink(SegmentPlace(folder, folder.name, kind), tools)) is not None:
                    self._sinks.append(sink)
        except BaseException:
            self.abandon()
            raise

    def add(self, document: Document, spans: Sequence[Span], digest: str, place: str) -> None:
        """Add a document with its passages."""
        self.stored.add(document, spans, digest, place)
        for sink in self._sinks:
            sink.add(document, spans)

    def finish(self) -> None:
        """Make the documents of the segment durable, and the views that were written together with
        them.
        """
        for sink in self._sinks:
            sink.end()
        self.stored.finish()
        for sink in self._sinks:
            sink.finish()
        sync_tree(self._folder)

    def abandon(self) -> None:
        """Stop and discard everything."""
        self.stored.abandon()
        for sink in self._sinks:
            sink.abandon()


def checksums(folder: Path) -> dict[str, FileInfo]:
    """Return the size and the checksum of every file of a segment, by its path in the segment."""
    return {
        path.relative_to(folder).as_posix(): FileInfo.of(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def settle(built: Path, segments: Path) -> None:
    """Move a finished segment to its place among the others, durably."""
    sync_folder(built)
    segments.mkdir(exist_ok=True)
    built.rename(segments / built.name)
    sync_folder(segments)


class Merge(NamedTuple):
    """A merge of the segments of ``group``, of one kind, into the index that ``tools`` names.

    With ``mend``, files are copied even if they differ from the manifest. The views in ``rebuild``
    are made from the documents. Only documents whose docid ``wanted`` accepts are copied; ``None``
    accepts all.
    """

    group: Sequence[Origin]
    tools: Tools
    mend: bool = False
    rebuild: frozenset[str] = frozenset()
    wanted: Callable[[str], bool] | None = None

    def segments(self, number: int) -> Iterator[SegmentInfo]:
        """Write and yield new segments, named by ``number`` and the following, without publishing
        them.

        All segments but the last are full. Raises IndexStateError if a file to copy is damaged.
        """
        if not self.mend:
            copied = [view for view in views(self.tools.manifest) if view.name not in self.rebuild]
            carried = [file for view in copied for file in view.carried]
            for folder, segment in self.group:
                check_files(folder / SEGMENTS / segment.name, segment, (DOCUMENTS, *carried))
        passages = None if self.wanted else sum(segment.passages for _, segment in self.group)
        with closing(bar("compacting", "passage", passages)) as copying:
            left = self._documents()
            while (first := next(left, None)) is not None:
                yield self._segment(f"{number:06d}", chain((first,), left), copying)
                number += 1

    def _documents(self) -> Iterator[tuple[int, StoredDocument]]:
        for part, (path, segment) in enumerate(self.group):
            with closing(open_documents(path, segment, check=not self.mend)) as documents:
                for stored in documents.each_stored():
                    if self.wanted is None or self.wanted(stored.document.docid):
                        yield part, stored

    def _segment(
        self, name: str, documents: Iterator[tuple[int, StoredDocument]], copying: Bar
    ) -> SegmentInfo:
        merged = [segment for _, segment in self.group]
        first, folder = merged[0], self.tools.folder
        built = folder / BUILD / name
        writer = TextWriter(built, first.kind, self.tools)
        # The rows of the copied passages, by segment of the group.
        rows: list[list[int]] = [[] for _ in merged]
        added: list[Added] = []
        try:
            for part, (document, spans, first_row, digest, source, row) in documents:
                _note_added(added, writer.stored.documents, merged[part].added_at(row))
                writer.add(document, spans, digest, source)
                rows[part].extend(range(first_row, first_row + len(spans)))
                copying.update(len(spans))
                if writer.stored.passages >= self.tools.config.index.segment_passages:
                    break
            writer.finish()
        except BaseException:
            writer.abandon()
            raise
        parts = []
        for (path, origin), of_part in zip(self.group, rows, strict=True):
            place = SegmentPlace(
                path / SEGMENTS / origin.name, origin.name, origin.kind, origin.passages
            )
            parts.append(Merged(place, np.array(of_part, dtype=np.int64)))
        written = SegmentPlace(built, name, first.kind, writer.stored.passages)
        for view in views(self.tools.manifest):
            if view.name in self.rebuild:
                view.complete(written, self.tools)
            else:
                view.copy(parts, written, self.tools)
        info = SegmentInfo(
            name=name,
            kind=first.kind,
            split=first.split,
            sentences=first.of_sentences,
            documents=writer.stored.documents,
            passages=writer.stored.passages,
            sources=tuple(dict.fromkeys(source for part in merged for source in part.sources)),
            files=checksums(built),
            text_seconds=round(sum(part.text_seconds for part in merged), 3),
            vector_seconds=round(sum(part.vector_seconds for part in merged), 3),
            added=tuple(added),
        )
        settle(built, folder / SEGMENTS)
        return info


def _note_added(added: list[Added], row: int, before: Added | None) -> None:
    """Note when the document of a new row was added, unless that is as for the row before it."""
    # An entry without a time stands for documents of earlier versions, which did not record it.
    time, by = (before.time, before.by) if before else ("", "")
    if (added[-1].time, added[-1].by) != (time, by) if added else time:
        added.append(Added(row=row, time=time, by=by))


def merged_segments(
    segments: Sequence[SegmentInfo], merges: Sequence[Merge], folder: Path
) -> tuple[SegmentInfo, ...]:
    """Write the merges into the index in ``folder``; return ``segments`` with new segments instead
    of each group.
    """
    made: dict[str, list[SegmentInfo]] = {}
    number = journals.first_segment(folder)
    for merge in merges:
        new = made[merge.group[0][1].name] = list(merge.segments(number))
        number += len(new)
    gone = {segment.name for merge in merges for _, segment in merge.group}
    kept: list[SegmentInfo] = []
    for segment in segments:
        kept += made.get(segment.name, [] if segment.name in gone else [segment])
    return tuple(kept)
