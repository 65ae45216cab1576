"""The documents of a segment: an SQLite file, written once and read from many threads.

The row of a passage is the number of the passage in its segment, from 0. It is the same in the
documents, in Lucene and in the vectors. The row of a document is the number of the document in its
segment, from 0.
"""

from __future__ import annotations

import hashlib
import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from ...core.domain import Document, Passage, Span
from ...core.errors import IndexStateError
from ...core.files import storable
from ..filters import last_day
from .documents_file import SCHEMA, DocumentsFile, Types
from .integrity import REMEDY

_SURROGATE = re.compile("[\ud800-\udfff]")
_SEEN = "SELECT checksum, place FROM documents WHERE docid = ?"
_DOCUMENT: Types = (str,) * 9
_SPAN: Types = (int, int, int)
_NO_MORE: tuple[int | None, Iterator[Any]] = (None, iter(()))
_COLUMNS = "docid, text, title, url, date, language, source, topic, metadata"
_METADATA = msgspec.json.Decoder(dict[str, Any]).decode
_MOST = 2**31 - 1  # the maximum number of a passage
_AT_ONCE = 500  # the number of documents or passages per query


def checksum(document: Document) -> str:
    """Return the SHA-256 of a document's content.

    The order of its metadata does not change the checksum.
    """
    content = msgspec.json.encode((*document[:-1], dict(document.metadata)), order="deterministic")
    return hashlib.sha256(content).hexdigest()


def state_of(digest: str, spans: Sequence[Span]) -> str:
    """Return the id of a document's state, from its :func:`checksum` and the positions of its
    passages.
    """
    return hashlib.sha256(msgspec.json.encode((digest, spans))).hexdigest()[:32]


class DocumentWriter:
    """Writes the documents and passages of one segment."""

    def __init__(self, path: Path) -> None:
        self._db = sqlite3.connect(path, isolation_level=None)
        settings = "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA page_size = 8192;"
        # Nobody reads the file before the segment is published, so one sync at the end suffices.
        try:
            self._db.executescript(settings + SCHEMA)
            self._db.execute("BEGIN")
        except BaseException:
            self._db.close()
            raise
        self.documents = 0
        self.passages = 0

    def look_up(self, docid: str) -> tuple[str, str] | None:
        """Return the checksum and the place of an added document, or None."""
        row: tuple[str, str] | None = self._db.execute(_SEEN, (docid,)).fetchone()
        return row

    def add(self, document: Document, spans: Sequence[Span], digest: str, place: str) -> None:
        """Add a document with its passages; ``digest`` is its :func:`checksum`, ``place`` its
        source position.
        """
        row = self.documents
        metadata = msgspec.json.encode(dict(document.metadata), order="deterministic").decode()
        derived = (metadata, last_day(document.date), digest, storable(place))
        self._db.execute(
            f"INSERT INTO documents VALUES ({', '.join('?' * 13)})",
            (row, document.docid, document.title, document.text, *document[3:8], *derived),
        )
        self._db.executemany(
            "INSERT INTO passages VALUES (?, ?, ?, ?, ?)",
            [(self.passages + i, row, *span) for i, span in enumerate(spans)],
        )
        self.documents += 1
        self.passages += len(spans)

    def finish(self) -> None:
        """Make the documents durable and close the file."""
        self._db.execute("COMMIT")
        self._db.close()

    def abandon(self) -> None:
        """Close without keeping anything."""
        self._db.close()


Place = tuple[str, int]  # a docid and the number of a passage
ShortField = Literal["date", "source"]
"""A field of documents that is read without their texts."""


class Stored(NamedTuple):
    """A stored passage: its document, its position in the text, the kind of its segment."""

    document: Document
    span: Span
    kind: str

    @property
    def passage(self) -> Passage:
        """The passage with its text."""
        return Passage(
            self.document.docid, *self.span, self.document.text[self.span.start : self.span.end]
        )


