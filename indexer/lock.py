"""One writer at a time: the lock of an index directory."""

from __future__ import annotations

import fcntl
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from retrieval.errors import IndexStateError
from retrieval.files import told
from retrieval.manifest import LOCK, now


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the writer's lock of an index; the system frees it when its holder dies.

    Raises IndexStateError, naming the holder, if another process has it, or if ``folder`` is a file.
    """
    if folder.exists() and not folder.is_dir():
        raise IndexStateError(f"{folder}: is a file, not an index directory")
    made = not folder.exists()
    with told(folder):
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        _take(handle, folder)
        yield
    finally:
        if made and [path.name for path in folder.iterdir()] == [LOCK]:
            # Nothing came of it: a mistake leaves no folder behind.
            (folder / LOCK).unlink()
            folder.rmdir()
        os.close(handle)


def _take(handle: int, folder: Path) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(handle, 4096, 0).decode("utf-8", "replace")
        raise IndexStateError(f"{folder}: is being written by {_said(holder)}; try again when it is done") from None
    os.ftruncate(handle, 0)
    me = {"host": socket.gethostname(), "process": os.getpid(), "since": now()}
    os.pwrite(handle, json.dumps(me).encode(), 0)


def _said(holder: str) -> str:
    try:
        who = json.loads(holder)
        return f"process {who['process']} on {who['host']} since {who['since']}"
    except (ValueError, KeyError, TypeError):
        return "another process"
