"""The files that the sources of a command line stand for."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from ...retrieval.errors import SourceError
from ...retrieval.records.table_shape import SAVE_TEXT
from ...retrieval.terminal import listed
from . import ReadOptions

NOT_REGULAR = "not a regular file"
NOT_READ = "of a kind that is not read"
_DOCUMENTS = (
    ".doc",
    ".docx",
    ".epub",
    ".odp",
    ".ods",
    ".odt",
    ".pdf",
    ".ppt",
    ".pptx",
    ".rtf",
    ".xls",
    ".xlsx",
    ".zip",
)
"""Endings of files that hold text which somebody may miss, and that no reader reads."""


def expand(sources: Iterable[Path], suffixes: tuple[str, ...], options: ReadOptions) -> list[Path]:
    """Return the files of ``sources``: a file stands for itself, a folder for what is in it, by name.

    Files come in the order of ``sources``, those of a folder sorted by their path; a file that is reached twice
    comes once. In folders only names that end with one of ``suffixes`` (in any case, also with ``.gz`` after it;
    ``""`` is every name) count, hidden files and folders do not, and links to folders are not followed. What
    has such a name and is no regular file (a pipe, a device, a link that leads nowhere or in a circle) is left out by
    name: to open it could wait for ever. So are office files, PDFs and archives, which somebody may think were read.
    Raises SourceError if a source does not exist or cannot be read, if a file is empty, or if a folder holds no
    such file.
    """
    files: dict[Path, Path] = {}
    for source in sources:
        for path in folder_files(source, suffixes, options) if source.is_dir() else [one_file(source)]:
            files.setdefault(path.resolve(), path)
    return list(files.values())


def one_file(path: Path) -> Path:
    """Return ``path``, which must be a file with something in it.

    Raises SourceError if it does not exist, cannot be read, is a folder or another thing that is no file, or is empty.
    """
    try:
        status = path.stat()
    except FileNotFoundError:
        raise SourceError("there is no such file or directory", place=path) from None
    except OSError as error:  # a loop of links, a folder that may not be entered
        raise SourceError(f"cannot be read: {error.strerror}", place=path) from None
    if stat.S_ISDIR(status.st_mode):
        raise SourceError("is a folder; name a file", place=path)
    if not stat.S_ISREG(status.st_mode):
        raise SourceError("is not a regular file; write it to one first", place=path)
    if status.st_size == 0:
        raise SourceError("is empty", place=path)
    return path


def folder_files(folder: Path, suffixes: tuple[str, ...], options: ReadOptions) -> list[Path]:
    """Return the regular files under ``folder`` whose names end with one of ``suffixes``, sorted by path.

    Raises SourceError if there is none, or if a folder cannot be listed.
    """
    endings = tuple(ending for suffix in suffixes for ending in (suffix, f"{suffix}.gz"))
    try:
        there = list(_walk(folder))
        named = [path for path in there if path.name.lower().endswith(endings)]
        files = [path for path in named if path.is_file()]
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror}", place=error.filename or folder) from None
    for path in sorted(set(named).difference(files)):
        options.leave_out(path, NOT_REGULAR)
    documents = sorted(path for path in set(there).difference(named) if path.suffix.lower() in _DOCUMENTS)
    for path in documents:
        options.leave_out(path, NOT_READ)
    if not files:
        raise _nothing_read(folder, suffixes, documents)
    return sorted(files, key=lambda path: path.parts)


def _nothing_read(folder: Path, suffixes: tuple[str, ...], documents: Iterable[Path]) -> SourceError:
    """Return the error of a folder with no file that is read; say which documents of other kinds it holds."""
    kind = f"{listed(suffixes, 'or')} " if any(suffixes) else ""
    others = sorted({path.suffix.lower() for path in documents})
    what = f"holds no {kind}file" + (f", but {listed(others)} files, which are not read" if others else "")
    return SourceError(what, place=folder, remedy=f"of each, {SAVE_TEXT}" if others else "")


def _walk(folder: Path) -> Iterator[Path]:
    """Yield the files under ``folder`` that are not hidden, nor in a hidden folder."""

    def fail(error: OSError) -> None:
        raise error

    for parent, folders, files in os.walk(folder, onerror=fail):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in files:
            if not name.startswith("."):
                yield Path(parent, name)
