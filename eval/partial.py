"""The part of a run that is done, kept beside the output until the run is written: an interrupted run goes on."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

import msgspec

from retrieval.errors import QueryError
from retrieval.files import replacing, told


class Answered(msgspec.Struct, frozen=True):
    """A query that is done: how many hits it has; ``empty`` if it held no words to search for."""

    qid: str
    hits: int
    empty: bool = False


class _Head(msgspec.Struct, frozen=True):
    """What stands before the lines of a query; ``size`` is their length in bytes."""

    answered: Answered
    size: int


class Partial:
    """The queries that are done, each with its lines as they will stand in the output, after what was asked.

    What an interrupted run of the same had done is in ``done`` once the file is open. One run at a time holds it.
    """

    def __init__(self, output: Path, fingerprint: str) -> None:
        self._output = output
        self._path = output.with_name(f".{output.name}.part")
        self._first = fingerprint.encode() + b"\n"
        self._file: BinaryIO
        self.done: list[Answered] = []
        self._broken = False

    def __enter__(self) -> Partial:
        with told(self._path):
            self._file = self._held()
        end = self._read()
        with told(self._path):
            self._file.seek(end)
            self._file.truncate()
            if not end:
                self._file.write(self._first)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self.done:  # nothing to go on from
            self.remove()
        self._file.close()

    def add(self, answers: Sequence[tuple[Answered, str]]) -> int:
        """Add queries that are done, with their lines, so that they outlive this process; return how many.

        Nothing is added after what could not be: there is never a gap.
        """
        if self._broken:
            return 0
        self._broken = True
        with told(self._path):
            for answered, text in answers:
                content = text.encode("utf-8")
                self._file.write(msgspec.json.encode(_Head(answered, len(content))) + b"\n")
                self._file.write(content)
                self.done.append(answered)
            self._file.flush()
        self._broken = False
        return len(answers)

    def write(self, header: str) -> None:
        """Write the output, in one piece: the header, then the lines of every query."""
        with replacing(self._output) as output:
            output.write(header.encode("utf-8"))
            self._file.seek(len(self._first))
            for _ in self.done:
                head = msgspec.json.decode(self._file.readline(), type=_Head)
                output.write(self._file.read(head.size))

    def remove(self) -> None:
        """Remove the file: the run is written."""
        self._path.unlink(missing_ok=True)

    def _held(self) -> BinaryIO:
        """Open and lock the file that stands there, not one that another run removes at this moment."""
        while True:
            file = os.fdopen(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644), "r+b")
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.close()
                reason = "is being written by another run; wait for it, or name another output"
                raise QueryError(f"{self._output}: {reason}") from None
            with suppress(FileNotFoundError):
                if os.path.samestat(self._path.stat(), os.fstat(file.fileno())):
                    return file
            file.close()

    def _read(self) -> int:
        """Read what was done for the same question; return where the last whole answer ends."""
        size = os.fstat(self._file.fileno()).st_size
        if self._file.readline() != self._first:
            return 0
        end = self._file.tell()
        decode = msgspec.json.Decoder(_Head).decode
        while line := self._file.readline():
            try:
                head = decode(line)
            except msgspec.DecodeError:
                break  # a line that was cut
            after = end + len(line) + head.size
            if not line.endswith(b"\n") or after > size:
                break
            end = self._file.seek(after)
            self.done.append(head.answered)
        return end
