"""Where the workers count together: a folder in memory, gone with the server, or with the next that is started."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import NamedTuple

VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
"""Where the library looks for the folder's name, when it is first imported: after the fork."""
_PREFIX = "factseek-metrics-"
_NAME = re.compile(_PREFIX + r"(\d{1,9})-\w+")


class Shared(NamedTuple):
    """A folder, and the descriptor whose lock says that somebody counts in it: workers inherit it."""

    folder: Path
    hold: int


def share() -> Shared:
    """Make the folder; to be called before the workers are forked. Remove those that servers left when they died."""
    memory = Path("/dev/shm")  # noqa: S108  counts, gone with the server
    root = memory if memory.is_dir() else Path(tempfile.gettempdir())
    for folder in root.glob(f"{_PREFIX}*"):
        if _abandoned(folder):
            shutil.rmtree(folder, ignore_errors=True)
    made = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=root))
    hold = os.open(made, os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(hold, fcntl.LOCK_EX)
    os.environ[VARIABLE] = str(made)
    return Shared(made, hold)


def unshare(shared: Shared) -> None:
    """Remove the folder."""
    os.environ.pop(VARIABLE, None)
    shutil.rmtree(shared.folder, ignore_errors=True)
    os.close(shared.hold)


def _abandoned(folder: Path) -> bool:
    """Say whether the server that made a folder is dead and no worker of its counts in it any more."""
    named = _NAME.fullmatch(folder.name)
    if not named or _alive(int(named[1])):
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
