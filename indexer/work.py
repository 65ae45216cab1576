"""The work of a build: write segments and list them in the journal, so that an interrupted build
can resume.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from time import perf_counter

from ..core.files import storable
from ..core.parts import first_part
from ..retrieval.store.documents import SegmentDocuments, checksum
from ..retrieval.store.index_folder import open_documents
from ..retrieval.store.manifest import (
    BUILD,
    DOCUMENTS,
    SEGMENTS,
    Added,
    SegmentInfo,
    SourceInfo,
    now,
)
from ..retrieval.views import SegmentPlace, Tools, views
from . import journal as journals
from .collections import ReadOptions, Record, reader
from .journal import Journal
from .passages import spans_of
from .segment import TextWriter, checksums, settle
from .settings import Config

_OTHER = {
    "text": (
        "which reviews another claim of the same page",
        "read both sources in one run, or delete the stored review",
    ),
    "file": ("which is another file", "rename one, or delete the stored page"),
}
"""Why an update does not replace a document, and the remedy, by what the document is known by."""
Seen = tuple[str, str]
"""The checksum of a document's content, and the place where it was read."""


class SourcesChangedError(Exception):
    """The sources do not begin with what an interrupted build had read, so it cannot resume."""


class Work:
    """A build in progress: it takes records and lists finished segments in the journal."""

    def __init__(
        self,
        kind: str,
        sources: tuple[SourceInfo, ...],
        live: Sequence[SegmentInfo],
        *,
        updates: bool,
        config: Config,
        tools: Tools,
        journal: Journal,
        options: ReadOptions,
        by: str = "",
        stored_as: str = "",
    ) -> None:
        """Resume from the journal.

        ``live`` are the published segments; ``options`` are those of the records' reader. ``by``
        names the key of a client; ``stored_as`` is the kind of the segments if not ``kind``.

        With ``updates``, a document replaces the live one with the same docid if their contents
        differ.
        """
        kind = stored_as or kind
        self._kind, self._sources, self.updates = kind, sources, updates
        self._by = by
        self._tools, self._folder = tools, tools.folder
        self._config = config
        self._reader = reader(kind)
        # True, False as configured, or None: whole texts, but split what is behind a claim
        self._split = config.passages.split.get(kind, getattr(self._reader, "SPLIT", None))
        self._live = [open_documents(self._folder, info) for info in live]
        self._finished = [open_documents(self._folder, info) for info in journal.finished]
        # The documents that the sources contain and the index has already. They are on disk, so
        # that memory does not grow: an empty name makes a temporary database that only this
        # connection sees.
        self._unchanged = sqlite3.connect("", isolation_level=None)
        self._unchanged.execute(
            "CREATE TABLE unchanged (docid TEXT PRIMARY KEY, checksum TEXT, place TEXT)"
        )
        self._unchanged.execute("BEGIN")
        self._writer: TextWriter | None = None
        self._began = perf_counter()  # the moment since which the text of the next segment is read
        self._read_before = journal.progress.records
        self._read_again = 0
        self._written_before: set[str] = set()
        self.options = options
        self.journal = journal
        self.resumed = False

    def read(self, records: Iterable[Record]) -> None:
        """Write all records but those that an interrupted build had read, after finishing the
        segment that it started.

        If the sources have changed since (someone fixed a broken line, say), their documents are
        compared one by one. Raises SourcesChangedError unless the sources still begin with what
        that build had read and contain everything that it wrote.
        """
        self._began = perf_counter()
        if self.journal.text_of:
            self._finish_segment()
        for record in records:
            if self._read_again < self._read_before:
                self._take_again(record)
                continue
            if self._writer is None:
                folder = self._folder / BUILD / self.journal.next_name
                self._writer = TextWriter(folder, self._kind, self._tools)
            self._write(self._writer, record)
            if self._writer.stored.passages >= self._config.index.segment_passages:
                self._finish_text(self._writer)
        if self._read_again < self._read_before:
            raise SourcesChangedError
        if self._writer is not None:
            self._finish_text(self._writer)

    def close(self) -> None:
        """Close the documents that were opened, and discard an unfinished segment."""
        if self._writer is not None:
            self._writer.abandon()
            self._writer = None
        self._unchanged.close()
        for documents in (*self._live, *self._finished):
            documents.close()

    def new_docids(self) -> Iterator[str]:
        """Yield the docids of the documents that the build wrote."""
        for documents in self._finished:
            yield from documents.docids()

    def docids(self) -> Iterator[str]:
        """Yield the docids of the documents that the build wrote, or found in the index with the
        same content.
        """
        yield from self.new_docids()
        yield from (docid for (docid,) in self._unchanged.execute("SELECT docid FROM unchanged"))

    def _take_again(self, record: Record) -> None:
        unchanged = self.journal.sources == self._sources
        docid, digest = record.document.docid, checksum(record.document)
        self._read_again += 1
        if not unchanged:
            written = _seen_in(self._finished, docid)
            if written and written[0] == digest:
                self._written_before.add(docid)
            elif (_seen_in(self._live, docid) or ("",))[0] != digest:
                raise SourcesChangedError
        self._seen_live(record, digest)
        if self._read_again < self._read_before:
            return
        if not unchanged and len(self._written_before) < sum(
            info.documents for info in self.journal.finished
        ):
            raise SourcesChangedError
        self.options.bad_lines.count += self.journal.progress.clashes
        self.journal.sources = self._sources
        self.resumed = True

    def _write(self, writer: TextWriter, record: Record) -> None:
        document, progress = record.document, self.journal.progress
        record = record._replace(
            place=self.options.bad_lines.places.get(record.place, record.place)
        )
        digest = checksum(document)
        written = writer.stored.look_up(document.docid) or _seen_in(self._finished, document.docid)
        seen = written or self._seen_live(record, digest)
        if seen is None:
            spans = record.spans
            if spans is None:
                spans = spans_of(document, self._config.passages, self._split)
            writer.add(document, spans, digest, record.place)
        elif seen[0] == digest:
            progress.duplicates += 1
        else:
            what, remedy = "with different content", "fix it"
            if not written and self._is_other(record, seen[1]):
                what, remedy = _OTHER[record.known_by]
            elif not written and not self.updates:
                what, remedy = "in the index, with different content", "replace it with --update"
            self.options.bad_lines.report(
                record.place, f"docid {document.docid!r} is already at {seen[1]}, {what}", remedy
            )
            progress.clashes += 1
        progress.records += 1

    def _seen_live(self, record: Record, digest: str) -> Seen | None:
        """Return checksum and place of the published document with a record's docid; in an update,
        only if it stays.

        In an update, also return an earlier unchanged document of the sources: a second one must
        not replace it.
        """
        docid = record.document.docid
        if self.updates:
            noted = self._unchanged.execute(
                "SELECT checksum, place FROM unchanged WHERE docid = ?", (docid,)
            )
            earlier: Seen | None = noted.fetchone()
            if earlier:
                return earlier
        live = _seen_in(self._live, docid)
        if live and live[0] == digest:
            row = (docid, digest, storable(record.place))
            self._unchanged.execute("INSERT OR IGNORE INTO unchanged VALUES (?, ?, ?)", row)
        is_replaced = (
            live and self.updates and live[0] != digest and not self._is_other(record, live[1])
        )
        return None if is_replaced else live

    def _is_other(self, record: Record, place: str) -> bool:
        """Return whether the published document with a record's docid, read at ``place``, is not an
        earlier version.
        """
        if not record.known_by or _is_same_file(storable(record.place), place):
            return False
        document = record.document
        stored = next(
            filter(None, (documents.document(document.docid) for documents in self._live)), None
        )
        if record.known_by == "file" or stored is None:
            return record.known_by == "file"
        # An explanation may change; the claim is the first part of the text.
        claims = (first_part(each.text, each.metadata) for each in (stored, document))
        return next(claims) != next(claims)

    def _finish_text(self, writer: TextWriter) -> None:
        writer.finish()
        self._writer = None
        self.journal.text_of = self.journal.next_name if writer.stored.documents else ""
        journals.save(self._folder, self.journal)
        if writer.stored.documents:
            self._finish_segment()

    def _finish_segment(self) -> None:
        text_end = perf_counter()
        folder = self._folder / BUILD / self.journal.text_of
        with closing(SegmentDocuments(folder / DOCUMENTS)) as text:
            documents, passages = text.counts
        for view in views(self._tools.manifest):
            view.complete(SegmentPlace(folder, folder.name, self._kind, passages), self._tools)
        seconds = perf_counter() - text_end
        manifest = self._tools.manifest
        encodes = manifest.encoder is not None or bool(manifest.impact_views)
        info = SegmentInfo(
            name=folder.name,
            kind=self._kind,
            split=bool(self._split),
            sentences=getattr(self._reader, "SENTENCES", False),
            documents=documents,
            passages=passages,
            sources=self._sources,
            files=checksums(folder),
            text_seconds=round(text_end - self._began, 3),
            vector_seconds=round(seconds, 3) if encodes else 0.0,
            added=(Added(row=0, time=now(), by=self._by),),
        )
        self.journal.finished.append(info)
        self.journal.text_of = ""
        journals.save(self._folder, self.journal)
        settle(folder, self._folder / SEGMENTS)
        self._finished.append(open_documents(self._folder, info))
        self._began = perf_counter()


def _is_same_file(place: str, other: str) -> bool:
    ours, theirs = (
        Path(os.path.normpath(re.sub(r"[:#]\d+$", "", each))) for each in (place, other)
    )
    if ours.exists() and theirs.exists():
        return ours.samefile(theirs)
    # The index may have been built from another working directory, so the shorter of the paths must
    # fit the longer.
    return all(a == b for a, b in zip(ours.parts[::-1], theirs.parts[::-1], strict=False))


def _seen_in(segments: Sequence[SegmentDocuments], docid: str) -> Seen | None:
    return next(filter(None, (documents.look_up(docid) for documents in segments)), None)
