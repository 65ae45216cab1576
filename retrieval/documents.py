"""The documents of a segment: an SQLite file, written once and read from many threads.

A row is the number of a passage in its segment, from 0, the same in the documents, in Lucene and in the vectors.
"""

from __future__ import annotations

import hashlib
import re
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from itertools import chain, groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from .domain import Document, Filter, Passage, Span
from .errors import IndexStateError
from .files import storable
from .filters import FIELDS, last_day

_SCHEMA = """
CREATE TABLE documents (
    row INTEGER PRIMARY KEY, docid TEXT NOT NULL UNIQUE, title TEXT NOT NULL, text TEXT NOT NULL, url TEXT NOT NULL,
    date TEXT NOT NULL, language TEXT NOT NULL, source TEXT NOT NULL, topic TEXT NOT NULL, metadata TEXT NOT NULL,
    last_day TEXT NOT NULL, checksum TEXT NOT NULL, place TEXT NOT NULL
) STRICT;
CREATE TABLE passages (
    row INTEGER PRIMARY KEY, document INTEGER NOT NULL, number INTEGER NOT NULL,
    start INTEGER NOT NULL, "end" INTEGER NOT NULL
) STRICT;
CREATE INDEX passages_document ON passages (document);
"""
_SURROGATE = re.compile("[\ud800-\udfff]")
_SEEN = "SELECT checksum, place FROM documents WHERE docid = ?"
_NO_MORE: tuple[int | None, Iterator[Any]] = (None, iter(()))
_COLUMNS = "docid, text, title, url, date, language, source, topic, metadata"
_WITH_PASSAGES = (
    # In this order, so that what is wanted is looked up one by one, whatever SQLite knows of the tables' sizes.
    f'SELECT w.number, {_COLUMNS}, d.row, p.start, p."end" FROM wanted w CROSS JOIN documents d USING (docid) '
    "CROSS JOIN passages p ON p.document = d.row AND p.number = w.number"
)
_AT_ONCE = 500
"""Passages that are looked up together."""


def checksum(document: Document) -> str:
    """Return the SHA-256 of a document's content, equal for equal content whatever the order of its metadata."""
    content = msgspec.json.encode((*document[:-1], dict(document.metadata)), order="deterministic")
    return hashlib.sha256(content).hexdigest()


def state_of(digest: str, spans: Sequence[Span]) -> str:
    """Name the state of a document: its :func:`checksum` and where its passages stand."""
    return hashlib.sha256(msgspec.json.encode((digest, spans))).hexdigest()[:32]


class DocumentWriter:
    """Writes the documents and passages of one segment."""

    def __init__(self, path: Path) -> None:
        self._db = sqlite3.connect(path, isolation_level=None)
        # Nothing is read before the segment is published: durability is one sync at the end.
        self._db.executescript(
            "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA page_size = 8192;" + _SCHEMA
        )
        self._db.execute("BEGIN")
        self.documents = 0
        self.passages = 0

    def seen(self, docid: str) -> tuple[str, str] | None:
        """Return checksum and place of a document that was added, or None."""
        found = self._db.execute(_SEEN, (docid,)).fetchone()
        return tuple(found) if found else None

    def add(self, document: Document, spans: Sequence[Span], digest: str, place: str) -> None:
        """Add a document with its passages; ``digest`` is its :func:`checksum`, ``place`` where it was read."""
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
        """Make what was added durable and close."""
        self._db.execute("COMMIT")
        self._db.close()

    def abandon(self) -> None:
        """Close without keeping anything."""
        self._db.close()


Place = tuple[str, int]
"""A docid and the number of a passage."""


class StoredPassage(NamedTuple):
    """A passage with its document's title: what is encoded, shown and highlighted."""

    passage: Passage
    title: str


class StoredDocument(NamedTuple):
    """A document as it is stored: with its passages, their first row, its checksum, and the place where it was read."""

    document: Document
    spans: tuple[Span, ...]
    first_row: int
    checksum: str
    place: str


