"""Connections between whoever asks and a shard: a question goes over one as bytes, and its answer comes back.

Ray puts the processes onto machines, starts them again and says where they are. A call by way of Ray costs more than
many a question takes to be answered: it passes through half a dozen threads. So questions come over connections.
"""

from __future__ import annotations

import hmac
import secrets
import socket
import threading
from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import closing, suppress
from multiprocessing.connection import Connection
from time import monotonic, sleep
from typing import NamedTuple

KEY_BYTES = 32
GREETING_SECONDS = 10.0
"""Seconds that a new connection has to show the key."""
NOT_ACCEPTED_SECONDS = 0.1
"""Seconds to wait when a connection could not be accepted."""


class Address(NamedTuple):
    """Where a shard listens, and the key that it wants to see first; only Ray's own network learns it."""

    host: str
    port: int
    key: bytes


class Listener:
    """Answers questions, many at a time, in threads of an executor."""

    def __init__(self, host: str, answer: Callable[[bytes], bytes], answering: Executor) -> None:
        """Listen at ``host``, at a free port; ``answer`` takes a question and must not raise."""
        self._answer = answer
        self._answering = answering
        self._socket = socket.create_server((host, 0), family=_family(host), backlog=128)
        self.address = Address(host, self._socket.getsockname()[1], secrets.token_bytes(KEY_BYTES))
        threading.Thread(target=self._accept, name="accept", daemon=True).start()

    def close(self) -> None:
        """Accept nobody any more; those that are connected stay so until they leave."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _accept(self) -> None:
        while self._socket.fileno() >= 0:
            try:
                accepted, _ = self._socket.accept()
            except OSError:  # it was closed, or the process has too many files open
                sleep(NOT_ACCEPTED_SECONDS)
                continue
            threading.Thread(target=self._converse, args=(_over(accepted),), name="converse", daemon=True).start()

    def _converse(self, connection: Connection) -> None:
        """Answer what comes over a connection until its other end leaves."""
        with closing(connection), suppress(OSError, EOFError):
            if not connection.poll(GREETING_SECONDS) or not hmac.compare_digest(
                connection.recv_bytes(KEY_BYTES), self.address.key
            ):
                return
            while True:
                connection.send_bytes(self._answering.submit(self._answer, connection.recv_bytes()).result())


class Connections:
    """Asks a listener. Safe for threads; each question that is under way has a connection to itself."""

    def __init__(self, address: Address) -> None:
        """Connect to ``address`` when something is asked."""
        self._address = address
        self._idle: list[Connection] = []
        self._closed = False
        self._changing = threading.Lock()

    def ask(self, question: bytes, until: float) -> bytes:
        """Return the answer, which has to be there at ``until``, a moment of :func:`time.monotonic`.

        Raises TimeoutError if it is not, OSError or EOFError if the listener is gone.
        """
        connection = self._taken(until)
        try:
            connection.send_bytes(question)
            if not connection.poll(max(0.0, until - monotonic())):
                raise TimeoutError("it takes longer than it may")
            answer = connection.recv_bytes()
        except BaseException:
            connection.close()  # an answer that still came would be taken for that of the next question
            raise
        self._give_back(connection)
        return answer

    def close(self) -> None:
        """Close the connections that are idle now, and the others when they are."""
        with self._changing:
            idle, self._idle, self._closed = self._idle, [], True
        for connection in idle:
            connection.close()

    def _taken(self, until: float) -> Connection:
        with self._changing:
            if self._idle:
                return self._idle.pop()
        address = self._address
        connected = socket.create_connection((address.host, address.port), max(0.001, until - monotonic()))
        connection = _over(connected)
        connection.send_bytes(address.key)
        return connection

    def _give_back(self, connection: Connection) -> None:
        with self._changing:
            if not self._closed:
                self._idle.append(connection)
                return
        connection.close()


def _over(connected: socket.socket) -> Connection:
    """Return a connection of messages over a socket, which it takes over."""
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    connected.settimeout(None)
    return Connection(connected.detach())


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET
