"""The user's cache: where files are kept that can be made again, and whether what lies there is the user's own."""

from __future__ import annotations

import os
from pathlib import Path


def user_cache(name: str) -> Path:
    """Return the folder ``name`` of factseek in the user's cache, whether or not it exists yet."""
    home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(home).expanduser() / "factseek" / name


def is_own(status: os.stat_result) -> bool:
    """Return whether a file or folder is this user's and nobody else can write it: what it holds may be run."""
    return status.st_uid == os.getuid() and not status.st_mode & 0o022