class Addition(NamedTuple):
    """How a document came into an index: the kind of its source, the time in UTC (``""`` if an
    earlier version did not record it), and the name of the key, ``""`` if a command added it.
    """

    kind: str
    time: str = ""
    by: str = ""


class StoredDocument(NamedTuple):
    """A stored document with its passages, their first row, its checksum, its place in the source
    and its own row.
    """

    document: Document
    spans: tuple[Span, ...]
    first_row: int
    checksum: str
    place: str
    row: int


class SegmentDocuments:
    """Reads a published segment's documents, for all threads; raises IndexStateError if the file is
    damaged.
    """

    def __init__(
        self, path: Path, deleted: Sequence[int] = (), expected: tuple[int, int] | None = None
    ) -> None:
        """Open the file ``path``. ``deleted`` lists the rows of the deleted documents.

        Raises IndexStateError if the file has other numbers of documents and passages than
        ``expected``.
        """
        self._file = DocumentsFile(path)
        self._deleted = frozenset(deleted)
        # Counting all rows would take longer, and would never end in a damaged file whose pages
        # form a cycle.
        highest = (
            "SELECT IFNULL((SELECT MAX(row) FROM documents), -1), IFNULL((SELECT MAX(row) FROM "
            "passages), -1)"
        )
        try:
            ((documents, passages),) = self._file.select(highest, (int, int))
            self.counts = documents + 1, passages + 1
            """The numbers of documents and passages, including deleted ones; :meth:`each` finds
            missing rows.
            """
            pairs = zip(
                ("documents", "passages"), self.counts, expected or self.counts, strict=True
            )
            for what, count, wanted in pairs:
                if count != wanted:
                    raise IndexStateError(
                        f"contains {count} {what}, expected {wanted}", place=path, remedy=REMEDY
                    )
        except BaseException:
            self._file.close()
            raise

    def document(self, docid: str) -> Document | None:
        """Return the document of this docid, or None."""
        columns = self._columns_of(docid, _COLUMNS, _DOCUMENT)
        return self._document(columns) if columns else None

    def with_passages(
        self, wanted: Sequence[Place], note: Callable[[Document, Span], object]
    ) -> list[tuple[Document, Span]]:
        """Return the document and the position of each of the ``wanted`` passages that exists;
        ``note`` receives each as it is read.
        """
        read = []
        columns, types = f'{_COLUMNS}, p.start, p."end"', (*_DOCUMENT, int, int)
        for row, number, *stored, start, end in self._wanted(wanted, columns, types):
            if row in self._deleted:
                continue
            document, span = self._document(stored), Span(number, start, end)
            note(document, span)
            read.append((document, span))
        return read

    def rows_at(self, wanted: Sequence[Place]) -> Iterator[tuple[Place, int]]:
        """Yield each of the ``wanted`` passages that exists, with its row."""
        for document, number, docid, row in self._wanted(wanted, "docid, p.row", (str, int)):
            if document not in self._deleted:
                yield (docid, number), row

    def values_at(self, wanted: Sequence[Place], field: ShortField) -> Iterator[tuple[Place, str]]:
        """Yield each of the ``wanted`` passages that exists, with a field of its document."""
        for document, number, docid, value in self._wanted(wanted, f"docid, {field}", (str, str)):
            if document not in self._deleted:
                yield (docid, number), value

    def _wanted(self, wanted: Sequence[Place], columns: str, types: Types) -> Iterator[Any]:
        """Return the document's row, the number and these columns of each of the ``wanted``
        passages.
        """
        known = [
            place for place in wanted if not _SURROGATE.search(place[0]) and 0 <= place[1] <= _MOST
        ]
        # In this order, SQLite looks up the wanted passages one by one, whatever the sizes of the
        # tables.
        query = (
            f"WITH wanted (docid, number) AS (VALUES {{}}) SELECT d.row, w.number, {columns} FROM "
            "wanted w CROSS JOIN "
            "documents d USING (docid) CROSS JOIN passages p ON p.document = d.row AND p.number = "
            "w.number"
        )
        parts = []
        for start in range(0, len(known), _AT_ONCE):
            part = known[start : start + _AT_ONCE]
            values = ", ".join(["(?, ?)"] * len(part))
            parts.append(
                self._file.stream(
                    query.format(values), (int, int, *types), list(chain.from_iterable(part))
                )
            )
        return chain.from_iterable(parts)

    def passages_of(self, docids: Sequence[str]) -> dict[str, list[Passage]]:
        """Return the passages, by number, of each of these documents that exists."""
        known = [docid for docid in docids if not _SURROGATE.search(docid)]
        passages: dict[str, list[Passage]] = {}
        for start in range(0, len(known), _AT_ONCE):
            part = known[start : start + _AT_ONCE]
            places = ", ".join("?" * len(part))
            query = f"SELECT row, docid, text FROM documents WHERE docid IN ({places})"
            documents = {
                row: (docid, text)
                for row, docid, text in self._file.stream(query, (int, str, str), part)
                if row not in self._deleted
            }
            for docid, _ in documents.values():
                passages[docid] = []
            if not documents:
                continue
            places = ", ".join("?" * len(documents))
            query = (
                'SELECT document, number, start, "end" FROM passages '
                f"WHERE document IN ({places}) ORDER BY number"
            )
            for row, number, first, last in self._file.stream(
                query, (int, *_SPAN), list(documents)
            ):
                docid, text = documents[row]
                passages[docid].append(Passage(docid, number, first, last, text[first:last]))
        return passages

    def passage_rows(self, docid: str) -> range:
        """Return the rows of the passages of a document, which are adjacent; an empty range if
        there is none.
        """
        row = self.row(docid)
        query = "SELECT MIN(row), MAX(row) FROM passages WHERE document = ? HAVING COUNT(*) > 0"
        found = self._file.select(query, (int, int), (row,)) if row is not None else []
        return range(found[0][0], found[0][1] + 1) if found else range(0)

    def row(self, docid: str) -> int | None:
        """Return the row of the document of this docid, or None."""
        columns = self._columns_of(docid, "row", (int,))
        return int(columns[0]) if columns else None

    def look_up(self, docid: str) -> tuple[str, str] | None:
        """Return the checksum and the place of the document of this docid, or None."""
        columns = self._columns_of(docid, "checksum, place", (str, str))
        return (columns[0], columns[1]) if columns else None

    def look_up_deleted(self, docid: str) -> tuple[int, str] | None:
        """Return the row and the checksum of the document of this docid if it is deleted, else
        None.
        """
        if _SURROGATE.search(docid):
            return None
        query = "SELECT row, checksum FROM documents WHERE docid = ?"
        row, digest = next(iter(self._file.select(query, (int, str), (docid,))), (-1, ""))
        return (row, digest) if row in self._deleted else None

    def spans(self, docid: str) -> list[Span]:
        """Return the passages of a document, by number."""
        own = "(SELECT row FROM documents WHERE docid = ?)"
        query = f'SELECT number, start, "end" FROM passages WHERE document = {own} ORDER BY number'
        return [Span(*row) for row in self._file.select(query, _SPAN, (docid,))]

    def each(self, first: int = 0) -> Iterator[Document]:
        """Iterate over the documents that are not deleted, in the order of their rows, from the row
        ``first``.
        """
        for row, *columns in self._in_order(
            f"row, {_COLUMNS}", "documents", (int, *_DOCUMENT), first
        ):
            if row not in self._deleted:
                yield self._document(columns)

    def each_stored(self) -> Iterator[StoredDocument]:
        """Iterate over the documents that are not deleted, with all their stored data, in the order
        of their rows.
        """
        documents = self._in_order(
            f"row, checksum, place, {_COLUMNS}", "documents", (int, str, str, *_DOCUMENT)
        )
        passages = self._in_order(
            'row, document, number, start, "end"', "passages", (int, int, *_SPAN)
        )
        of_documents = groupby(passages, itemgetter(1))
        owner, group = next(of_documents, _NO_MORE)
        for row, digest, place, *columns in documents:
            placed: list[Any] = []
            if owner == row:
                placed = list(group)
                owner, group = next(of_documents, _NO_MORE)
            if row not in self._deleted:
                spans = tuple(Span(*span) for _, _, *span in placed)
                first_row = placed[0][0] if placed else 0
                yield StoredDocument(self._document(columns), spans, first_row, digest, place, row)
        if owner is not None:
            raise IndexStateError(
                f"passage {next(iter(group))[0]} belongs to no document", place=self._file.path
            )

    def docids(self) -> Iterator[str]:
        """Iterate over the docids of the documents that are not deleted, in the order of their
        rows.
        """
        for row, docid in self._in_order("row, docid", "documents", (int, str)):
            if row not in self._deleted:
                yield docid

    def deleted_rows(self) -> list[int]:
        """Return the rows of the passages of the deleted documents."""
        deleted, rows = sorted(self._deleted), list[int]()
        for start in range(0, len(deleted), _AT_ONCE):
            some = deleted[start : start + _AT_ONCE]
            query = (
                f"SELECT row FROM passages WHERE document IN ({', '.join('?' * len(some))}) "
                "ORDER BY row"
            )
            rows += chain.from_iterable(self._file.select(query, (int,), some))
        return rows

    def each_passage(self, first_row: int = 0) -> Iterator[tuple[str, Passage]]:
        """Yield the title and passage of each row, deleted or not, in their order, starting at
        ``first_row``.
        """
        query = (
            'SELECT p.row, d.docid, p.number, p.start, p."end", d.text, d.title FROM passages p '
            "JOIN documents d "
            "ON d.row = p.document WHERE p.row >= ? ORDER BY p.row"
        )
        types = (int, str, *_SPAN, str, str)
        rows = self._file.stream(query, types, (first_row,))
        for _, docid, number, start, end, text, title in self._consecutive(
            rows, first_row, self.counts[1]
        ):
            yield title, Passage(docid, number, start, end, text[start:end])

    def close(self) -> None:
        """Close the file; current reads continue to their end."""
        self._file.close()

    def _columns_of(self, docid: str, columns: str, types: Types) -> Sequence[Any]:
        """Return columns of the document of this docid; nothing if there is none, or if it is
        deleted.
        """
        # An argument of a command may have bytes that are no text.
        if not docid.isascii() and _SURROGATE.search(docid):
            return ()
        query = f"SELECT row, {columns} FROM documents WHERE docid = ?"
        row, *there = next(iter(self._file.select(query, (int, *types), (docid,))), (-1,))
        return there if row not in self._deleted else ()

    def _in_order(self, columns: str, table: str, types: Types, first: int = 0) -> Iterator[Any]:
        query = f"SELECT {columns} FROM {table} WHERE row >= ? ORDER BY row"
        return self._consecutive(
            self._file.stream(query, types, (first,)), first, self.counts[table != "documents"]
        )

    def _consecutive(self, rows: Iterator[Any], first: int, after: int) -> Iterator[Any]:
        expected = first
        for row in rows:
            if row[0] != expected:
                break
            yield row
            expected += 1
        else:
            if expected >= after:
                return
        raise self._file.damaged("rows are missing")

    def _document(self, columns: Sequence[Any]) -> Document:
        try:
            return Document._make([*columns[:-1], _METADATA(columns[-1])])
        except (msgspec.DecodeError, RecursionError) as error:
            raise IndexStateError(
                f"document {columns[0]!r} cannot be read: {error}", place=self._file.path
            ) from error
