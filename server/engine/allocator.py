"""The C library's allocator: what it keeps for a process, and what it gives back to the system."""

from __future__ import annotations

import ctypes
from contextlib import suppress

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8
_LARGE = 1 << 20
"""Bytes from which on a block of memory is mapped by itself."""


def give_memory_back() -> None:
    """Return to the system the memory that lies free between blocks in use."""
    with suppress(AttributeError, OSError):  # only glibc has this
        ctypes.CDLL(None).malloc_trim(0)


def share_memory_among_threads() -> None:
    """Set the C library to keep two arenas, not eight a core, of which each would grow to what one thread once needed.

    What is large goes back to the system at once: left to itself, the library raises the bound of what is large.
    """
    with suppress(AttributeError, OSError):  # only glibc has this
        library = ctypes.CDLL(None)
        library.mallopt(_M_ARENA_MAX, 2)
        library.mallopt(_M_MMAP_THRESHOLD, _LARGE)
        library.mallopt(_M_TRIM_THRESHOLD, _LARGE)
