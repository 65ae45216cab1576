"""Gzip files: a reader identifies them by their first bytes, and a writer gives equal bytes for
equal content.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable
from functools import partial
from io import BufferedReader, RawIOBase
from pathlib import Path
from typing import Any, BinaryIO

from ..errors import SourceError
from ..files import open_regular

MAGIC = b"\x1f\x8b"
UNPACKED_AT_ONCE, MOST_TIMES = 100_000_000, 200
"""Any file may unpack to the first number of bytes.

Beyond that, it may unpack to the second number times its size.
"""


class Unpacked(RawIOBase):
    """The content of a packed file, with a limit on the ratio of unpacked to packed bytes; read it
    with a buffer.
    """

    def __init__(
        self, raw: BinaryIO, expected: str, refused: Callable[[str], SourceError], advice: str = ""
    ) -> None:
        """Unpack ``raw``.

        If it is faulty or its content is too long, reading raises the error that ``refused`` makes.

        ``expected`` says in the reason what the file should be. ``advice`` ends the reason if the
        file is faulty.
        """
        self._raw, self._file = raw, gzip.GzipFile(fileobj=raw, mode="rb")
        self._expected, self._refused, self._advice, self._unpacked = expected, refused, advice, 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read the next bytes into ``buffer``; return their number."""
        try:
            count = self._file.readinto(buffer)
        except EOFError:
            raise self._refused(
                f"is a truncated gzip file: the end of its data is missing{self._advice}"
            ) from None
        except (gzip.BadGzipFile, zlib.error) as error:
            raise self._refused(f"is a damaged gzip file ({error}){self._advice}") from None
        self._unpacked += count
        if self._unpacked > UNPACKED_AT_ONCE and self._unpacked > MOST_TIMES * self._raw.tell():
            raise self._refused(
                f"unpacks to more than {MOST_TIMES} times its size; it is not a {self._expected}"
            )
        return count

    def close(self) -> None:
        """Close the packed file too."""
        super().close()
        self._raw.close()


def is_gzip(path: Path) -> bool:
    """Return whether a file is packed, by its first bytes."""
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def open_unpacked(path: Path) -> BufferedReader:
    """Open a file for reading, unpacked if it is a gzip file.

    Reading raises SourceError if that file is faulty.
    """
    file = open_regular(path)
    if not file.peek(len(MAGIC)).startswith(MAGIC):
        return file
    return BufferedReader(
        Unpacked(file, "list of queries, judgements or hits", partial(SourceError, place=path))
    )


def is_packed(path: Path) -> bool:
    """Return whether a file should be written packed, by its name."""
    return path.suffix.lower() == ".gz"


def packing(target: BinaryIO) -> gzip.GzipFile:
    """Return a file that packs into ``target``.

    It stores no name and no time, so equal content gives equal bytes.
    """
    return gzip.GzipFile(filename="", fileobj=target, mode="wb", compresslevel=6, mtime=0)
