"""Files packed with gzip: known by their first bytes when they are read, written with the same bytes each time."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO, cast

from ..errors import SourceError
from ..files import open_regular

MAGIC = b"\x1f\x8b"
SUFFIX = ".gz"
UNPACKED_AT_ONCE, MOST_TIMES = 100_000_000, 200
"""A file may unpack to so many bytes in any case, and beyond to so many times its size; text takes a tenth."""
_LEVEL = 6


class Unpacked(gzip.GzipFile):
    """The content of a packed file, which may not be endlessly more than the file holds."""

    def __init__(self, raw: BinaryIO, expected: str, refused: Callable[[str], SourceError]) -> None:
        """Unpack ``raw``, which should be an ``expected``; reading raises ``refused`` if it unpacks to too much."""
        super().__init__(fileobj=raw, mode="rb")
        self._raw, self._expected, self._refused, self._unpacked = raw, expected, refused, 0

    def read(self, size: int | None = -1) -> bytes:
        """Return the next bytes."""
        return self._counted(super().read(size))

    def read1(self, size: int = -1) -> bytes:
        """Return the next bytes that are at hand."""
        return self._counted(super().read1(size))

    def readline(self, size: int | None = -1) -> bytes:
        """Return the next line."""
        return self._counted(super().readline(size))

    def _counted(self, content: bytes) -> bytes:
        self._unpacked += len(content)
        if self._unpacked > UNPACKED_AT_ONCE and self._unpacked > MOST_TIMES * self._raw.tell():
            raise self._refused(f"unpacks to more than {MOST_TIMES} times its size; it is no {self._expected}")
        return content


class _PackedRun(Unpacked):
    """The content of a packed run, whose faults are a user's errors."""

    def __init__(self, path: Path, raw: BinaryIO) -> None:
        super().__init__(raw, "list of queries, judgements or hits", partial(SourceError, place=path))
        self._path = path

    def read(self, size: int | None = -1) -> bytes:
        """Return the next bytes.

        Raises SourceError if the file is damaged, ends too early, or unpacks to more than it may.
        """
        try:
            return super().read(size)
        except EOFError:
            raise SourceError("is a truncated gzip file: it ends before its data does", place=self._path) from None
        except (gzip.BadGzipFile, zlib.error) as error:
            raise SourceError(f"is a damaged gzip file ({error})", place=self._path) from None

    def close(self) -> None:
        """Close the file that is unpacked as well."""
        super().close()
        self._raw.close()


def is_gzip(path: Path) -> bool:
    """Return whether a file is packed: its first bytes say so."""
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def opened(path: Path) -> BufferedReader:
    """Open a file for reading; what is packed with gzip is unpacked while it is read.

    Raises OSError or ValueError if it cannot be opened; reading raises SourceError where the packed data is faulty.
    """
    file = open_regular(path)
    if not file.peek(len(MAGIC)).startswith(MAGIC):
        return file
    return BufferedReader(_PackedRun(path, file))


def is_packed(path: Path) -> bool:
    """Return whether a file is to be written packed: its name says so."""
    return path.suffix.lower() == SUFFIX


@contextmanager
def packing(target: BinaryIO) -> Iterator[BinaryIO]:
    """Write packed into ``target``: neither a name nor a time is in it, so that the same content is the same bytes."""
    with gzip.GzipFile(filename="", fileobj=target, mode="wb", compresslevel=_LEVEL, mtime=0) as file:
        yield cast(BinaryIO, file)
