"""Find the files of the sources on a command line, and read their bytes, compressed by gzip or
not.
"""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import cast

from ...core.errors import SourceError
from ...core.files import open_regular
from ...core.records.gzip_files import MAGIC, Unpacked
from ...core.records.table_shape import shape_of_start
from ...core.terminal import join_words
from . import ReadOptions
from ._child import BadFileError
from ._formats import ZIP
from ._unread import (
    LOCK,
    PART_OF_PAGE,
    describe_others,
    folders_of_pages,
    is_lock,
    reason_unread,
)
from ._zstd import UnpackedFrames, is_zstd

NOT_REGULAR = "not a regular file"
OUTSIDE = "link to a file outside the folder"
FOLDER_OUTSIDE = "link to a folder outside the folder"
_PACKED = {
    b"\x1f\x9d": "compressed with Unix compress (.Z)",
    b"\x1f\xa0": "compressed with Unix compress (.Z)",
    b"\x1f\x1e": "compressed with Unix pack (.z)",
    b"BZh": "compressed with bzip2",
    b"\xfd7zXZ\x00": "compressed with xz",
    b"\x28\xb5\x2f\xfd": "compressed with zstd",
    ZIP: "a ZIP archive",
}
"""Formats that are refused by their first bytes, because reading them as text would give noise."""


def expand(
    sources: Iterable[Path],
    suffixes: tuple[str, ...],
    options: ReadOptions,
    *,
    used: Iterable[Path] = (),
    saved_pages: bool = False,
    kind_of: Callable[[Path], str] = lambda _: "",
) -> list[Path]:
    """Return the files of ``sources`` in order, each once; a folder stands for its files, in the
    order of their paths.

    In folders, only names that end with one of ``suffixes`` are used, in any case, also with
    ``.gz``; ``""`` matches every name. Hidden entries and links to folders are ignored. All other
    files are left out with a reason, except those that the reader has ``used`` already: files that
    are not regular, links that lead out of the folder, files with other endings and, if a folder
    may contain ``saved_pages``, the parts of these. The reason may name the kind of source that
    reads a file; of a table, ``kind_of`` says it. Raises SourceError if a source cannot be read, a
    file is empty, or a folder has no such file.
    """
    known = {path.resolve() for path in used}
    files: dict[Path, Path] = {}
    for source in sources:
        if source.is_dir():
            paths = _folder_files(
                source, suffixes, options, known, saved_pages=saved_pages, kind_of=kind_of
            )
        else:
            paths = [one_file(source)]
        for path in paths:
            files.setdefault(path.resolve(), path)
    return list(files.values())


def leads_outside(path: Path, folder: Path) -> bool:
    """Return whether a path below a folder leads out of it, over any number of links.

    Whoever names a folder does not name the files that links in it lead to. They may be private.
    """
    return not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def one_file(path: Path, inside: str = "") -> Path:
    """Return ``path`` or, if it is a folder, the file ``inside`` it, compressed or not.

    Raises SourceError if the file is missing, empty or not a regular file, or if it is not inside
    the folder.
    """
    if inside and path.is_dir():
        names = [name for name in (inside, f"{inside}.gz") if os.path.lexists(path / name)]
        if not names:
            raise SourceError(f"contains no {inside}", place=path)
        folder, path = path, path / names[0]
        if leads_outside(path, folder):
            raise SourceError(
                f"is a {OUTSIDE}", place=path, remedy="give the file instead of the folder"
            )
    try:
        status = path.stat()
    except FileNotFoundError:
        raise SourceError("there is no such file or directory", place=path) from None
    except OSError as error:  # a loop of links, or a folder without permission
        raise SourceError(f"cannot be read: {error.strerror}", place=path) from None
    if stat.S_ISDIR(status.st_mode):
        raise SourceError("is a folder; give a file", place=path)
    if not stat.S_ISREG(status.st_mode):
        raise SourceError("is not a regular file; save its content to a file first", place=path)
    if is_lock(path.name):
        raise SourceError(f"is the {LOCK}", place=path, remedy="give the document itself")
    if status.st_size == 0:
        raise SourceError("is empty", place=path)
    return path


