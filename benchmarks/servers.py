"""Running servers, and a load generator with a low cost of its own: prepared requests, one thread, no parsing."""

from __future__ import annotations

import itertools
import math
import os
import re
import selectors
import signal
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)\r\n", re.I)


class LoadResult(NamedTuple):
    """The result of a run of requests: requests per second, and the sorted latencies in milliseconds."""

    rate: float
    latencies: list[float]

    @property
    def p50(self) -> float:
        """The median latency in milliseconds."""
        return statistics.median(self.latencies)

    @property
    def p99(self) -> float:
        """The latency in milliseconds that 99 of 100 requests stayed below."""
        return self.latencies[min(len(self.latencies) - 1, len(self.latencies) * 99 // 100)]


class _Caller:
    """One connection with one request at a time."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self, request: bytes) -> None:
        """Send a request."""
        self._answer, self._length, self._began = b"", 0, perf_counter()
        self.socket.sendall(request)

    def heard(self) -> float | None:
        """Read the bytes that have arrived; if the answer is complete, return the milliseconds since the request."""
        piece = self.socket.recv(1 << 18)
        if not piece:
            raise ConnectionError("the server closed the connection")
        self._answer += piece
        if not self._length and (end := self._answer.find(b"\r\n\r\n")) >= 0:
            length = _LENGTH.search(self._answer, 0, end + 2)
            if not length:
                raise ConnectionError("the answer says no Content-Length")
            self._length = end + 4 + int(length[1])
        if not self._length or len(self._answer) < self._length:
            return None
        if not self._answer.startswith(b"HTTP/1.1 200"):
            raise ConnectionError(f"the server answered {self._answer[:300]!r}")
        return (perf_counter() - self._began) * 1000


def post(address: str, body: bytes) -> bytes:
    """Return the bytes of a request with a JSON body."""
    head = f"POST {address} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def load(port: int, requests: Sequence[bytes], connections: int, seconds: float, most: float = math.inf) -> LoadResult:
    """Send the requests, one after the other, repeatedly, over ``connections`` connections.

    It ends after ``seconds``, or after ``most`` answers. Raises ConnectionError if an answer is not 200.
    """
    endless, taken, waiting = itertools.cycle(requests), list[float](), selectors.DefaultSelector()
    with ExitStack() as stack:
        callers = [_Caller(port) for _ in range(connections)]
        for caller in callers:
            stack.enter_context(caller.socket)
            waiting.register(caller.socket, selectors.EVENT_READ, caller)
        began = perf_counter()
        for caller in callers:
            caller.ask(next(endless))
        while (now := perf_counter()) < began + seconds and len(taken) < most:
            for key, _ in waiting.select(60):
                latency = key.data.heard()
                if latency is not None:
                    taken.append(latency)
                    key.data.ask(next(endless))
        waiting.close()
    return LoadResult(len(taken) / (now - began), sorted(taken))


class Server(NamedTuple):
    """A running server."""

    process: subprocess.Popen[bytes]
    port: int
    ready_after: float


@contextmanager
def serve(index: Path, work: Path, settings: str = "workers: 2", **more: Path) -> Iterator[Server]:
    """Serve an index as ``bench``, with two workers or other ``settings``, and ``more`` indexes by name."""
    port, config = free_port(), work / "serving.yaml"
    config.write_text(f"server: {{{settings}}}\n")
    command = [sys.executable, "-m", "factseek.server", "serve", "--config", str(config)]
    for name, folder in {"bench": index, **more}.items():
        command += ["--index", f"{name}={folder}"]
    with running([*command, "--port", str(port)], port, "/readyz") as server:
        yield server


@contextmanager
def running(command: Sequence[str], port: int, ready: str) -> Iterator[Server]:
    """Run a server until it answers at the address ``ready``, yield it, and end it."""
    began = perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=dict(os.environ))
    try:
        while not _answers(port, ready):
            if process.poll() is not None or perf_counter() - began > 120:
                raise SystemExit(f"{command[:4]} does not start")
            time.sleep(0.02)
        yield Server(process, port, perf_counter() - began)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()  # Its workers end by themselves without it.
            raise


def _answers(port: int, address: str) -> bool:
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("GET", address)
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


def free_port() -> int:
    """Return a free port of the loopback address."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
        return port


def workers(server: Server) -> list[int]:
    """Return the worker processes of a server."""
    return [
        int(pid) for pid in Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text().split()
    ]


def resident(pid: int) -> float:
    """Return the resident megabytes of a process."""
    with Path(f"/proc/{pid}/status").open(encoding="ascii") as lines:
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS:"))
