"""Gzip files: a reader identifies them by their first bytes, and a writer gives equal bytes for equal content."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable
from functools import partial
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO

from ..errors import SourceError
from ..files import open_regular

MAGIC = b"\x1f\x8b"
SUFFIX = ".gz"
UNPACKED_AT_ONCE, MOST_TIMES = 100_000_000, 200
"""Any file may unpack to the first number of bytes. Beyond that, it may unpack to the second number times its size."""
_LEVEL = 6


class Unpacked(gzip.GzipFile):
    """The content of a packed file, with a limit on the ratio of unpacked to packed bytes."""

    def __init__(self, raw: BinaryIO, expected: str, refused: Callable[[str], SourceError]) -> None:
        """Unpack ``raw``. If the content is too long, reading raises the error that ``refused`` makes from a reason.

        ``expected`` says in the reason what the file should be.
        """
        super().__init__(fileobj=raw, mode="rb")
        self._raw, self._expected, self._refused, self._unpacked = raw, expected, refused, 0

    def read(self, size: int | None = -1) -> bytes:
        """Return the next bytes."""
        return self._count(super().read(size))

    def read1(self, size: int = -1) -> bytes:
        """Return the next available bytes."""
        return self._count(super().read1(size))

    def readline(self, size: int | None = -1) -> bytes:
        """Return the next line."""
        return self._count(super().readline(size))

    def _count(self, content: bytes) -> bytes:
        self._unpacked += len(content)
        if self._unpacked > UNPACKED_AT_ONCE and self._unpacked > MOST_TIMES * self._raw.tell():
            raise self._refused(f"unpacks to more than {MOST_TIMES} times its size; it is not a {self._expected}")
        return content


class _PackedRun(Unpacked):
    def __init__(self, path: Path, raw: BinaryIO) -> None:
        super().__init__(raw, "list of queries, judgements or hits", partial(SourceError, place=path))
        self._path = path

    def read(self, size: int | None = -1) -> bytes:
        try:
            return super().read(size)
        except EOFError:
            raise SourceError("is a truncated gzip file: the end of its data is missing", place=self._path) from None
        except (gzip.BadGzipFile, zlib.error) as error:
            raise SourceError(f"is a damaged gzip file ({error})", place=self._path) from None

    def close(self) -> None:
        super().close()
        self._raw.close()


def is_gzip(path: Path) -> bool:
    """Return whether a file is packed, by its first bytes."""
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def open_unpacked(path: Path) -> BufferedReader:
    """Open a file for reading, unpacked if it is a gzip file. Reading raises SourceError if that file is faulty."""
    file = open_regular(path)
    if not file.peek(len(MAGIC)).startswith(MAGIC):
        return file
    return BufferedReader(_PackedRun(path, file))


def is_packed(path: Path) -> bool:
    """Return whether a file should be written packed, by its name."""
    return path.suffix.lower() == SUFFIX


def packing(target: BinaryIO) -> gzip.GzipFile:
    """Return a file that packs into ``target``. It stores no name and no time, so equal content gives equal bytes."""
    return gzip.GzipFile(filename="", fileobj=target, mode="wb", compresslevel=_LEVEL, mtime=0)
