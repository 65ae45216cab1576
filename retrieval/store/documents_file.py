"""The SQLite file of a segment's documents.

It is not trusted: anybody may have written it, or a disk may be damaged.

Its schema must be exactly the one that factseek writes, without views, triggers or other code that
SQLite would run. Each value must have the type that factseek writes, because SQLite does not check
it.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

from ...core.errors import IndexStateError
from .integrity import damage_reported

SCHEMA = """
CREATE TABLE documents (
    row INTEGER PRIMARY KEY, docid TEXT NOT NULL UNIQUE, title TEXT NOT NULL, text TEXT NOT NULL,
    url TEXT NOT NULL, date TEXT NOT NULL, language TEXT NOT NULL, source TEXT NOT NULL,
    topic TEXT NOT NULL, metadata TEXT NOT NULL,
    last_day TEXT NOT NULL, checksum TEXT NOT NULL, place TEXT NOT NULL
) STRICT;
CREATE TABLE passages (
    row INTEGER PRIMARY KEY, document INTEGER NOT NULL, number INTEGER NOT NULL,
    start INTEGER NOT NULL, "end" INTEGER NOT NULL
) STRICT;
CREATE INDEX passages_document ON passages (document);
"""
# The limit in bytes of a value in small files; in a larger file the limit is the file's size.
LEAST_LIMIT = 64 << 20
STEPS, STEPS_A_BYTE = 1_000_000, 16
"""The number of SQLite steps between two checks, and the maximum number of steps per byte of the
file.

A statement takes more steps only if pages of a damaged file form a cycle.
"""
# The number of idle connections to keep: one per thread and segment would be hundreds of open
# files.
KEPT = 2
_READ_SCHEMA = "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY name"
Types = tuple[type, ...]


class DocumentsFile:
    """A file of documents, open for reading.

    It is safe for threads: each statement has its own connection.
    """

    def __init__(self, path: Path) -> None:
        """Open ``path``.

        Raises IndexStateError if it is missing, damaged, or not written by factseek.
        """
        self.path = path
        self._lock = threading.Lock()
        self._idle: list[sqlite3.Connection] = []
        self._closed = False
        with damage_reported(path):
            there = path.stat() if path.is_file() else None
            if there:
                path.open("rb").close()  # SQLite does not say why it cannot open a file
        if there is None:
            what = "the documents of this segment are missing"
            raise IndexStateError(what, place=path, remedy="restore or rebuild the index")
        self._identity = (there.st_dev, there.st_ino)
        self._size = there.st_size
        self.select("SELECT 1", (int,))

    def select(self, query: str, types: Types, values: Sequence[Any] = ()) -> list[Any]:
        """Return the rows of a query whose columns have these types.

        Raises IndexStateError if the file is damaged.
        """
        return list(self.stream(query, types, values))

    def stream(self, query: str, types: Types, values: Sequence[Any] = ()) -> Iterator[Any]:
        """Yield the rows that :meth:`select` would return."""
        try:
            with self._lock:
                idle = self._idle.pop() if self._idle else None
            connection = idle or self._open_checked()
            self._limit_steps(connection)
            rows = connection.cursor()
            try:
                for row in rows.execute(query, values):
                    if tuple(map(type, row)) != types:
                        raise self.damaged("a value is not of the type that was written")
                    yield row
            finally:
                self._end(connection, rows)
        except (sqlite3.Error, UnicodeDecodeError) as error:
            # If Python cannot decode a text, the error has no SQLite code.
            undecoded = isinstance(error, sqlite3.OperationalError) and not hasattr(
                error, "sqlite_errorcode"
            )
            is_text = undecoded or isinstance(error, UnicodeDecodeError)
            raise self.damaged("a text is not UTF-8" if is_text else str(error)) from error

    def damaged(self, what: str) -> IndexStateError:
        """Return the error for damage of this file."""
        return IndexStateError(
            f"the documents of this segment cannot be read: {what}", place=self.path
        )

    def close(self) -> None:
        """Close every connection; a busy one closes when its statement ends."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _end(self, connection: sqlite3.Connection, cursor: sqlite3.Cursor) -> None:
        try:
            cursor.close()
        except sqlite3.ProgrammingError:
            return
        with self._lock:
            keep = not self._closed and len(self._idle) < KEPT
            if keep:
                self._idle.append(connection)
        if not keep:
            connection.close()

    def _limit_steps(self, connection: sqlite3.Connection) -> None:
        looks, most = count(1), 1 + self._size * STEPS_A_BYTE // STEPS
        connection.set_progress_handler(lambda: next(looks) > most, STEPS)

    def _open_checked(self) -> sqlite3.Connection:
        # A published segment never changes, so SQLite needs neither locks nor checks for other
        # writers.
        uri = f"{self.path.resolve().as_uri()}?mode=ro&immutable=1"
        connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
        try:
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, max(self._size, LEAST_LIMIT))
            self._limit_steps(connection)
            there = self.path.stat() if self.path.exists() else None
            if there is None or (there.st_dev, there.st_ino) != self._identity:
                raise IndexStateError(
                    "the file was replaced; open the index again", place=self.path
                )
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("PRAGMA cell_size_check = ON")
            if connection.execute(_READ_SCHEMA).fetchall() != _schema():
                raise self.damaged("its tables are not those that factseek writes")
        except BaseException:
            connection.close()
            raise
        return connection


@cache
def _schema() -> list[Any]:
    connection = sqlite3.connect(":memory:")
    try:
        connection.executescript(SCHEMA)
        return connection.execute(_READ_SCHEMA).fetchall()
    finally:
        connection.close()
