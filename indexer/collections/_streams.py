"""Source files as streams of bytes, gzip or not; one that cannot be read is an error of one line."""

from __future__ import annotations

import gzip
import os
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO, cast

from ...retrieval.errors import SourceError
from ...retrieval.records.gzip_files import MAGIC, Unpacked
from ...retrieval.records.table_shape import shape_of_start

# What starts with these bytes is refused by name: its text would be noise, line after line.
_REFUSED = (
    (b"\x1f\x9d", "is compressed with Unix compress (.Z), which is not read; unpack it, or pack it with gzip"),
    (b"\x1f\xa0", "is compressed with Unix compress (.Z), which is not read; unpack it, or pack it with gzip"),
    (b"\x1f\x1e", "is compressed with Unix pack (.z), which is not read; unpack it, or pack it with gzip"),
    (b"BZh", "is compressed with bzip2, which is not read; unpack it, or pack it with gzip"),
    (b"\xfd7zXZ\x00", "is compressed with xz, which is not read; unpack it, or pack it with gzip"),
    (b"\x28\xb5\x2f\xfd", "is compressed with zstd, which is not read; unpack it, or pack it with gzip"),
    (b"PK\x03\x04", "is a ZIP archive, which is not read; unpack it"),
)


class BadFileError(SourceError):
    """A file cannot be read as a whole; ``place`` and ``what`` fit ``BadLines.report``."""

    def __init__(self, place: Path | str, reason: str) -> None:
        super().__init__(reason, place=place)


@contextmanager
def open_bytes(path: Path) -> Iterator[BinaryIO]:
    """Open ``path`` for reading, unpacking gzip, which is known by its first bytes.

    Raises BadFileError if the file cannot be opened, is packed in another way, or says .gz and is not, and turns
    what goes wrong while it is read into BadFileError too.
    """
    with _read_errors_reported(path), _opened(path) as raw:
        head = raw.peek(1)
        if head.startswith(MAGIC):
            with Unpacked(raw, "collection", partial(BadFileError, path)) as unpacked:
                yield cast(BinaryIO, unpacked)
            return
        _refuse(path, head)
        yield raw


def _opened(path: Path) -> BufferedReader:
    """Open a regular file; a pipe or a device is refused without waiting for what it may say."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if stat.S_ISREG(os.fstat(handle).st_mode):
        return os.fdopen(handle, "rb")
    os.close(handle)
    if path.is_dir():
        raise BadFileError(path, "is a folder; name a file")
    raise BadFileError(path, "is not a regular file; write it to one first")


@contextmanager
def _read_errors_reported(path: Path) -> Iterator[None]:
    """Raise BadFileError for errors while reading ``path``."""
    try:
        yield
    except EOFError:
        raise BadFileError(path, "is a truncated gzip file: it ends before its data does; fetch it again") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise BadFileError(path, f"is a damaged gzip file ({error}); fetch it again") from None
    except IsADirectoryError:
        raise BadFileError(path, "is a folder; name a file") from None
    except FileNotFoundError:
        raise BadFileError(path, "there is no such file") from None
    except OSError as error:
        raise BadFileError(path, f"cannot be read: {error.strerror or error}") from None


def _refuse(path: Path, head: bytes) -> None:
    """Raise BadFileError if a file that starts with ``head`` is packed in a way that is not read."""
    for magic, reason in _REFUSED:
        if head.startswith(magic):
            office = shape_of_start(head) if magic.startswith(b"PK") else None
            known = office and office.remedy and "zip" not in office.content
            raise BadFileError(path, f"{office.sentence}; {office.remedy}" if office and known else reason)
    if head and path.suffix.lower() == ".gz":
        raise BadFileError(path, "is named .gz and is not gzip data; rename it")
