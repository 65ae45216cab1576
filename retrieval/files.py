"""Files that are there whole or not at all."""

from __future__ import annotations

import errno
import hashlib
import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from .errors import MachineError, QueryError, SourceError

_SQLITE_REFUSED = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN}


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that a reader, or a crash at any instant, sees the old content or the new.

    Raises MachineError if there is no room or no right to write.
    """
    with replacing(path) as file:
        file.write(content)


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a file to be written beside ``path``; it takes its place, durably, when all is written, else it is gone.

    Raises MachineError if there is no room or no right to write.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with told(path):
        try:
            with temporary.open("wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
        sync_folder(path.parent)


def writable(path: Path, inputs: Iterable[Path] = ()) -> None:
    """Refuse, before any work, a file that cannot be written, or whose writing would destroy what is there.

    Raises QueryError if its folder does not exist, it is there and no regular file, or it is one of ``inputs``.
    """
    if not path.parent.is_dir():
        raise QueryError(f"there is no folder {path.parent}", place=path, remedy="make it first")
    if path.is_dir():
        raise QueryError("is a folder", place=path, remedy="name a file")
    if path.exists() and not path.is_file():
        raise QueryError("is not a regular file", place=path, remedy="name one that is, or a new one")
    for given in inputs:
        if path.exists() and given.exists() and path.samefile(given):
            raise QueryError(
                "is read by this command and would be written over", place=path, remedy="name another file"
            )


def rereadable(path: Path) -> None:
    """Refuse what cannot be read a second time; what is not there, or a folder, is left for the reader to refuse.

    Raises SourceError if it is a pipe or a device.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        raise SourceError("is not a regular file", place=path, remedy="save it to one first")


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    sync_file(folder)


def sync_file(path: Path) -> None:
    """Make what a file holds durable."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_tree(folder: Path) -> None:
    """Make every file and name below a folder durable."""
    for parent, _, names in os.walk(folder):
        for name in names:
            sync_file(Path(parent) / name)
        sync_folder(Path(parent))


@contextmanager
def told(path: Path) -> Iterator[None]:
    """Turn what the file system refuses while ``path`` is written into one line.

    Raises MachineError for a full disk, a read-only place, a missing right, a file where a folder is meant.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF not in _SQLITE_REFUSED:
            raise
        if error.sqlite_errorcode == sqlite3.SQLITE_FULL:
            raise full(path) from error
        raise MachineError(f"cannot be written: {error}", place=path) from error
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise full(path) from error
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise MachineError(f"may not be written: {error.strerror}", place=path) from error
        place = error.filename or path
        if error.errno in (errno.EEXIST, errno.ENOTDIR):
            raise MachineError("is not a folder", place=place, remedy="name another place") from error
        raise MachineError(str(error.strerror or error), place=place) from error


def full(path: Path | str) -> MachineError:
    """Return the error that says that the disk of ``path`` is full."""
    return MachineError("the disk is full", place=path, remedy="make room and run the same command again")


def storable(name: str) -> str:
    """Return the name of a file as text: bytes that are not UTF-8 are written as escapes."""
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
