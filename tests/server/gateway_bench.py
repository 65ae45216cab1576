"""uvicorn and the gateway in a thread of this process, with an application that the test gives."""

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import uvloop

from factseek.server.gateway import Gateway
from factseek.server.settings import ServerSettings
from factseek.server.worker import server_of

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]
PATIENCE = 20.0


class GatewayBench:
    def __init__(self, application: Application, settings: ServerSettings) -> None:
        self.refusals: list[int] = []
        self.gateway = Gateway(application, settings)
        self.gateway.refused = self.refusals.append
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.server = server_of(self.gateway, settings.max_connections, every=0.05)
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(self.server.serve([self._listener]))

    def stop(self) -> None:
        self.server.should_exit = True
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()

    def connect(self, *, receive_buffer: int = 0) -> socket.socket:
        """Return a connection, which reads slowly if its buffer is small."""
        client = socket.socket()
        if receive_buffer:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        client.settimeout(PATIENCE)
        client.connect(("127.0.0.1", self.port))
        return client

    def talk(self, *pieces: bytes, pause: float = 0.0) -> bytes:
        with self.connect() as client:
            for piece in pieces:
                client.sendall(piece)
                time.sleep(pause)
            return b"".join(iter(lambda: client.recv(65_536), b""))


@contextmanager
def serving(application: Application, **settings: Any) -> Iterator[GatewayBench]:
    bench = GatewayBench(
        application, ServerSettings(**{"max_body_bytes": 1_000, "stop_seconds": 5.0, **settings})
    )
    try:
        yield bench
    finally:
        bench.stop()
