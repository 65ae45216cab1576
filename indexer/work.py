"""The work of a build: it writes each segment into the journal, so that an interrupted build can resume."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from time import perf_counter
from typing import NamedTuple

import msgspec

from ..retrieval.domain import Span
from ..retrieval.store.documents import SegmentDocuments, checksum
from ..retrieval.store.manifest import SegmentInfo, SourceInfo
from ..retrieval.views import Tools
from . import journal as journals
from .collections import ReadOptions, Record, reader
from .journal import Journal
from .passages import split, whole
from .segment import Seen, TextWriter, checksums, complete, settle, written
from .settings import Config


class BuildTask(NamedTuple):
    """The task of a build: the kind of its segments, and ``live``, the segments already published.

    ``sources`` describes the files to read. With ``update``, a document replaces the live one with the same docid if
    their contents differ.
    """

    kind: str
    sources: tuple[SourceInfo, ...]
    live: tuple[SegmentInfo, ...]
    update: bool = False


class SourcesChangedError(Exception):
    """The sources do not begin with what an interrupted build had read, so it cannot resume."""


class Stopwatch:
    """Measures the time since the last call, so that each second is counted once."""

    def __init__(self) -> None:
        self._last = perf_counter()

    def __call__(self) -> float:
        """Return the seconds since the last call."""
        before, self._last = self._last, perf_counter()
        return self._last - before


class UpdateLedger:
    """The documents of the sources that are already live, by docid. They are on disk, so that memory does not grow.

    A second document with the same docid and other content contradicts the first.
    """

    def __init__(self) -> None:
        # An empty name makes a temporary database that only this connection sees.
        self._db = sqlite3.connect("", isolation_level=None)
        self._db.execute("CREATE TABLE unchanged (docid BLOB PRIMARY KEY, checksum TEXT, place TEXT) WITHOUT ROWID")
        self._db.execute("BEGIN")

    def add(self, docid: str, digest: str, place: str) -> None:
        """Note that a document was read at ``place`` and is live with the content of this checksum."""
        key = docid.encode("utf-8", "surrogatepass")
        self._db.execute("INSERT OR IGNORE INTO unchanged VALUES (?, ?, ?)", (key, digest, place))

    def seen(self, docid: str) -> Seen | None:
        """Return the checksum of a noted document and the place where it was read, or None."""
        key = docid.encode("utf-8", "surrogatepass")
        row = self._db.execute("SELECT checksum, place FROM unchanged WHERE docid = ?", (key,)).fetchone()
        return Seen(*row) if row else None

    def docids(self) -> Iterator[str]:
        """Yield the docids of the noted documents."""
        for (docid,) in self._db.execute("SELECT docid FROM unchanged"):
            yield docid.decode("utf-8", "surrogatepass")

    def close(self) -> None:
        """Delete the ledger."""
        self._db.close()


class Work:
    """A build in progress: it takes records and lists finished segments in the journal."""

    def __init__(self, task: BuildTask, config: Config, tools: Tools, journal: Journal, options: ReadOptions) -> None:
        """Resume from the journal; ``options`` are the options of the records' reader."""
        self._kind, self._sources, live, self.updates = task
        self._tools = tools
        self._folder, self._shape = tools.folder, tools.manifest
        self._config = config
        self._options = options
        self._reader = reader(task.kind)
        self._split = self._config.passages.split.get(task.kind, self._reader.SPLIT)
        self._live = [self._folder.documents(info) for info in live]
        self._finished = [self._folder.documents(info) for info in journal.finished]
        self._ledger = UpdateLedger()
        self._writer: TextWriter | None = None
        self._progress = journal.progress
        self._stopwatch = Stopwatch()
        self._text_seconds = 0.0
        self._read_before = journal.progress.records
        self._read_again = 0
        self._written_before: set[str] = set()
        self.journal = journal
        self.resumed = False

    def read(self, records: Iterable[Record]) -> None:
        """Write all records, after finishing the segment that an interrupted build had begun.

        Raises SourcesChangedError if the records do not begin with what an interrupted build had read.
        """
        self._stopwatch()
        if self.journal.text_of:
            self._finish_segment()
        for record in records:
            self._take(record)
        if self._read_again < self._read_before:
            raise SourcesChangedError
        if self._writer is not None:
            self._finish_text(self._writer)

    def _take(self, record: Record) -> None:
        """Take the next record, and finish the segment if it is full.

        A record that an interrupted build had read is skipped. If the sources have changed since (someone fixed a
        broken line, say), their documents are compared one by one. The build resumes only if the sources still begin
        with what it had read and still contain everything that it wrote. Else SourcesChangedError is raised.
        """
        if self._read_again < self._read_before:
            self._take_again(record)
            return
        if self._writer is None:
            folder = self._folder.unfinished(self.journal.next_name)
            self._writer = TextWriter(folder, self._kind, self._tools)
        self._write(self._writer, record)
        self._text_seconds += self._stopwatch()
        if self._writer.passages >= self._config.index.segment_passages:
            self._finish_text(self._writer)

    def close(self) -> None:
        """Close the documents that were opened, and discard an unfinished segment."""
        if self._writer is not None:
            self._writer.abandon()
            self._writer = None
        self._ledger.close()
        for documents in (*self._live, *self._finished):
            documents.close()

    def _take_again(self, record: Record) -> None:
        unchanged = self.journal.sources == self._sources
        self._read_again += 1
        if not unchanged and not self._known(record):
            raise SourcesChangedError
        self._live_already(record, checksum(record.document))
        if self._read_again < self._read_before:
            return
        if not unchanged and len(self._written_before) < sum(info.documents for info in self.journal.finished):
            raise SourcesChangedError
        self._options.bad_lines.count += self.journal.progress.clashes
        self.journal.sources = self._sources
        self.resumed = True

    def _known(self, record: Record) -> bool:
        """Return whether a document was written or is live with the same content; remember if it was written."""
        docid, digest = record.document.docid, checksum(record.document)
        if _holds(self._finished, docid, digest):
            self._written_before.add(docid)
            return True
        return _holds(self._live, docid, digest)

    def new_docids(self) -> Iterator[str]:
        """Yield the docids of the documents that the build wrote."""
        for documents in self._finished:
            yield from documents.docids()

    def docids(self) -> Iterator[str]:
        """Yield the docids of the documents that the build wrote or found live with the same content."""
        yield from self.new_docids()
        yield from self._ledger.docids()

    def _write(self, writer: TextWriter, record: Record) -> None:
        """Write the document of a record, unless it exists already."""
        done = self._progress
        digest = checksum(record.document)
        seen = self._seen(writer, record, digest)
        self._progress = msgspec.structs.replace(done, records=done.records + 1)
        if seen is None:
            writer.add(record.document, self._spans(record), digest, record.place)
        elif seen.checksum == digest:
            self._progress = msgspec.structs.replace(self._progress, duplicates=done.duplicates + 1)
        else:
            self._report_clash(record, seen)
            self._progress = msgspec.structs.replace(self._progress, clashes=done.clashes + 1)

    def _finish_text(self, writer: TextWriter) -> None:
        """Make the text of a segment durable, and finish the segment if it has documents."""
        writer.finish()
        self._writer = None
        self.journal.progress = self._progress
        self.journal.text_of = self.journal.next_name if writer.documents else ""
        journals.save(self._folder.path, self.journal)
        if writer.documents:
            self._finish_segment()

    def _seen(self, writer: TextWriter, record: Record, digest: str) -> Seen | None:
        """Return an earlier document with the record's docid, or None if the record is to be written."""
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
        """Return the live document with the same content, or an earlier source document of the docid, or None."""
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
        reason = f"docid {record.document.docid!r} is already at {seen.place}, with different content"
        self._options.bad_lines.report(record.place, reason)

    def _spans(self, record: Record) -> Sequence[Span]:
        if record.spans is not None:
            return record.spans
        if not self._split:
            return whole(record.document.text)
        settings = self._config.passages
        return split(record.document.text, settings.words, settings.overlap_sentences)

    def _finish_segment(self) -> None:
        """Add the missing views to the segment whose text is complete, and move the segment to its place."""
        self._text_seconds += self._stopwatch()
        folder = self._folder.unfinished(self.journal.text_of)
        segment, documents = written(folder, self._kind)
        complete(segment, self._tools)
        seconds = self._stopwatch()
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
        self._text_seconds = 0.0
        self._stopwatch()


def _holds(segments: Sequence[SegmentDocuments], docid: str, digest: str) -> bool:
    documents = filter(None, (segment.seen(docid) for segment in segments))
    return any(seen[0] == digest for seen in documents)


def _first_seen(segments: Sequence[SegmentDocuments], docid: str) -> Seen | None:
    for documents in segments:
        seen = documents.seen(docid)
        if seen:
            return Seen(*seen)
    return None
