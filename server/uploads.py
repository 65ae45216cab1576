"""Files that a browser uploads: streamed to disk while they arrive, and read from there.

Only the form of the tab Add takes files larger than ``server.max_body_bytes``, and only from a
client with a key, so that nobody else can fill the disk.
"""

from __future__ import annotations

import errno
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from .errors import RefusedError
from .settings import ServerSettings

ADDRESS = "/add"
"""The address whose form takes files."""
AT_ONCE = 1 << 18
"""The bytes of an upload that are collected in memory before they are written."""
_COPIES = 3
"""The copies of an upload that are on the disk at once: the body of the request, the file in it,
and the file under its own name for its reader.
"""
_SPARE = 50_000_000  # the bytes that an upload leaves free on the disk
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


class UploadTooLargeError(RefusedError):
    """A file is larger than the server accepts."""

    def __init__(self, most: int) -> None:
        reason = (
            f"the file is larger than {megabytes(most)} MB, the most that this page accepts "
            "(server.max_upload_bytes); the command line has no such limit: factseek index KIND "
            "FILE --append --index DIR"
        )
        super().__init__(reason, 413, "too-large")


class NoRoomError(RefusedError):
    """The disk of the server has no room for a file."""

    def __init__(self) -> None:
        reason = (
            "the server's disk has no room for this file; nothing was added; free disk space on "
            "the server, or send a smaller file"
        )
        super().__init__(reason, 507, "no-room")


def megabytes(size: int) -> str:
    """Return a number of bytes in megabytes, without a fraction if it is a whole number."""
    return f"{size / 1_000_000:.1f}".removesuffix(".0")


def most_of_documents(settings: ServerSettings) -> int:
    """Return the maximum number of bytes of the documents of a file, as JSON.

    A table becomes larger in JSON, which repeats the names of the fields in each document.
    """
    return settings.max_upload_bytes * 5 // 4


def most_of_form(settings: ServerSettings) -> int:
    """Return the maximum number of bytes of a form: a file, or its documents, and the other
    fields.
    """
    return most_of_documents(settings) + settings.max_body_bytes


class Upload:
    """The body of a request on the disk, in a file without a name, which vanishes with its
    process.
    """

    def __init__(self) -> None:
        self.size = 0
        with room_reported():
            # It stays open for the request, and `close` closes it.
            self.file: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115

    def check_room(self, size: int) -> None:
        """Raise NoRoomError if the disk has no room for an upload of ``size`` bytes."""
        if shutil.disk_usage(tempfile.gettempdir()).free < _COPIES * size + _SPARE:
            raise NoRoomError

    def write(self, piece: bytes) -> None:
        """Append a piece of the body. Raises NoRoomError if the disk has no room for it."""
        self.size += len(piece)
        self.check_room(self.size)
        with room_reported():
            self.file.write(piece)

    def rewind(self) -> None:
        """Begin to read the body."""
        with room_reported():
            self.file.flush()
            self.file.seek(0)

    def close(self) -> None:
        """Remove the file."""
        self.file.close()


@contextmanager
def room_reported() -> Iterator[None]:
    """Raise NoRoomError for an error of the system that says that the disk is full."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise NoRoomError from None
        raise
