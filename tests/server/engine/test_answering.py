"""The cost of clients that read slowly or not at all, and the answers to others meanwhile."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from typing import Any

from factseek.server.engine.limits import Limits
from tests.server.engine.engine_bench import PATIENCE, EngineBench

PATIENT = Limits(body=1_000, threads=2, waiting=30)
"""No client is cut off while a test lasts."""
PIECE = b"x" * 50_000
MANY = 200


class Pieces:
    """An answer of many pieces that knows how many were made and whether it was closed."""

    def __init__(self) -> None:
        self.made = 0
        self.closed = threading.Event()

    def __iter__(self) -> Iterator[bytes]:
        for _ in range(MANY):
            self.made += 1
            yield PIECE

    def close(self) -> None:
        self.closed.set()


class Streams:
    """An application that answers ``/stream`` in pieces, ``/large`` in one and ``/wait`` when it is let go."""

    def __init__(self) -> None:
        self.streams: list[Pieces] = []
        self.begun = self.waiting = 0
        self.go = threading.Event()

    def __call__(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        if environ["PATH_INFO"] == "/stream":
            start("200 OK", [])
            self.streams.append(Pieces())
            return self.streams[-1]
        if environ["PATH_INFO"] == "/later":
            start("200 OK", [])
            return self._later()
        if environ["PATH_INFO"] == "/wait":
            self.waiting += 1
            self.go.wait(PATIENCE)
        self.begun += 1
        body = PIECE * MANY if environ["PATH_INFO"] == "/large" else b"small"
        start("200 OK", [("Content-Length", str(len(body)))])
        return [body]

    def _later(self) -> Iterator[bytes]:
        """Yield nothing until it is let go, then one piece."""
        while not self.go.is_set():
            self.waiting += 1
            yield b""
        yield b"at last"


def get(path: bytes) -> bytes:
    return b"GET %b HTTP/1.1\r\nHost: x\r\n\r\n" % path


def ask(bench: EngineBench, path: bytes = b"/", times: int = 1) -> bytes:
    """Return the answers to requests that a client sends and reads at once."""
    with bench.connect() as client:
        client.sendall(get(path) * times)
        client.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: client.recv(1 << 20), b""))


def until(true: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def settled(value: Callable[[], Any]) -> Any:
    """Return a value that has not changed for a while."""
    before = None
    while before != (before := value()):
        time.sleep(0.3)
    return before


def test_readers_of_streams_that_do_not_read_hold_no_thread_and_little_memory() -> None:
    streams = Streams()
    with EngineBench(streams, PATIENT) as bench, ExitStack() as stack:
        slow = [stack.enter_context(bench.connect(receive_buffer=4_096)) for _ in range(12)]
        for client in slow:
            client.sendall(get(b"/stream"))
        until(lambda: len(streams.streams) == 12)
        assert b"small" in ask(bench)
        made = settled(lambda: [pieces.made for pieces in streams.streams])
        # What the system takes for a socket, what may wait, and a piece on top.
        assert max(made) * len(PIECE) < 8_000_000, made
        assert b"small" in ask(bench)
        assert ask(bench, b"/stream").count(b"x") == MANY * len(PIECE)
        whole = b""
        while not whole.endswith(b"0\r\n\r\n"):
            whole += slow[0].recv(1 << 20)
        assert whole.count(b"x") == MANY * len(PIECE)
    until(lambda: all(pieces.closed.is_set() for pieces in streams.streams))


def test_an_answer_that_waits_has_no_thread_and_is_asked_now_and_then() -> None:
    streams = Streams()
    with EngineBench(streams, PATIENT) as bench, ExitStack() as stack:
        clients = [stack.enter_context(bench.connect()) for _ in range(6)]  # more than there are threads
        for client in clients:
            client.sendall(get(b"/later") + get(b"/"))
        until(lambda: streams.waiting > 12)
        assert b"small" in ask(bench)
        assert ask(bench, b"/stream").count(b"x") == MANY * len(PIECE)
        streams.go.set()
        for client in clients:
            answer = b""
            while not answer.endswith(b"small"):
                answer += client.recv(1_000)
            assert answer.count(b"at last") == 1
        assert streams.waiting < 5_000


def test_so_many_streams_wait_for_their_readers_and_no_more() -> None:
    streams = Streams()
    limits = Limits(body=1_000, threads=2, waiting=3)
    with EngineBench(streams, limits) as bench, ExitStack() as stack:
        for number in range(5):
            client = stack.enter_context(bench.connect(receive_buffer=4_096))
            client.sendall(get(b"/stream"))
            until(lambda number=number: len(streams.streams) == number + 1)
            settled(lambda: streams.streams[-1].made)
        assert ask(bench, b"/stream").startswith(b"HTTP/1.1 503 ")
        assert b"small" in ask(bench)
        until(streams.streams[-1].closed.is_set)


def test_a_stream_that_is_not_read_in_its_time_is_broken_off() -> None:
    streams = Streams()
    limits = Limits(body=1_000, answering=0.5)
    with EngineBench(streams, limits) as bench, bench.connect(receive_buffer=4_096) as client:
        client.sendall(get(b"/stream"))
        until(lambda: streams.streams)
        began = time.monotonic()
        while not streams.streams[0].closed.is_set():  # it reads, but slowly
            assert time.monotonic() < began + PATIENCE
            time.sleep(0.05)
            try:
                client.recv(1_000)
            except ConnectionResetError:
                break
        until(streams.streams[0].closed.is_set)
        assert streams.streams[0].made < MANY


def test_a_client_that_reads_slowly_but_steadily_is_not_cut_off() -> None:
    streams = Streams()
    limits = Limits(body=1_000, reading=1.0)
    with EngineBench(streams, limits) as bench, bench.connect(receive_buffer=4_096) as client:
        client.sendall(get(b"/stream"))
        until(lambda: streams.streams)
        until_full = time.monotonic() + 4.0
        read = 0
        while time.monotonic() < until_full:  # much less than a third of what the system takes for a socket
            read += len(client.recv(1_000))
            time.sleep(0.05)
        assert read
        assert not streams.streams[0].closed.is_set()


def test_who_looks_after_a_server_never_waits() -> None:
    streams = Streams()
    limits = Limits(body=1_000, threads=1, waiting=0)
    with EngineBench(streams, limits) as bench, bench.connect() as busy:
        busy.sendall(get(b"/wait"))
        until(lambda: ask(bench).startswith(b"HTTP/1.1 503 "))
        for path in (b"/livez", b"/readyz", b"/metrics"):
            assert ask(bench, path).startswith(b"HTTP/1.1 200 ")
        streams.go.set()
        assert busy.recv(1_000).startswith(b"HTTP/1.1 200 ")


def test_a_request_whose_client_may_have_gone_gives_way_to_another() -> None:
    streams = Streams()
    limits = Limits(body=1_000, threads=1, waiting=1)
    with EngineBench(streams, limits) as bench, ExitStack() as stack:
        busy, half_closed, waiting, late = (stack.enter_context(bench.connect()) for _ in range(4))
        busy.sendall(get(b"/wait"))
        until(lambda: streams.waiting == 1)
        half_closed.sendall(get(b"/a"))
        half_closed.shutdown(socket.SHUT_WR)
        time.sleep(0.2)
        waiting.sendall(get(b"/b"))
        assert half_closed.recv(1_000).startswith(b"HTTP/1.1 503 ")
        late.sendall(get(b"/c"))
        assert late.recv(1_000).startswith(b"HTTP/1.1 503 ")
        streams.go.set()
        assert busy.recv(1_000).startswith(b"HTTP/1.1 200 ")
        assert waiting.recv(1_000).startswith(b"HTTP/1.1 200 ")


def test_an_answer_is_made_when_the_one_before_it_is_read() -> None:
    streams = Streams()
    with EngineBench(streams, PATIENT) as bench, bench.connect(receive_buffer=4_096) as client:
        client.sendall(get(b"/large") * 20)
        until(lambda: streams.begun)
        assert settled(lambda: streams.begun) == 1
        assert bench.budget.held > MANY * len(PIECE)
        assert b"small" in ask(bench)
    until(lambda: bench.budget.held == 0)


def test_large_answers_stay_within_the_memory_that_all_have_together() -> None:
    streams = Streams()
    limits = Limits(body=1_000, memory=2 * MANY * len(PIECE) + 10_000)
    with EngineBench(streams, limits) as bench, ExitStack() as stack:
        slow = [stack.enter_context(bench.connect(receive_buffer=4_096)) for _ in range(2)]
        for number, client in enumerate(slow, 1):
            client.sendall(get(b"/large"))
            until(lambda number=number: bench.budget.held > number * MANY * len(PIECE))
        head, _, body = ask(bench, b"/large").partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 503 ")
        assert b"Retry-After: " in head
        assert json.loads(body)["error"] == "overloaded"
        assert b"small" in ask(bench)
        slow[0].close()
        until(lambda: bench.budget.held < 2 * MANY * len(PIECE))
        assert ask(bench, b"/large").startswith(b"HTTP/1.1 200 ")
        until(lambda: bench.budget.held < 2 * MANY * len(PIECE))
    until(lambda: bench.budget.held == 0)


def test_a_long_pipeline_is_answered_whole() -> None:
    with EngineBench(Streams(), PATIENT) as bench:
        assert ask(bench, b"/livez", 3_000).count(b"HTTP/1.1 200 OK") == 3_000
