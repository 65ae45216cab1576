"""Atomic writes of files, safe reads, and one-line messages for the errors of the file system."""

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
"""A file's sample: the last ``BLOCK`` bytes of each of at most ``SAMPLED`` stretches, the first and
last included.

Each stretch of the file has ``STRETCH`` bytes.
"""
# The maximum number of bytes to read into memory: models, indexes and settings are much smaller.
MOST_READ = 1 << 30
DESCRIPTION, EVIDENCE = ".meta.json", ".evidence.jsonl"
"""What the names of the files that factseek writes next to a submission add to its name."""
BESIDE = (DESCRIPTION, EVIDENCE)
_PIECE = 1 << 20
_SQLITE_REFUSED = {
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CANTOPEN,
}


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that readers see either the old or the new content, even after a crash at any
    instant.
    """
    with replacing(path) as file:
        file.write(content)


def temporary_beside(path: Path) -> Path:
    """Return a unique name for a temporary file next to ``path``."""
    # The random bytes are for two containers, which may use the same process id.
    return path.with_name(f".{path.name}.{os.getpid()}-{os.urandom(6).hex()}.tmp")


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a temporary file that durably replaces ``path`` at the end; errors are as in
    :func:`os_errors_reported`.

    A symbolic link stays, and the file that it leads to is replaced.
    """
    with os_errors_reported(path):
        path = Path(os.path.realpath(path)) if path.is_symlink() else path
        temporary = temporary_beside(path)
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
    """Open a regular or an inherited file (``/dev/stdin``); the call never waits for a named pipe
    or a device.
    """
    inherited = (
        str(path) == "/dev/stdin" or os.path.realpath(path.parent) == f"/proc/{os.getpid()}/fd"
    )
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | (0 if inherited else os.O_NONBLOCK))
    try:
        there = os.fstat(handle)
        if stat.S_ISDIR(there.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        is_stream = (
            stat.S_ISFIFO(there.st_mode) or stat.S_ISSOCK(there.st_mode) or os.isatty(handle)
        )
        is_file = stat.S_ISREG(there.st_mode) or os.path.samestat(there, Path(os.devnull).stat())
        if not is_file and not (inherited and is_stream):
            raise OSError(errno.EINVAL, "it is not a regular file", str(path))
    except BaseException:
        os.close(handle)
        raise
    return os.fdopen(handle, "rb")


def read_regular(path: Path) -> bytes:
    """Return the content of a file that :func:`open_regular` opens.

    Raises OSError if it is too large.
    """
    content = bytearray()
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size  # 0 for a pipe
        while max(size, len(content)) <= MOST_READ and (piece := file.read(_PIECE)):
            content += piece
    if max(size, len(content)) > MOST_READ:
        raise OSError(errno.EFBIG, f"it contains more than {MOST_READ >> 20} MiB", str(path))
    return bytes(content)


def writable(path: Path, inputs: Iterable[Path] = ()) -> None:
    """Make the folder of a result, before any work.

    Raises QueryError if a result cannot be written to ``path``, or would overwrite an input.
    """
    if path.is_dir():
        raise QueryError("is a folder", place=path, remedy="give a file")
    if path.exists() and not path.is_file():
        raise QueryError(
            "is not a regular file", place=path, remedy="give a regular file or a new file"
        )
    for read in inputs:
        if path.exists() and read.exists() and path.samefile(read):
            what = "is an input of this command and would be overwritten"
            raise QueryError(what, place=path, remedy="give another file")
    make_folder_of(path)


def make_folder_of(path: Path) -> None:
    """Make the missing folders above a result, as for an index.

    Raises MachineError if this is impossible.
    """
    parent = Path(os.path.realpath(path)).parent if path.is_symlink() else path.parent
    with os_errors_reported(parent):
        parent.mkdir(parents=True, exist_ok=True)


def check_distinct(paths: Sequence[Path]) -> None:
    """Raise QueryError, before any work, if two results of a command would be written to the same
    file.
    """
    seen: set[Path] = set()
    for path in paths:
        place = Path(os.path.realpath(path))
        if place in seen:
            raise QueryError(
                "is also another result of this command", place=path, remedy="give another file"
            )
        seen.add(place)


def files_in(paths: Sequence[Path]) -> list[Path]:
    """Return the files in ``paths``; a folder is replaced by its files that are not hidden, sorted
    by name.

    Files that factseek writes next to a submission are left out if the submission is there.
    """
    files: list[Path] = []
    for path in paths:
        inside = [path]
        if path.is_dir():
            inside = sorted(
                file for file in path.iterdir() if file.is_file() and not file.name.startswith(".")
            )
            names = {f"{file.name}{suffix}" for file in inside for suffix in BESIDE}
            inside = [file for file in inside if file.name not in names]
        if not inside:
            raise QueryError("is a folder without files", place=path)
        files += inside
    return files


def rereadable(path: Path) -> None:
    """Raise SourceError if a file is a pipe or a device, which cannot be read twice."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise SourceError(
            "is not a regular file", place=path, remedy="save its content to a file first"
        )


def sync_file(path: Path) -> None:
    """Flush the content of a file, or the names in a folder, to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


sync_folder = sync_file


def sync_tree(folder: Path) -> None:
    """Flush every file and every name below a folder to the disk."""
    for parent, _, names in os.walk(folder):
        for path in (*(Path(parent, name) for name in names), Path(parent)):
            sync_file(path)


@contextmanager
def os_errors_reported(path: Path) -> Iterator[None]:
    """Raise MachineError for a full disk, a missing permission and other OS errors while writing
    ``path``.
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
            raise MachineError(f"cannot be written: {error.strerror}", place=path) from error
        place = error.filename or path
        if error.errno in (errno.EEXIST, errno.ENOTDIR):
            raise MachineError(
                "is not a folder", place=place, remedy="give another path"
            ) from error
        raise MachineError(str(error.strerror or error), place=place) from error


@contextmanager
def read_errors_reported(path: Path) -> Iterator[None]:
    """Raise SourceError for errors while opening or reading ``path``."""
    try:
        yield
    except FileNotFoundError:
        raise SourceError("there is no such file", place=path) from None
    except IsADirectoryError:
        raise SourceError("is a folder", place=path, remedy="give a file") from None
    except (OSError, ValueError) as error:
        raise SourceError(
            f"cannot be read: {getattr(error, 'strerror', None) or error}", place=path
        ) from None


def disk_full(path: Path | str) -> MachineError:
    """Return the error for a full disk at ``path``."""
    return MachineError(
        "the disk is full", place=path, remedy="make room and run the same command again"
    )


def storable(name: str) -> str:
    """Return the name of a file as text; bytes that are not UTF-8 become escapes."""
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


def sample(path: Path) -> str:
    """Return a digest of a few blocks of a file; it tells files apart without reading them
    completely.

    SQLite fills a page from the page's end, and a Lucene file ends with its checksum. So the blocks
    are at the ends of stretches of the file.
    """
    with open_regular(path) as file:
        size = file.seek(0, os.SEEK_END)
        stretches = -(-size // STRETCH)
        digest = hashlib.sha256()
        for number in range(min(stretches, SAMPLED)):
            end = min(
                size,
                STRETCH * (1 + number * (stretches - 1) // max(1, min(stretches, SAMPLED) - 1)),
            )
            file.seek(max(0, end - BLOCK))
            digest.update(file.read(min(BLOCK, end)))
        return digest.hexdigest()[:16]


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


_ROOM = 64 << 20  # if a disk has fewer free bytes than this, any failed write counts as a full disk
_NO_ROOM = ("No space left on device", "Disk quota exceeded")
_NOT_WRITTEN = (
    "inline_container",
    "PytorchStreamWriter",
    "SafetensorError",
    "I/O error",
    "Parent directory",
)
"""Words in the errors that libraries raise for failed writes, instead of the system's error."""


@contextmanager
def saving_reported(folder: Path) -> Iterator[None]:
    """Raise MachineError for failed writes in ``folder``, whatever error the writing library
    raises.
    """
    try:
        with os_errors_reported(folder):
            yield
    except FactseekError:
        raise
    except Exception as error:
        words = f"{type(error).__name__}: {error}"
        if any(sign in words for sign in _NO_ROOM) or shutil.disk_usage(folder).free < _ROOM:
            raise disk_full(folder) from None
        if any(sign in words for sign in _NOT_WRITTEN):
            line = str(error).strip().partition("\n")[0][:200]
            raise MachineError(f"cannot be written: {line}", place=folder) from error
        raise


def user_cache(name: str) -> Path:
    """Return the path of factseek's folder ``name`` in the user's cache; the folder may not exist
    yet.
    """
    home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(home).expanduser() / "factseek" / name


def is_own(status: os.stat_result) -> bool:
    """Return whether only this user can write to a file or folder; only then may it be executed."""
    return status.st_uid == os.getuid() and not status.st_mode & 0o022
