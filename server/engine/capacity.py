"""What a server may hold at once, and what its workers tell each other through memory that they share."""

from __future__ import annotations

import mmap
import os
import struct
from contextlib import suppress

from ...retrieval.config import ServerSettings
from .connection import Limits

_SLOTS = 256
_SLOT = struct.Struct("ii")  # process, connections


class Room:
    """The limits of each worker, and how many connections the others have. Made before the workers are forked."""

    def __init__(self, settings: ServerSettings) -> None:
        self.limits = Limits(body=settings.max_body_bytes)
        self.waiting = settings.max_waiting
        self.connections = settings.max_connections
        self.writes = settings.writes
        self._shared = mmap.mmap(-1, _SLOTS * _SLOT.size)
        self._mine = 0

    def enter(self, number: int) -> None:
        """Take the place of the worker of this number, which the current process is."""
        self._mine = number % _SLOTS
        self.tell(0)

    def tell(self, connections: int) -> None:
        """Tell the others how many connections this worker has."""
        _SLOT.pack_into(self._shared, self._mine * _SLOT.size, os.getpid(), connections)

    def others_have_fewer(self, connections: int) -> bool:
        """Say whether another worker has clearly fewer connections than this one."""
        for slot in range(_SLOTS):
            pid, held = _SLOT.unpack_from(self._shared, slot * _SLOT.size)
            if pid and slot != self._mine and held + 1 < connections:
                if _alive(pid):
                    return True
                _SLOT.pack_into(self._shared, slot * _SLOT.size, 0, 0)
        return False


def _alive(pid: int) -> bool:
    with suppress(OSError):
        os.kill(pid, 0)
        return True
    return False
