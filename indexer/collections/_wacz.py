"""Find the WARC files in a WACZ file: a ZIP archive of web archives and their indexes."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import IO

from ...core.records.gzip_files import MAGIC, Unpacked
from ._child import BadFileError

SUFFIX = ".wacz"
_FOLDER, _ENDINGS = "archive/", (".warc", ".warc.gz")
_ADVICE = "; fetch it again"
_FAULTS = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError, RuntimeError)
"""What zipfile raises if an archive is damaged, encrypted, or packed in an unknown way."""

OpenStream = Callable[[], AbstractContextManager[io.BufferedReader]]


def archives_in(path: Path) -> Iterator[tuple[str, OpenStream]]:
    """Yield the place of each WARC file in a WACZ file, and a function that opens it, unpacked.

    Raises BadFileError if the file is damaged or contains no WARC file.
    """
    try:
        archive = zipfile.ZipFile(path)
    except _FAULTS as error:
        raise BadFileError(path, f"is not a WACZ file ({error}){_ADVICE}") from None
    with archive:
        names = sorted(name for name in archive.namelist() if name.startswith(_FOLDER))
        names = [name for name in names if name.lower().endswith(_ENDINGS)]
        if not names:
            raise BadFileError(path, f"contains no WARC file; it is not a WACZ file{_ADVICE}")
        for name in names:
            place = f"{path}/{name}"
            yield place, partial(_open_archive, archive, name, place)


@contextmanager
def _open_archive(archive: zipfile.ZipFile, name: str, place: str) -> Iterator[io.BufferedReader]:
    try:
        packed = archive.open(name)
    except _FAULTS as error:
        raise BadFileError(place, f"is damaged ({error}){_ADVICE}") from None
    content: io.BufferedReader = io.BufferedReader(_Member(packed, place))
    with packed, content:
        if not content.peek(1).startswith(MAGIC):
            yield content
            return
        unpacked = Unpacked(content, "collection", partial(BadFileError, place), _ADVICE)
        stream: io.BufferedReader = io.BufferedReader(unpacked)
        with stream:
            yield stream


class _Member(io.RawIOBase):
    """A file in a ZIP archive; reading raises BadFileError if it is damaged."""

    def __init__(self, packed: IO[bytes], place: str) -> None:
        self._packed, self._place = packed, place

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Read the next bytes into ``buffer``; return their number."""
        try:
            content = self._packed.read(len(buffer))
        except _FAULTS as error:
            raise BadFileError(self._place, f"is damaged ({error}){_ADVICE}") from None
        buffer[: len(content)] = content
        return len(content)

    def tell(self) -> int:
        """Return the number of bytes that were read."""
        return self._packed.tell()
