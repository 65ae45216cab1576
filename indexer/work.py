"""The work of a build: segment after segment, each in the journal, so that an interrupted build can go on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import chain
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from ..retrieval.documents import SegmentDocuments, checksum
from ..retrieval.domain import Span
from ..retrieval.manifest import SegmentInfo, SourceInfo
from ..retrieval.progress import Bar, bar
from ..retrieval.views import Tools
from . import journal as journals
from .collections import BadLines, ReadOptions, Record, reader
from .journal import Journal, Progress
from .passages import split, whole
from .segment import Seen, TextWriter, checksums, complete, settle, written
from .settings import Config
from .update_ledger import UpdateLedger


class BuildTask(NamedTuple):
    """The task of a build: ``paths`` are read, ``sources`` describes them, ``live`` are the published segments.

    With ``update``, a document whose docid is live with other content takes its place.
    """

    kind: str
    paths: Sequence[Path]
    sources: tuple[SourceInfo, ...]
    live: tuple[SegmentInfo, ...]
    update: bool = False


class Work:
    """One build at work: it reads the sources and leaves finished segments in the journal."""

    def __init__(self, task: BuildTask, config: Config, tools: Tools, journal: Journal) -> None:
        self._kind, self._paths, self._sources, live, self.updates = task
        self._tools = tools
        self._folder, self._shape = tools.folder, tools.manifest
        self._config = config
        self._reader = reader(task.kind)
        self._split = self._config.passages.split.get(task.kind, self._reader.SPLIT)
        self._live = [self._folder.documents(info) for info in live]
        self._finished = [self._folder.documents(info) for info in journal.finished]
        self._ledger = UpdateLedger()
        self._records: Iterator[Record] = iter(())
        self._text_seconds = 0.0
        self.journal = journal
        self.resumed = False
        self._open()

    def _open(self) -> None:
        limits = self._config.build
        self.options = ReadOptions(
            language=self._shape.language,
            max_line_bytes=limits.max_line_bytes,
            max_file_bytes=limits.max_file_bytes,
            bad_lines=BadLines(limits.skip_bad_lines),
        )
        self._records = iter(self._reader.read(self._paths, self.options))

    def resume(self) -> bool:
        """Finish the segment that was begun and pass over what was read; return whether the build can go on.

        Sources that changed since (a broken line that was mended) are compared document by document: the build goes on
        only if what it had read is still what they begin with, and all that it wrote is still among it.
        """
        if self.journal.text_of:
            self._finish_segment()
        done, unchanged = self.journal.progress.records, self.journal.sources == self._sources
        written_before: set[str] = set()
        with closing(bar("reading again", "documents", done)) as reading:
            for _ in range(done):
                record = next(self._records, None)
                if record is None or not (unchanged or self._known(record, written_before)):
                    return False
                self._live_already(record, checksum(record.document))
                reading.update()
        if not unchanged and len(written_before) < sum(info.documents for info in self.journal.finished):
            return False
        self.options.bad_lines.count += self.journal.progress.clashes
        self.journal.sources = self._sources
        self.resumed = True
        return True

    def run(self) -> None:
        """Write segment after segment until the sources are read."""
        with closing(bar("reading", "documents")) as reading:
            while self._write_text(self._records, reading):
                self._finish_segment()

    def close(self) -> None:
        """Close the documents that were looked into."""
        self._ledger.close()
        for documents in (*self._live, *self._finished):
            documents.close()

    def _known(self, record: Record, written_before: set[str]) -> bool:
        """Return whether a document was written or live as it is; note in ``written_before`` that it was written."""
        docid, digest = record.document.docid, checksum(record.document)
        if _holds(self._finished, docid, digest):
            written_before.add(docid)
            return True
        return _holds(self._live, docid, digest)

    def new_docids(self) -> Iterator[str]:
        """Yield the docids of the documents that the build wrote."""
        for documents in self._finished:
            yield from documents.docids()

    def docids(self) -> Iterator[str]:
        """Yield the docids of the documents that the build wrote, or found as they were read."""
        yield from self.new_docids()
        yield from self._ledger.docids()

    def _write_text(self, records: Iterator[Record], reading: Bar) -> bool:
        """Write the text of the next segment; return whether there was any."""
        first = next(records, None)
        if first is None:
            return False
        began = perf_counter()
        folder = self._folder.unfinished(self.journal.next_name)
        writer = TextWriter(folder, self._kind, self._tools)
        try:
            progress = self._fill(writer, chain((first,), records), reading)
            writer.finish()
        except BaseException:
            writer.abandon()
            raise
        self.journal.progress = progress
        self.journal.text_of = folder.name if writer.documents else ""
        journals.save(self._folder.path, self.journal)
        self._text_seconds = perf_counter() - began
        return bool(writer.documents)

    def _fill(self, writer: TextWriter, records: Iterator[Record], reading: Bar) -> Progress:
        done = self.journal.progress
        read, duplicates, clashes = done.records, done.duplicates, done.clashes
        for record in records:
            read += 1
            reading.update()
            digest = checksum(record.document)
            seen = self._seen(writer, record, digest)
            if seen is None:
                writer.add(record.document, self._spans(record), digest, record.place)
            elif seen.checksum == digest:
                duplicates += 1
            else:
                self._report_clash(record, seen)
                clashes += 1
            if writer.passages >= self._config.index.segment_passages:
                break
        return Progress(records=read, duplicates=duplicates, clashes=clashes)

    def _seen(self, writer: TextWriter, record: Record, digest: str) -> Seen | None:
        """Return the document of the same docid that a record clashes with, None if an update may replace it."""
        docid = record.document.docid
        earlier = writer.seen(docid) or _first_seen(self._finished, docid)
        if earlier is not None:
            return earlier
        if self.updates:
            return self._live_already(record, digest)
        live = _first_seen(self._live, docid)
        if live is not None and live.checksum == digest:
            self._ledger.add(docid, digest, record.place)
        return live

    def _live_already(self, record: Record, digest: str) -> Seen | None:
        """Return the live document of the same content, or an earlier one of the docid in the sources, else None."""
        docid = record.document.docid
        earlier = self._ledger.seen(docid)
        if earlier is not None:
            return earlier
        live = _first_seen(self._live, docid)
        if live is None or live.checksum != digest:
            return None
        self._ledger.add(docid, digest, record.place)
        return live

    def _report_clash(self, record: Record, seen: Seen) -> None:
        reason = f"docid {record.document.docid!r} stands at {seen.place} already, with other content"
        self.options.bad_lines.report(record.place, reason)

    def _spans(self, record: Record) -> Sequence[Span]:
        if record.spans is not None:
            return record.spans
        if not self._split:
            return whole(record.document.text)
        settings = self._config.passages
        return split(record.document.text, settings.words, settings.overlap_sentences)

    def _finish_segment(self) -> None:
        """Add the views that are missing to the segment whose text is complete, and move it to its place."""
        began = perf_counter()
        folder = self._folder.unfinished(self.journal.text_of)
        segment, documents = written(folder, self._kind)
        complete(segment, self._tools)
        seconds = perf_counter() - began
        info = SegmentInfo(
            name=folder.name,
            kind=self._kind,
            split=self._split,
            sentences=self._reader.SENTENCES,
            documents=documents,
            passages=segment.passages,
            sources=self._sources,
            files=checksums(folder),
            text_seconds=round(self._text_seconds, 3),
            vector_seconds=round(seconds, 3) if self._shape.encoder is not None else 0.0,
        )
        self.journal.finished.append(info)
        self.journal.text_of = ""
        journals.save(self._folder.path, self.journal)
        settle(folder, self._folder.segments)
        self._finished.append(self._folder.documents(info))


def _holds(segments: Sequence[SegmentDocuments], docid: str, digest: str) -> bool:
    documents = filter(None, (segment.seen(docid) for segment in segments))
    return any(seen[0] == digest for seen in documents)


def _first_seen(segments: Sequence[SegmentDocuments], docid: str) -> Seen | None:
    for documents in segments:
        seen = documents.seen(docid)
        if seen:
            return Seen(*seen)
    return None