class SegmentDocuments:
    """Reads the documents of one published segment. Safe for threads."""

    def __init__(self, path: Path, deleted: Sequence[int] = ()) -> None:
        """Open the documents in ``path``; those of the rows ``deleted`` are not there.

        Raises IndexStateError if the file is missing or damaged.
        """
        self._path = path
        self._deleted = frozenset(deleted)
        self._local = threading.local()
        if not path.is_file():
            raise IndexStateError(f"{path}: the documents of this segment are missing; restore or rebuild the index")
        found = path.stat()
        self._identity = (found.st_dev, found.st_ino)
        self._select("SELECT 1 FROM documents LIMIT 1")

    def document(self, docid: str) -> Document | None:
        """Return the document of this id, or None."""
        row = self.row(docid)
        if row is None:
            return None
        return self._document(self._select(f"SELECT {_COLUMNS} FROM documents WHERE row = ?", (row,))[0])

    def with_passages(self, wanted: Sequence[Place]) -> dict[Place, tuple[Document, Span]]:
        """Return the documents of these docids and where their passages of these numbers stand, as far as there are."""
        found = {}
        for start in range(0, len(wanted), _AT_ONCE):
            some = wanted[start : start + _AT_ONCE]
            values = ", ".join(["(?, ?)"] * len(some))
            query = f"WITH wanted (docid, number) AS (VALUES {values}) {_WITH_PASSAGES}"
            for number, *columns, row, first, last in self._select(query, list(chain.from_iterable(some))):
                if row not in self._deleted:
                    found[columns[0], number] = self._document(columns), Span(number, first, last)
        return found

    def row(self, docid: str) -> int | None:
        """Return the row of the document of this id, or None."""
        if not _is_text(docid):
            return None
        found = self._select("SELECT row FROM documents WHERE docid = ?", (docid,))
        return int(found[0][0]) if found and found[0][0] not in self._deleted else None

    def counts(self) -> tuple[int, int]:
        """Return the numbers of documents and of passages."""
        ((documents, passages),) = self._select(
            "SELECT (SELECT COUNT(*) FROM documents), (SELECT COUNT(*) FROM passages)"
        )
        return documents, passages

    def seen(self, docid: str) -> tuple[str, str] | None:
        """Return checksum and place of the document of this id, or None."""
        if self.row(docid) is None:
            return None
        return tuple(self._select(_SEEN, (docid,))[0])

    def spans(self, docid: str) -> list[Span]:
        """Return the passages of a document, by number."""
        return [
            Span(*row)
            for row in self._select(
                'SELECT number, start, "end" FROM passages WHERE document = '
                "(SELECT row FROM documents WHERE docid = ?) ORDER BY number",
                (docid,),
            )
        ]

    def each(self) -> Iterator[Document]:
        """Iterate over all documents in the order of their rows."""
        for row, *columns in self._stream(f"SELECT row, {_COLUMNS} FROM documents ORDER BY row"):
            if row not in self._deleted:
                yield self._document(columns)

    def each_stored(self) -> Iterator[StoredDocument]:
        """Iterate over all documents, with all that is stored of them, in the order of their rows.

        Raises IndexStateError if a passage has no document.
        """
        documents = self._stream(f"SELECT row, checksum, place, {_COLUMNS} FROM documents ORDER BY row")
        passages = self._stream('SELECT document, row, number, start, "end" FROM passages ORDER BY row')
        of_documents = groupby(passages, itemgetter(0))
        owner, group = next(of_documents, _NO_MORE)
        for row, digest, place, *columns in documents:
            placed: list[Any] = []
            if owner == row:
                placed = list(group)
                owner, group = next(of_documents, _NO_MORE)
            if row not in self._deleted:
                spans = tuple(Span(*span) for _, _, *span in placed)
                yield StoredDocument(self._document(columns), spans, placed[0][1] if placed else 0, digest, place)
        if owner is not None:
            raise IndexStateError(f"{self._path}: passage {next(iter(group))[1]} belongs to no document")

    def docids(self) -> Iterator[str]:
        """Iterate over the docids of all documents in the order of their rows."""
        for row, docid in self._stream("SELECT row, docid FROM documents ORDER BY row"):
            if row not in self._deleted:
                yield docid

    def deleted_docids(self) -> list[str]:
        """Return the docids of the deleted documents."""
        if not self._deleted:
            return []
        return [docid for row, docid in self._select("SELECT row, docid FROM documents") if row in self._deleted]

    def deleted_rows(self) -> list[int]:
        """Return the rows of the passages of the deleted documents."""
        if not self._deleted:
            return []
        return [
            row for row, document in self._select("SELECT row, document FROM passages") if document in self._deleted
        ]

    def each_passage(self, first_row: int = 0) -> Iterator[StoredPassage]:
        """Iterate over the passages from ``first_row`` on, in the order of their rows."""
        query = (
            'SELECT d.docid, p.number, p.start, p."end", d.text, d.title FROM passages p JOIN documents d '
            "ON d.row = p.document WHERE p.row >= ? ORDER BY p.row"
        )
        for docid, number, start, end, text, title in self._stream(query, (first_row,)):
            yield StoredPassage(Passage(docid, number, start, end, text[start:end]), title)

    def rows(self) -> tuple[list[str], list[int]]:
        """Return the docid and the passage number of every row."""
        docids: list[str] = [docid for (docid,) in self._select("SELECT docid FROM documents ORDER BY row")]
        placed = self._select("SELECT document, number FROM passages ORDER BY row")
        try:
            return [docids[document] for document, _ in placed], [number for _, number in placed]
        except IndexError:
            raise IndexStateError(f"{self._path}: a passage belongs to no document") from None

    def kept(self, where: Filter) -> list[int]:
        """Return the rows of the passages whose document passes the filter (its ``kind`` is the caller's to check)."""
        clauses, values = _where(where)
        query = f"SELECT p.row, d.row FROM passages p JOIN documents d ON d.row = p.document WHERE {clauses}"
        return [row for row, document in self._select(query, values) if document not in self._deleted]

    def close(self) -> None:
        """Close this thread's connection."""
        connection = getattr(self._local, "connection", None)
        if connection is not None:
            connection.close()
            self._local.connection = None

    def _document(self, columns: Sequence[Any]) -> Document:
        try:
            return Document._make((*columns[:-1], msgspec.json.decode(columns[-1])))
        except msgspec.DecodeError as error:
            raise IndexStateError(f"{self._path}: document {columns[0]!r} cannot be read: {error}") from error

    def _select(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        try:
            return self._connection().execute(query, values).fetchall()
        except sqlite3.DatabaseError as error:
            raise IndexStateError(f"{self._path}: the documents of this segment cannot be read: {error}") from error

    def _stream(self, query: str, values: Sequence[Any] = ()) -> Iterator[Any]:
        try:
            for row in self._connection().execute(query, values):  # noqa: UP028  it would close the cursor, maybe late
                yield row
        except sqlite3.DatabaseError as error:
            raise IndexStateError(f"{self._path}: the documents of this segment cannot be read: {error}") from error

    def _same(self) -> None:
        """Refuse another file that has come to stand here since this segment was opened."""
        try:
            found = self._path.stat()
        except OSError:
            found = None
        if found is None or (found.st_dev, found.st_ino) != self._identity:
            raise IndexStateError(f"{self._path}: another file stands here now; open the index again")

    def _connection(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            # A published segment never changes: SQLite needs neither locks nor checks for other writers.
            uri = f"{self._path.resolve().as_uri()}?mode=ro&immutable=1"
            connection = sqlite3.connect(uri, uri=True, isolation_level=None)
            self._same()
            self._local.connection = connection
        return connection


def _is_text(value: str) -> bool:
    """Say whether a value can be stored: bytes that are no text, in an argument of a command, cannot."""
    return value.isascii() or not _SURROGATE.search(value)


def _where(where: Filter) -> tuple[str, list[str]]:
    clauses, values = ["1"], []
    for name in FIELDS[:3]:
        admitted = getattr(where, name)
        if admitted:
            clauses.append(f"d.{name} IN ({', '.join('?' * len(admitted))})")
            values.extend(admitted)
    if where.as_of or where.since:
        undated = " OR d.last_day = ''" if where.undated else ""
        clauses.append(f"((d.last_day BETWEEN ? AND ? AND d.last_day != ''){undated})")
        values.extend([where.since, where.as_of or "9999-12-31"])
    return " AND ".join(clauses), values
