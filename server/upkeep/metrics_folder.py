"""The folder in memory where the workers of a server count together; it goes with the server, or with the next one."""

from __future__ import annotations

import fcntl
import logging
import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import NamedTuple

VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
"""The environment variable that names the folder to the library when it is first imported: after the fork."""
_PREFIX = "factseek-metrics-"
_NAME = re.compile(_PREFIX + r"(\d{1,9})-\w+")
_log = logging.getLogger("factseek.server")


class MetricsFolder(NamedTuple):
    """The folder, and the descriptor whose lock shows that a server uses it: workers inherit it."""

    folder: Path
    lock: int


def share() -> MetricsFolder | None:
    """Create the folder before the workers are forked, and remove those that servers left behind when they died.

    Where memory takes no folder, it is one of temporary files. Without any it is None: each worker counts alone.
    """
    os.environ.pop(VARIABLE, None)
    for memory in (True, False):
        try:
            return _shared(Path("/dev/shm" if memory else tempfile.gettempdir()))  # noqa: S108  counts, gone with the server
        except OSError as error:
            problem = error
    _log.warning("there is no folder for the metrics of all workers, each counts alone: %s", problem)
    return None


def _shared(root: Path) -> MetricsFolder:
    """Create the folder in ``root``; raise OSError if that takes none."""
    for folder in root.glob(f"{_PREFIX}*"):
        if _abandoned(folder):
            shutil.rmtree(folder, ignore_errors=True)
    created = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=root))
    lock = os.open(created, os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    os.environ[VARIABLE] = str(created)
    return MetricsFolder(created, lock)


def takes_files(folder: str) -> bool:
    """Return whether a file can be made in a folder."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def unshare(metrics: MetricsFolder | None) -> None:
    """Remove the folder, if there is one."""
    if metrics is None:
        return
    os.environ.pop(VARIABLE, None)
    shutil.rmtree(metrics.folder, ignore_errors=True)
    os.close(metrics.lock)


def _abandoned(folder: Path) -> bool:
    """Return whether the server that created a folder is dead and none of its workers uses it any more."""
    name = _NAME.fullmatch(folder.name)
    if not name or _alive(int(name[1])):
        return False
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        # A server in a container of its own has other process numbers; the lock is seen all the same.
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.fstat(handle).st_uid == os.getuid()
    except OSError:
        return False
    finally:
        os.close(handle)


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