def _folder_files(
    folder: Path,
    suffixes: tuple[str, ...],
    options: ReadOptions,
    used: Collection[Path],
    *,
    saved_pages: bool,
    kind_of: Callable[[Path], str],
) -> list[Path]:
    endings = tuple(ending for suffix in suffixes for ending in (suffix, f"{suffix}.gz"))
    try:
        there, linked_folders, parts, locks = _walk(folder, saved_pages=saved_pages)
        named = [path for path in there if path.name.lower().endswith(endings)]
        outside = [path for path in there if path.is_symlink() and leads_outside(path, folder)]
        named = sorted(set(named).difference(outside))
        regular = [path for path in named if path.is_file()]
    except OSError as error:
        raise SourceError(
            f"cannot be read: {error.strerror}", place=error.filename or folder
        ) from None
    folders_outside = sorted(path for path in linked_folders if leads_outside(path, folder))
    others = sorted(set(there).difference(named, outside))
    unread = [path for path in others if path.resolve() not in used]
    for reason, paths in (
        (NOT_REGULAR, sorted(set(named).difference(regular))),
        (OUTSIDE, sorted(outside)),
        (FOLDER_OUTSIDE, folders_outside),
        (PART_OF_PAGE, sorted(parts)),
        (LOCK, sorted(locks)),
    ):
        for path in paths:
            options.leave_out(path, reason)
    for path in unread:
        options.leave_out(path, reason_unread(path, kind_of))
    if not regular:
        kind = f"{join_words(suffixes, 'or')} " if any(suffixes) else ""
        meant, remedy = describe_others(unread)
        what = f", but {meant}" if meant else ""
        if links := [*sorted(outside), *folders_outside]:
            what += (
                f", but links that lead out of the folder, such as {links[0].relative_to(folder)}"
            )
        raise SourceError(f"contains no {kind}file{what}", place=folder, remedy=remedy)
    return sorted(regular, key=lambda path: path.parts)


def _walk(
    folder: Path, *, saved_pages: bool
) -> tuple[list[Path], list[Path], list[Path], list[Path]]:
    """Return the files below a folder, the folders that are links, the files that are parts of
    saved pages, and the lock files; hidden entries are ignored.
    """

    def fail(error: OSError) -> None:
        raise error

    there: list[Path] = []
    linked_folders: list[Path] = []
    parts: list[Path] = []
    locks: list[Path] = []
    folders_of_parts: set[Path] = set()
    for parent, folders, names in os.walk(folder, onerror=fail):
        folders[:] = [name for name in folders if not name.startswith(".")]
        paths = [Path(parent, name) for name in folders]
        linked_folders += [path for path in paths if path.is_symlink()]
        is_part = Path(parent) in folders_of_parts
        if is_part:
            folders_of_parts.update(paths)
        elif saved_pages:
            folders_of_parts.update(Path(parent, name) for name in folders_of_pages(folders, names))
        locks += [Path(parent, name) for name in names if is_lock(name)]
        shown = [name for name in names if not name.startswith(".") and not is_lock(name)]
        files = [Path(parent, name) for name in shown]
        (parts if is_part else there).extend(files)
    return there, linked_folders, parts, locks


@contextmanager
def open_bytes(
    path: Path, *, zipped: bool = False, sheet: str = "", zstd: bool = False
) -> Iterator[io.BufferedReader]:
    """Open a file for reading.

    Decompress it if it begins like gzip or, if ``zstd``, like Zstandard. For a workbook, yield a
    sheet as text: the one named, or the first with content. Other ZIP archives are refused, unless
    all archives are wanted as they are (``zipped``).
    """
    try:
        with open_regular(path) as raw:
            head = raw.peek(1)
            if zipped and head.startswith(ZIP):
                yield raw
                return
            if head.startswith(b"PK") and shape_of_start(head).content.endswith(
                ("(.xlsx)", "(.ods)")
            ):
                from ._office import read_sheet

                content = io.BytesIO(read_sheet(path, sheet))
                yield io.BufferedReader(cast(io.RawIOBase, content))
                return
            if head.startswith(MAGIC):
                unpacked = Unpacked(
                    raw, "collection", partial(BadFileError, path), "; fetch it again"
                )
                plain: io.BufferedReader = io.BufferedReader(unpacked)
                with plain:
                    yield plain
                return
            if zstd and is_zstd(head):
                frames: io.BufferedReader = io.BufferedReader(UnpackedFrames(raw, path))
                with frames:
                    yield frames
                return
            _refuse_packed(path, head)
            yield raw
    except IsADirectoryError:
        raise BadFileError(path, "is a folder; give a file") from None
    except FileNotFoundError:
        raise BadFileError(path, "there is no such file") from None
    except OSError as error:
        raise BadFileError(path, f"cannot be read: {error.strerror or error}") from None


def _refuse_packed(path: Path, head: bytes) -> None:
    for magic, what in _PACKED.items():
        if head.startswith(magic):
            office = shape_of_start(head) if magic == ZIP else None
            if office and office.remedy and "zip" not in office.content:
                raise BadFileError(path, f"{office.sentence}; {office.remedy}")
            remedy = "unpack it" if office else "unpack it, or pack it with gzip"
            raise BadFileError(path, f"is {what}, which factseek does not read; {remedy}")
    if head and path.suffix.lower() == ".gz":
        raise BadFileError(path, "has the ending .gz, but is not gzip data; rename it")


def read_bytes(path: Path, options: ReadOptions, *, zipped: bool = False) -> bytes:
    """Read a whole file as :func:`open_bytes` opens it.

    Raises BadFileError if it has more than ``options.max_file_bytes``.
    """
    with open_bytes(path, zipped=zipped, sheet=options.sheet) as stream:
        content = stream.read(options.max_file_bytes + 1)
    if len(content) > options.max_file_bytes:
        raise BadFileError(
            path, f"is longer than {options.max_file_bytes:,} bytes (build.max_file_bytes)"
        )
    return content
