"""Memory-mapped files of segments.

A published file never changes, and a server holds several states of an index that share most segments. So a process
maps each file once, and keeps it mapped as long as anybody uses it.
"""

from __future__ import annotations

import errno
import stat
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

_Key = tuple[int, int, int, int, str, tuple[int, ...] | None]
_MAPPED: WeakValueDictionary[_Key, NDArray[Any]] = WeakValueDictionary()


def map_file(path: Path, dtype: str, shape: tuple[int, ...] | None = None) -> NDArray[Any]:
    """Map a non-empty file to an array, which has one dimension if no shape is given. Raises OSError or ValueError."""
    there = path.stat()
    if not stat.S_ISREG(there.st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))
    key = (there.st_dev, there.st_ino, there.st_size, there.st_mtime_ns, dtype, shape)
    array = _MAPPED.get(key)
    if array is None:
        array = _MAPPED[key] = np.memmap(path, dtype=dtype, mode="r", shape=shape)
    return array
