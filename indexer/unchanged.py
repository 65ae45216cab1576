"""Which documents an update found as they were: another of the same docid in its sources contradicts them."""

from __future__ import annotations

import sqlite3

from .segment import Seen


class Unchanged:
    """Documents of the sources that are live already, by docid. They lie on disk, so that memory does not grow."""

    def __init__(self) -> None:
        # An empty name is a database of this connection alone, which goes when it is closed.
        self._db = sqlite3.connect("", isolation_level=None)
        self._db.execute("CREATE TABLE unchanged (docid BLOB PRIMARY KEY, checksum TEXT, place TEXT) WITHOUT ROWID")
        self._db.execute("BEGIN")

    def add(self, docid: str, digest: str, place: str) -> None:
        """Note that a document was read at ``place`` and is live with the content of this checksum."""
        self._db.execute("INSERT OR IGNORE INTO unchanged VALUES (?, ?, ?)", (_key(docid), digest, place))

    def seen(self, docid: str) -> Seen | None:
        """Return where a document was read and what it held, or None."""
        row = self._db.execute("SELECT checksum, place FROM unchanged WHERE docid = ?", (_key(docid),)).fetchone()
        return Seen(*row) if row else None

    def close(self) -> None:
        """Drop all of it."""
        self._db.close()


def _key(docid: str) -> bytes:
    return docid.encode("utf-8", "surrogatepass")
