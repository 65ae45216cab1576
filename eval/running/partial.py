"""The finished part of a run, kept beside the output until the run is complete, so that it can be resumed."""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import BinaryIO
from zlib import crc32

import msgspec

from ...retrieval.errors import QueryError
from ...retrieval.files import os_errors_reported, sync_folder
from ...retrieval.gzip_files import is_packed, pack

_SYNCED = 8 << 20
"""Bytes after which what is written goes to the disk, so that the end need not wait for all of it."""


class WrittenQuery(msgspec.Struct, frozen=True):
    """A query that is done: how many documents it has; ``empty`` if it held no words to search for."""

    qid: str
    hits: int
    empty: bool = False


class _Entry(msgspec.Struct, frozen=True):
    """A query's entry in the journal: the length of its lines in bytes, and their checksum."""

    answered: WrittenQuery
    size: int
    crc: int


class Partial:
    """The queries that are done, and their lines in the file that becomes the output.

    A journal beside it begins with the fingerprint of the request and then records the lines of each query. Once both
    files are open, ``done`` holds the queries that an interrupted run of the same request had finished. One run at a
    time holds the files.
    """

    def __init__(self, output: Path, fingerprint: str, header: str = "") -> None:
        self._output = output
        self._journal_path = output.with_name(f".{output.name}.part")
        self._lines_path = output.with_name(f".{output.name}.lines")
        self._first = fingerprint.encode() + b"\n"
        self._header = header.encode("utf-8")
        self._journal: BinaryIO
        self._lines: BinaryIO
        self._hash = hashlib.sha256()
        self._unsynced = 0
        self._broken = False
        self.done: list[WrittenQuery] = []

    def __enter__(self) -> Partial:
        with os_errors_reported(self._journal_path):
            self._journal = self._held()
        with os_errors_reported(self._lines_path):
            self._lines = os.fdopen(os.open(self._lines_path, os.O_RDWR | os.O_CREAT, 0o666), "r+b", buffering=0)
        end, size = self._read()
        with os_errors_reported(self._journal_path):
            self._journal.truncate(end)
            self._journal.seek(end)
            if not end:
                self._journal.write(self._first)
                self._journal.flush()
        with os_errors_reported(self._lines_path):
            self._go_on(size)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self.done:  # nothing to go on from
            self.remove()
        self._lines.close()
        with suppress(OSError):  # what it could not take was told
            self._journal.close()

    def add(self, answers: Sequence[tuple[WrittenQuery, str]]) -> int:
        """Add finished queries with their lines, so that they outlive this process; return how many were added.

        After a failed write nothing more is added, so there is never a gap.
        """
        if self._broken:
            return 0
        self._broken = True
        contents = [text.encode("utf-8") for _, text in answers]
        with os_errors_reported(self._lines_path):
            self._write(b"".join(contents))
        pairs = zip(answers, contents, strict=True)
        entries = [_Entry(answered, len(content), crc32(content)) for (answered, _), content in pairs]
        with os_errors_reported(self._journal_path):
            self._journal.write(b"".join(msgspec.json.encode(entry) + b"\n" for entry in entries))
            self._journal.flush()
        self.done += [entry.answered for entry in entries]
        self._broken = False
        return len(answers)

    @property
    def sha256(self) -> str:
        """The checksum of the lines, in hexadecimal."""
        return self._hash.hexdigest()

    def finish(self) -> None:
        """Rename the file of lines to the output, durably; a name that ends in .gz gets them packed."""
        if is_packed(self._output):
            pack(self._lines_path, self._output)
            return
        with os_errors_reported(self._output):
            os.fsync(self._lines.fileno())
            self._lines_path.replace(self._output)
            sync_folder(self._output.parent)

    def remove(self) -> None:
        """Remove the journal and the lines: the run is written, or there is nothing to write."""
        self._lines_path.unlink(missing_ok=True)
        self._journal_path.unlink(missing_ok=True)

    def _held(self) -> BinaryIO:
        """Return the journal, opened and locked; a file that another run has just removed is not used."""
        while True:
            file = os.fdopen(os.open(self._journal_path, os.O_RDWR | os.O_CREAT, 0o644), "r+b")
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.close()
                reason = "is being written by another run; wait for it, or name another output"
                raise QueryError(f"{self._output}: {reason}") from None
            with suppress(FileNotFoundError):
                if os.path.samestat(self._journal_path.stat(), os.fstat(file.fileno())):
                    return file
            file.close()

    def _read(self) -> tuple[int, int]:
        """Read what was finished for the same request; return its size in bytes, in the journal and in the lines."""
        size = len(self._header)
        if self._journal.readline() != self._first or self._lines.read(size) != self._header:
            return 0, 0
        self._hash.update(self._header)
        end = self._journal.tell()
        decode = msgspec.json.Decoder(_Entry).decode
        while (line := self._journal.readline()).endswith(b"\n"):
            try:
                entry = decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError):
                break
            content = self._lines.read(entry.size)
            if crc32(content) != entry.crc:
                break  # the power went before the lines were on the disk
            self._hash.update(content)
            end += len(line)
            size += entry.size
            self.done.append(entry.answered)
        return end, size

    def _go_on(self, size: int) -> None:
        """Keep the first ``size`` bytes of the lines, and continue after them."""
        self._lines.truncate(size)
        self._lines.seek(size)
        if not size:
            self._write(self._header)

    def _write(self, content: bytes) -> None:
        self._hash.update(content)
        rest = memoryview(content)
        while rest:
            rest = rest[self._lines.write(rest) :]
        self._unsynced += len(content)
        if self._unsynced >= _SYNCED:
            os.fdatasync(self._lines.fileno())
            self._unsynced = 0
