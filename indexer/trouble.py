"""What keeps a writer from its work for a while: a full disk, a missing permission, another writer,
too little memory.

The documents are not to blame for such trouble, so the writer keeps them and tries again.
"""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ..core.errors import IndexBusyError, IndexStateError, MachineError, UserError

BUSY = "another process may be writing it"
_LITTLE_ROOM = 1 << 20
"""With fewer free bytes, a disk has no room for the smallest segment."""
_OF_THE_MACHINE = (MachineError, IndexStateError, OSError, MemoryError)
_SCARCE = (errno.EMFILE, errno.ENOMEM, errno.EAGAIN)
"""The system's errors that end with the process that gets them: too many open files, no memory, no
threads.
"""


class Failure(NamedTuple):
    """Why a piece of work was not done, in a line that names no path of the index.

    ``passes``: the same work may succeed later. ``of_process``: rather in another process.
    """

    line: str
    passes: bool = False
    of_process: bool = False


def passes(error: BaseException) -> bool:
    """Return whether an error, or one that led to it, says something about the machine and nothing
    about documents.
    """
    return any(
        isinstance(each, _OF_THE_MACHINE) or _database_is_held_up(each) for each in _causes(error)
    )


def of_process(error: BaseException) -> bool:
    """Return whether an error may end with this process: another one has its own memory and its own
    open files.
    """
    return any(
        isinstance(each, MemoryError) or (isinstance(each, OSError) and each.errno in _SCARCE)
        for each in _causes(error)
    )


def reason_of(error: BaseException, folder: Path) -> str:
    """Return what a passing error says about the index in ``folder``, without the folder's path and
    a remedy.
    """
    if isinstance(error, IndexBusyError):
        return BUSY
    if isinstance(error, MemoryError):
        return "there is not enough memory"
    line = str(error)
    if isinstance(error, UserError):
        line = (
            error.what
            if error.place.startswith(str(folder))
            else f"{error.place}: {error.what}".lstrip(": ")
        )
    return " ".join(line.replace(f"{folder}/", "").replace(str(folder), "the index").split())


def disk_trouble(folder: Path) -> str:
    """Return what can be seen to be wrong with the disk of an index, or ``""``.

    If a disk is quite full, the writer cannot even store why it waits.
    """
    if not folder.is_dir():
        return "its folder is gone"
    try:
        if not os.access(folder, os.W_OK):
            return "its folder cannot be written"
        return "the disk is full" if shutil.disk_usage(folder).free < _LITTLE_ROOM else ""
    except OSError:
        return "its folder is gone"


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and those that it replaced: the reader of a file reports an OSError as an
    error of the file.
    """
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__


def _database_is_held_up(error: BaseException) -> bool:
    """Return whether SQLite says that its file is locked or cannot be written, not that a statement
    is wrong.
    """
    return (
        isinstance(error, sqlite3.OperationalError)
        and error.sqlite_errorcode != sqlite3.SQLITE_ERROR
    )
