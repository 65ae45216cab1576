"""Write one segment in its own folder: the documents, with the views written at the same time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..retrieval.domain import Document, Span
from ..retrieval.files import sync_folder, sync_tree
from ..retrieval.store.documents import DocumentWriter
from ..retrieval.store.manifest import DOCUMENTS, FileInfo
from ..retrieval.views import PassageSink, SegmentPlace, Tools, views


class TextWriter:
    """Writes the documents of a segment (``stored``), and the views that take documents one by one."""

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
        """Make the documents of the segment, and the views written at the same time, durable."""
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
        path.relative_to(folder).as_posix(): FileInfo.of(path) for path in sorted(folder.rglob("*")) if path.is_file()
    }


def settle(built: Path, segments: Path) -> None:
    """Move a finished segment to its place among the others, durably."""
    sync_folder(built)
    segments.mkdir(exist_ok=True)
    built.rename(segments / built.name)
    sync_folder(segments)
