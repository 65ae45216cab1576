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
UNPACKED_AT_ONCE, MOST_TIMES = 100_000_000, 200
"""Any file may unpack to the first number of bytes. Beyond that, it may unpack to the second number times its size."""


class Unpacked(gzip.GzipFile):
    """The content of a packed file, with a limit on the ratio of unpacked to packed bytes; read it with a buffer."""

    def __init__(self, raw: BinaryIO, expected: str, refused: Callable[[str], SourceError]) -> None:
        """Unpack ``raw``. If the content is too long, reading raises the error that ``refused`` makes from a reason.

        ``expected`` says in the reason what the file should be.
        """
        super().__init__(fileobj=raw, mode="rb")
        self._raw, self._expected, self._refused, self._unpacked = raw, expected, refused, 0

    def read(self, size: int | None = -1) -> bytes:
        """Return the next bytes."""
        content = super().read(size)
        self._unpacked += len(content)
        if self._unpacked > UNPACKED_AT_ONCE and self._unpacked > MOST_TIMES * self._raw.tell():
            raise self._refused(f"unpacks to more than {MOST_TIMES} times its size; it is not a {self._expected}")
        return content


class _PackedRun(Unpacked):
    def __init__(self, path: Path, raw: BinaryIO) -> None:
        self._refuse = partial(SourceError, place=path)
        super().__init__(raw, "list of queries, judgements or hits", self._refuse)

    def read(self, size: int | None = -1) -> bytes:
        try:
            return super().read(size)
        except EOFError:
            raise self._refuse("is a truncated gzip file: the end of its data is missing") from None
        except (gzip.BadGzipFile, zlib.error) as error:
            raise self._refuse(f"is a damaged gzip file ({error})") from None

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
    return BufferedReader(_PackedRun(path, file)) if file.peek(len(MAGIC)).startswith(MAGIC) else file


def is_packed(path: Path) -> bool:
    """Return whether a file should be written packed, by its name."""
    return path.suffix.lower() == ".gz"


def packing(target: BinaryIO) -> gzip.GzipFile:
    """Return a file that packs into ``target``. It stores no name and no time, so equal content gives equal bytes."""
    return gzip.GzipFile(filename="", fileobj=target, mode="wb", compresslevel=6, mtime=0)
