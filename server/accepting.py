"""Accept connections one at a time, so that the workers of a server have about equally many.

The event loop's own server accepts all connections that wait. When eight clients connect at once,
one of two workers then often takes six of them.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import mmap
import socket
from collections.abc import Callable
from struct import Struct

_COUNT = Struct("=i")
_NO_WORKER = -1
GRACE = 0.002
"""The seconds in which another worker with fewer connections may take a waiting one."""
_PAUSE = 0.1
"""The seconds until the next attempt if no file descriptor is free."""
_log = logging.getLogger("factseek.server")


class ConnectionCounts:
    """How many connections each worker has, in memory that the workers share.

    The master makes it before it forks, and gives each worker a place of its own. A number is
    written at once, so no lock is needed.
    """

    def __init__(self, workers: int) -> None:
        """Make places for the workers, and for the new ones that replace all of them at once."""
        self.places = 2 * workers + 1
        self._shared = mmap.mmap(-1, self.places * _COUNT.size)
        for place in range(self.places):
            self.end(place)

    def set(self, place: int, connections: int) -> None:
        """Note the number of connections of a worker."""
        _COUNT.pack_into(self._shared, place * _COUNT.size, connections)

    def end(self, place: int) -> None:
        """Note that no worker at this place accepts connections."""
        self.set(place, _NO_WORKER)

    def has_fewer_elsewhere(self, place: int, connections: int) -> bool:
        """Return whether another worker has fewer connections than the one at ``place``."""
        others = (
            _COUNT.unpack_from(self._shared, other * _COUNT.size)[0]
            for other in range(self.places)
            if other != place
        )
        return any(0 <= count < connections for count in others)


class Turns:
    """The place of one worker among the connection counts."""

    def __init__(self, counts: ConnectionCounts, place: int) -> None:
        self._counts, self._place = counts, place
        self._has_ended = False

    def begin(self) -> None:
        """Note that the worker accepts connections, and has none."""
        self._counts.set(self._place, 0)

    def note(self, connections: int) -> None:
        """Note the number of connections of this worker, unless it accepts no more."""
        if not self._has_ended:
            self._counts.set(self._place, connections)

    def end(self) -> None:
        """Note that the worker accepts no more: others must not wait for it while it finishes its
        requests.
        """
        self._has_ended = True
        self._counts.end(self._place)

    def is_of_others(self, connections: int) -> bool:
        """Return whether the next connection is rather for another worker."""
        return self._counts.has_fewer_elsewhere(self._place, connections)


class Acceptor:
    """Accepts the connections of one listening socket.

    It is closed by ``close`` and ``wait_closed``, as a server of asyncio is.
    """

    def __init__(
        self,
        listener: socket.socket,
        make_protocol: Callable[[], asyncio.Protocol],
        count: Callable[[], int],
        turns: Turns,
    ) -> None:
        """Begin to accept; ``count`` returns the number of open connections."""
        self._loop = asyncio.get_running_loop()
        self._listener, self._make_protocol = listener, make_protocol
        self._count, self._turns = count, turns
        self._connecting: set[asyncio.Task[object]] = set()
        self._waiting: asyncio.TimerHandle | None = None
        listener.setblocking(False)
        self._turns.begin()
        self._loop.add_reader(listener.fileno(), self._is_ready)

    def close(self) -> None:
        """Accept no more."""
        if self._waiting is None:
            self._loop.remove_reader(self._listener.fileno())
        else:
            self._waiting.cancel()
        self._turns.end()

    async def wait_closed(self) -> None:
        """Wait until the last accepted connection is made."""
        await asyncio.gather(*self._connecting, return_exceptions=True)

    @property
    def _connections(self) -> int:
        return self._count() + len(self._connecting)

    def _is_ready(self) -> None:
        """Accept one connection, or wait a moment for a worker that has fewer."""
        if self._turns.is_of_others(self._connections):
            self._wait(GRACE)
        else:
            self._accept()

    def _accept(self) -> None:
        try:
            accepted, _ = self._listener.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return  # another worker took it, or the client has gone
        except OSError as error:
            if error.errno not in (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM):
                raise
            _log.error("cannot accept a connection: %s", error.strerror)
            self._wait(_PAUSE)
            return
        connecting = self._loop.create_task(
            self._loop.connect_accepted_socket(self._make_protocol, accepted)
        )
        self._connecting.add(connecting)
        connecting.add_done_callback(self._connected)
        self._turns.note(self._connections)

    def _connected(self, connecting: asyncio.Task[object]) -> None:
        self._connecting.discard(connecting)
        if not connecting.cancelled() and (error := connecting.exception()):
            _log.warning("a connection failed at once: %s", error)
        self._turns.note(self._connections)

    def _wait(self, seconds: float) -> None:
        self._loop.remove_reader(self._listener.fileno())
        self._waiting = self._loop.call_later(seconds, self._go_on)

    def _go_on(self) -> None:
        self._waiting = None
        self._loop.add_reader(self._listener.fileno(), self._is_ready)
        self._accept()
