"""The part of a run that is done, kept beside the output until the run is written: an interrupted run goes on."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

import msgspec

from eval.batch import Done
from retrieval.errors import QueryError
from retrieval.files import told


class Partial:
    """The queries that are done, one JSON line each, after a line that says what was asked.

    What an interrupted run of the same had done is in ``done`` once the file is open. One run at a time holds it.
    """

    def __init__(self, output: Path, fingerprint: str) -> None:
        self._output = output
        self._path = output.with_name(f".{output.name}.part")
        self._first = fingerprint.encode() + b"\n"
        self._file: BinaryIO
        self.done: list[Done] = []

    def __enter__(self) -> Partial:
        with told(self._path):
            self._file = os.fdopen(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644), "r+b")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._file.close()
            reason = "is being written by another run; wait for it, or name another output"
            raise QueryError(f"{self._output}: {reason}") from None
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
        self._file.close()

    def add(self, done: Iterable[Done]) -> None:
        """Add queries that are done, so that they outlive this process."""
        with told(self._path):
            for one in done:
                self._file.write(msgspec.json.encode(one) + b"\n")
                self.done.append(one)
            self._file.flush()

    def remove(self) -> None:
        """Remove the file: the run is written."""
        self._path.unlink(missing_ok=True)

    def _read(self) -> int:
        """Read what was done for the same question; return where the last whole line ends."""
        if self._file.readline() != self._first:
            return 0
        end = self._file.tell()
        decode = msgspec.json.Decoder(Done).decode
        for line in self._file:
            try:
                one = decode(line)
            except msgspec.DecodeError:
                break  # a line that was cut
            if not line.endswith(b"\n"):
                break
            self.done.append(one)
            end += len(line)
        return end
