"""A worker of the engine in this process: one event loop in a thread, and an application that the test gives."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from typing import Any

import uvloop

from factseek.server.engine.answering import Answering
from factseek.server.engine.budget import Budget
from factseek.server.engine.connection import Connection
from factseek.server.engine.gateway import HttpRequest
from factseek.server.engine.hooks import Hooks
from factseek.server.engine.limits import Limits
from factseek.server.engine.refusals import Refusal
from factseek.server.upkeep.refused_requests import answer_to

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]
LIMITS = Limits(body=1_000, idle=0.6, reading=0.6)
PATIENCE = 20.0


class EngineBench:
    """A worker of one loop and one thread, with an application that the test gives."""

    def __init__(self, application: Application, limits: Limits = LIMITS) -> None:
        self.limits = limits
        self.refusals: list[int] = []
        self.connections: set[Connection] = set()
        self.budget = Budget(self.limits.memory)
        self.loop = uvloop.new_event_loop()
        hooks = Hooks(refused=self.refused, thread=nullcontext, close=list)
        self.answering = Answering(self.loop, application, hooks, self.limits, self.budget)
        self.answering.start()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        # Before there is a thread to end: a request may be answered while the server is still being made.
        self._server = self.loop.run_until_complete(
            self.loop.create_server(lambda: Connection(self), sock=self._listener)
        )
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.call_later(0.05, self._sweep)
        self.loop.run_forever()
        self.loop.close()

    def _sweep(self) -> None:
        for connection in tuple(self.connections):
            connection.swept(time.monotonic())
        self.loop.call_later(0.05, self._sweep)

    def _end(self) -> None:
        self._server.close()
        for connection in tuple(self.connections):
            connection.abort()
        self.loop.call_later(0.1, self.loop.stop)

    def opened(self, connection: Connection) -> None:
        self.connections.add(connection)

    def closed(self, connection: Connection) -> None:
        self.connections.discard(connection)

    def refused(self, refusal: Refusal) -> bytes:
        self.refusals.append(refusal.status)
        return answer_to(refusal)

    def admit(self, connection: Connection, request: HttpRequest) -> None:
        self.answering.admit(connection, request)

    def stop(self) -> None:
        self.loop.call_soon_threadsafe(self._end)
        self._thread.join()
        self.answering.stop(PATIENCE)
        self._listener.close()

    def __enter__(self) -> EngineBench:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def connect(self, *, receive_buffer: int = 0) -> socket.socket:
        """Return a connection, which reads slowly if its buffer is small."""
        client = socket.socket()
        if receive_buffer:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        client.settimeout(PATIENCE)
        client.connect(("127.0.0.1", self.port))
        return client
