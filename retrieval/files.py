"""Files that are written whole or not at all, and the errors of the file system as one line."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import sqlite3
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO

from .errors import FactseekError, MachineError, QueryError, SourceError

STRETCH, BLOCK, SAMPLED = 8_192, 512, 16
"""A sample of a file is the last bytes of so many of its stretches, the first and the last of them among these."""
MOST_READ = 1 << 30
"""Bytes of a file that is read whole: no file of a model, an index or the settings comes near it."""
_PIECE = 1 << 20
_SQLITE_REFUSED = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN}


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that a reader, or a crash at any instant, sees the old content or the new.

    Raises MachineError if there is no room or no right to write.
    """
    with replacing(path) as file:
        file.write(content)


def temporary_beside(path: Path) -> Path:
    """Return the name of a temporary file beside ``path`` that no one else uses.

    Containers that share a folder have processes of the same number.
    """
    return path.with_name(f".{path.name}.{os.getpid()}-{os.urandom(6).hex()}.tmp")


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a temporary file beside ``path``, which replaces it durably when all is written, and is removed otherwise.

    Raises MachineError if there is no room or no right to write.
    """
    temporary = temporary_beside(path)
    with os_errors_reported(path):
        try:
            with temporary.open("wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
        sync_folder(path.parent)


def open_regular(path: Path) -> BufferedReader:
    """Open a regular file for reading, or what this process was given open: ``/dev/stdin``, ``/dev/fd/63``.

    Raises OSError if it cannot be opened or is a pipe, a device or a folder, without waiting for what that may say.
    """
    inherited = str(path) == "/dev/stdin" or os.path.realpath(path.parent) == f"/proc/{os.getpid()}/fd"
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | (0 if inherited else os.O_NONBLOCK))
    try:
        _check_regular(handle, str(path), inherited=inherited)
    except BaseException:
        os.close(handle)
        raise
    return os.fdopen(handle, "rb")


def _check_regular(handle: int, path: str, *, inherited: bool) -> None:
    there = os.fstat(handle)
    if stat.S_ISDIR(there.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if inherited and (stat.S_ISFIFO(there.st_mode) or stat.S_ISSOCK(there.st_mode) or os.isatty(handle)):
        return
    if not stat.S_ISREG(there.st_mode) and not os.path.samestat(there, Path(os.devnull).stat()):
        raise OSError(errno.EINVAL, "it is not a regular file", path)


def read_regular(path: Path) -> bytes:
    """Return the content of a file that :func:`open_regular` opens.

    Raises OSError if that does, or it is larger than any such file is.
    """
    content = bytearray()
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size  # of what is no pipe
        while max(size, len(content)) <= MOST_READ and (piece := file.read(_PIECE)):
            content += piece
    if max(size, len(content)) > MOST_READ:
        raise OSError(errno.EFBIG, f"it holds more than {MOST_READ >> 20} MiB", str(path))
    return bytes(content)


def writable(path: Path, inputs: Iterable[Path] = ()) -> None:
    """Check, before any work, that a result can be written to ``path`` without destroying an input.

    Raises QueryError if its folder does not exist, it exists and is no regular file, or it is one of ``inputs``.
    """
    if not path.parent.is_dir():
        raise QueryError(f"there is no folder {path.parent}", place=path, remedy="make it first")
    if path.is_dir():
        raise QueryError("is a folder", place=path, remedy="name a file")
    if path.exists() and not path.is_file():
        raise QueryError("is not a regular file", place=path, remedy="name one that is, or a new one")
    for read in inputs:
        if path.exists() and read.exists() and path.samefile(read):
            raise QueryError(
                "is an input of this command and would be overwritten", place=path, remedy="name another file"
            )


def files_in(paths: Sequence[Path]) -> list[Path]:
    """Return the files in ``paths``; a folder stands for its files that are not hidden, in order of name.

    Raises QueryError if a folder holds none.
    """
    files: list[Path] = []
    for path in paths:
        inside = (
            sorted(file for file in path.iterdir() if file.is_file() and not file.name.startswith("."))
            if path.is_dir()
            else [path]
        )
        if not inside:
            raise QueryError("is a folder without files", place=path)
        files += inside
    return files


def rereadable(path: Path) -> None:
    """Check that a file can be read a second time; a missing file or a folder is left for the reader to refuse.

    Raises SourceError if it is a pipe or a device.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        raise SourceError("is not a regular file", place=path, remedy="save it to one first")


def sync_folder(folder: Path) -> None:
    """Flush the names in a folder to the disk."""
    sync_file(folder)


def sync_file(path: Path) -> None:
    """Flush the content of a file to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_tree(folder: Path) -> None:
    """Flush every file and every name below a folder to the disk."""
    for parent, _, names in os.walk(folder):
        for name in names:
            sync_file(Path(parent) / name)
        sync_folder(Path(parent))


@contextmanager
def os_errors_reported(path: Path) -> Iterator[None]:
    """Raise MachineError for OS errors while writing ``path``.

    They are a full disk, a read-only place, a missing right, or a file where a folder is meant.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF not in _SQLITE_REFUSED:
            raise
        if error.sqlite_errorcode == sqlite3.SQLITE_FULL:
            raise disk_full(path) from error
        raise MachineError(f"cannot be written: {error}", place=path) from error
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise disk_full(path) from error
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise MachineError(f"may not be written: {error.strerror}", place=path) from error
        place = error.filename or path
        if error.errno in (errno.EEXIST, errno.ENOTDIR):
            raise MachineError("is not a folder", place=place, remedy="name another place") from error
        raise MachineError(str(error.strerror or error), place=place) from error


@contextmanager
def read_errors_reported(path: Path) -> Iterator[None]:
    """Raise SourceError for errors while opening or reading ``path``."""
    try:
        yield
    except FileNotFoundError:
        raise SourceError("there is no such file", place=path) from None
    except IsADirectoryError:
        raise SourceError("is a folder", place=path, remedy="name a file") from None
    except (OSError, ValueError) as error:
        raise SourceError(f"cannot be read: {getattr(error, 'strerror', None) or error}", place=path) from None


def disk_full(path: Path | str) -> MachineError:
    """Return the error for a full disk at ``path``."""
    return MachineError("the disk is full", place=path, remedy="make room and run the same command again")


def storable(name: str) -> str:
    """Return the name of a file as text: bytes that are not UTF-8 are written as escapes."""
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


def sample(path: Path) -> str:
    """Return a digest of a few blocks spread over a file, which tells it from another one without reading it whole.

    A page of SQLite is filled from its end, and a file of Lucene ends with its checksum: so the ends are read.
    """
    with open_regular(path) as file:
        size = file.seek(0, os.SEEK_END)
        stretches = -(-size // STRETCH)
        digest = hashlib.sha256()
        for number in range(min(stretches, SAMPLED)):
            end = min(size, STRETCH * (1 + number * (stretches - 1) // max(1, min(stretches, SAMPLED) - 1)))
            file.seek(max(0, end - BLOCK))
            digest.update(file.read(min(BLOCK, end)))
        return digest.hexdigest()[:16]


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


_ROOM = 64 << 20
"""Bytes that have to be free; with fewer, whatever failed to be written failed for want of room."""
_NO_ROOM = ("No space left on device", "Disk quota exceeded")
_NOT_WRITTEN = ("inline_container", "PytorchStreamWriter", "SafetensorError", "I/O error", "Parent directory")
"""What the libraries say when they could not write: they hide the error of the system."""
_LONGEST = 200


@contextmanager
def saving_reported(folder: Path) -> Iterator[None]:
    """Raise MachineError for what could not be written in ``folder``, whatever the library that writes made of it."""
    with os_errors_reported(folder), _libraries_errors_reported(folder):
        yield


@contextmanager
def _libraries_errors_reported(folder: Path) -> Iterator[None]:
    """Raise MachineError for what failed to be written: each library has an error of its own for that."""
    try:
        yield
    except (FactseekError, OSError):
        raise
    except Exception as error:
        words = f"{type(error).__name__}: {error}"
        if any(sign in words for sign in _NO_ROOM) or shutil.disk_usage(folder).free < _ROOM:
            raise disk_full(folder) from None
        if any(sign in words for sign in _NOT_WRITTEN):
            line = str(error).strip().partition("\n")[0][:_LONGEST]
            raise MachineError(f"cannot be written: {line}", place=folder) from error
        raise


def user_cache(name: str) -> Path:
    """Return the folder ``name`` of factseek in the user's cache, whether or not it exists yet."""
    home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(home).expanduser() / "factseek" / name


def is_own(status: os.stat_result) -> bool:
    """Return whether a file or folder is this user's and nobody else can write it: what it holds may be run."""
    return status.st_uid == os.getuid() and not status.st_mode & 0o022
