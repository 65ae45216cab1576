"""The files in which workers count, allocated whole.

A file of the library is mapped and sparse: where the file system is full, a page that cannot be had ends the process
by SIGBUS. A file that is allocated before it is mapped has all of its pages, or there is an error at once.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

_FIRST_SIZE = 1 << 16
_OF_A_VALUE = 32
"""Bytes that a value takes beside its key, at most."""


def allocate_files() -> None:
    """Let the library count in files that are allocated whole; a counter that there is no room for is an OSError."""
    from prometheus_client import values
    from prometheus_client.mmap_dict import MmapedDict

    class AllocatedDict(MmapedDict):
        """The library's file of counters, which grows by what can be had."""

        def __init__(self, filename: str, read_mode: bool = False) -> None:
            if not read_mode:
                _allocate(Path(filename))
            super().__init__(filename, read_mode)  # type: ignore[no-untyped-call]

        def _init_value(self, key: str) -> None:
            needed, size = self._used + len(key.encode()) + _OF_A_VALUE, self._capacity
            while needed > size:
                size *= 2
            if size > self._capacity:
                os.posix_fallocate(self._f.fileno(), 0, size)
            super()._init_value(key)  # type: ignore[no-untyped-call]

    patched: Any = values
    patched.MmapedDict = AllocatedDict  # the name under which the library makes its files


def _allocate(path: Path) -> None:
    """Allocate a new file; leave none behind if there is no room for it: it could not be read."""
    with path.open("ab") as file:
        try:
            if not path.stat().st_size:
                os.posix_fallocate(file.fileno(), 0, _FIRST_SIZE)
        except OSError:
            path.unlink()
            raise
