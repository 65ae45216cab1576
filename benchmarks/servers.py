"""Running servers, and a load generator that costs little time: prepared requests, one thread, no
parsing.
"""

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
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from time import perf_counter
from typing import NamedTuple
from urllib.request import urlopen

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)\r\n", re.I)


class LoadResult(NamedTuple):
    """The result of a run of requests: requests per second, and the sorted latencies in
    milliseconds.
    """

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


def post(address: str, body: bytes) -> bytes:
    """Return the bytes of a request with a JSON body."""
    head = f"POST {address} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def load(
    port: int, requests: Sequence[bytes], connections: int, seconds: float, most: float = math.inf
) -> LoadResult:
    """Send the requests in turn, again and again, over ``connections`` connections.

    The load ends after ``seconds``, or after ``most`` answers. Raises ConnectionError if an answer
    is not 200.
    """
    endless, taken, waiting = itertools.cycle(requests), list[float](), selectors.DefaultSelector()
    with ExitStack() as stack:
        for _ in range(connections):
            connection = stack.enter_context(
                socket.create_connection(("127.0.0.1", port), timeout=60)
            )
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            waiting.register(
                connection, selectors.EVENT_READ, _exchange(connection, endless, taken)
            )
        began = perf_counter()
        for key in list(waiting.get_map().values()):
            next(key.data)
        while (now := perf_counter()) < began + seconds and len(taken) < most:
            for key, _ in waiting.select(60):
                next(key.data)
        waiting.close()
    return LoadResult(len(taken) / (now - began), sorted(taken))


def _exchange(
    connection: socket.socket, requests: Iterator[bytes], taken: list[float]
) -> Iterator[None]:
    """Send requests one after the other; resume this generator if bytes arrived.

    ``taken`` gets milliseconds.
    """
    for request in requests:
        answer, whole = b"", 0
        began = perf_counter()
        connection.sendall(request)
        while not whole or len(answer) < whole:
            yield
            piece = connection.recv(1 << 18)
            if not piece:
                raise ConnectionError("the server closed the connection")
            answer += piece
            if not whole and (end := answer.find(b"\r\n\r\n")) >= 0:
                length = _LENGTH.search(answer, 0, end + 2)
                if not length or not answer.startswith(b"HTTP/1.1 200"):
                    raise ConnectionError(f"the server answered {answer[:300]!r}")
                whole = end + 4 + int(length[1])
        taken.append((perf_counter() - began) * 1000)


class Server(NamedTuple):
    """A running server."""

    process: subprocess.Popen[bytes]
    port: int
    ready_after: float


@contextmanager
def serve(index: Path, work: Path, settings: str = "workers: 2", **more: Path) -> Iterator[Server]:
    """Serve an index as ``bench``, with two workers or other ``settings``, and ``more`` indexes by
    name.
    """
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
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=dict(os.environ)
    )
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
            process.kill()  # The workers end by themselves when the server has ended.
            raise


def _answers(port: int, address: str) -> bool:
    with suppress(OSError), urlopen(f"http://127.0.0.1:{port}{address}", timeout=60) as answer:
        return bool(answer.status == 200)
    return False


def free_port() -> int:
    """Return a free port of the loopback address."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
        return port


def workers(server: Server) -> list[int]:
    """Return the process ids of a server's workers."""
    return [
        int(pid)
        for pid in Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children")
        .read_text()
        .split()
    ]


def resident(pid: int) -> float:
    """Return the resident megabytes of a process."""
    with Path(f"/proc/{pid}/status").open(encoding="ascii") as lines:
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS:"))
