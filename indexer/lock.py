"""The lock of an index directory: only one process writes at a time."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from ..core.errors import IndexBusyError, IndexStateError
from ..core.files import os_errors_reported
from ..core.terminal import say
from ..retrieval.store.manifest import LOCK, PART, now

POLL_SECONDS = 0.05
_parts: set[Path] = set()
"""The parts that this process may write, because it writes the whole index or works for the process
that does.
"""


@contextmanager
def locked(folder: Path, wait: float = 0.0) -> Iterator[None]:
    """Hold the writer's lock of an index. The operating system releases it if the holder dies.

    Wait up to ``wait`` seconds for another holder to finish. Raises IndexBusyError, with the
    holder's name, if that holder does not finish in time. Raises IndexStateError if ``folder`` is a
    file, or if it is a part of an index that this process does not write.
    """
    if folder.exists() and not folder.is_dir():
        raise IndexStateError("is a file, not an index directory", place=folder)
    if (folder / PART).is_file() and folder.resolve() not in _parts:
        whole = (folder / PART).read_text("utf-8", "replace").partition("\n")[0][:200]
        raise IndexStateError(
            f"is a part of the index {whole}", place=folder, remedy="name that index instead"
        )
    made, deadline, reported = not folder.exists(), time.monotonic() + wait, False
    while isinstance(taken := _try_to_take(folder), str):  # the name of the holder
        if time.monotonic() >= deadline:
            raise IndexBusyError(
                f"is being written by {taken}",
                place=folder,
                remedy="try again later, or use --wait",
            )
        if not reported:
            say(f"{folder}: is being written by {taken}; waiting for it")
            reported = True
        time.sleep(POLL_SECONDS)
    try:
        yield
    finally:
        if made and folder.is_dir() and [path.name for path in folder.iterdir()] == [LOCK]:
            # Nothing was written, so remove the new folder: a wrong path must not leave a folder
            # behind.
            (folder / LOCK).unlink()
            folder.rmdir()
        os.close(taken)


@contextmanager
def writing_parts(whole: Path, parts: Sequence[Path], note: str | None = None) -> Iterator[None]:
    """Let this process write the parts of an index, which are indexes themselves.

    A file in each part prevents others from writing it; write this file if its second line,
    ``note``, is given.
    """
    own = {part.resolve() for part in parts}
    for part in own if note is not None else ():
        part.mkdir(parents=True, exist_ok=True)
        (part / PART).write_text(f"{whole}\n{note}\n", "utf-8")
    _parts.update(own)
    try:
        yield
    finally:
        _parts.difference_update(own)


def _try_to_take(folder: Path) -> int | str:
    """Return the descriptor of the lock or, if another process holds the lock, the name of that
    process.
    """
    with os_errors_reported(folder):
        while True:
            folder.mkdir(parents=True, exist_ok=True)
            handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # The last holder may have removed the folder that it created.
                with suppress(FileNotFoundError):
                    if os.path.samestat(os.fstat(handle), (folder / LOCK).stat()):
                        me = {"host": socket.gethostname(), "process": os.getpid(), "since": now()}
                        os.ftruncate(handle, 0)
                        os.pwrite(handle, json.dumps(me).encode(), 0)
                        return handle
            except BaseException as error:
                content = os.pread(handle, 4096, 0)
                os.close(handle)
                if isinstance(error, BlockingIOError):
                    return _holder_name(content)
                raise
            os.close(handle)


def _holder_name(content: bytes) -> str:
    try:
        who = json.loads(content)
        return f"process {who['process']} on {who['host']} since {who['since']}"
    except (ValueError, KeyError, TypeError):
        return "another process"
