"""HTTP/1.1 on real connections: what is kept alive or refused, and what slow clients cost
others.
"""

import json
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factseek.core.errors import IndexStateError
from factseek.server import worker
from factseek.server.errors import OverloadedError
from factseek.server.hooks import LAST_LINE, REFUSAL
from factseek.server.memory import MEMORY
from tests.server.gateway_bench import PATIENCE, GatewayBench, serving

pytestmark = pytest.mark.real  # a server answers real connections, some of them slow
HEAD = b"POST /a?b HTTP/1.1\r\nHost: x\r\n"
CLOSE = b"Connection: close\r\n"
CHUNKED = b"3\r\nabc\r\n0\r\n\r\n"
PIECE = b"x" * 50_000
MANY = 200


def echo(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
    if error := environ.get(REFUSAL):
        status = getattr(error, "status", getattr(error, "code", 0))
        start(f"{status} Refused", [("Content-Length", "0")])
        return []
    if environ["PATH_INFO"] == "/stream":
        start("200 OK", [])
        return iter([b"one,", b"", b"two"])
    if environ["PATH_INFO"] == "/slow":
        start("200 OK", [])
        return slowly(b"one,", b"two")
    if environ["PATH_INFO"] == "/dated":
        start("204 No Content", [("Date", "Sat, 01 Jan 2000 00:00:00 GMT")])
        return []
    if environ["PATH_INFO"] == "/nothing":
        start("304 Not Modified", [])
        return []
    names = (
        "REQUEST_METHOD",
        "PATH_INFO",
        "QUERY_STRING",
        "CONTENT_LENGTH",
        "HTTP_X_A",
        "HTTP_X_B",
        "SERVER_PROTOCOL",
    )
    said = {name: environ[name] for name in names if name in environ}
    body = json.dumps(said | {"body": environ["wsgi.input"].read().decode("latin-1")}).encode()
    start("200 OK", [("Content-Length", str(len(body)))])
    return [b"" if environ["REQUEST_METHOD"] == "HEAD" else body]


def slowly(*pieces: bytes) -> Iterator[bytes]:
    for piece in pieces:
        yield piece
        time.sleep(0.3)


@pytest.fixture(scope="module")
def bench() -> Iterator[GatewayBench]:
    with serving(echo, memory_bytes=150_000) as it:
        yield it


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("READING", "IDLE"):
        monkeypatch.setattr(worker, name, 0.5)


def said(answer: bytes) -> Any:
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK\r\n"), answer
    return json.loads(body)


def test_a_request_reaches_the_application_as_it_was_sent(bench: GatewayBench) -> None:
    sent = (
        b"POST /a%2Fb%20%C3%A9//c?q=%20x&y HTTP/1.1\r\nHost: x\r\nX-A: 1\r\nx-a: 2\r\nX_B: evil\r\n"
    )
    answer = said(bench.talk(sent + CLOSE + b"Content-Length: 3\r\n\r\nabc"))
    assert answer == {
        "REQUEST_METHOD": "POST",
        "PATH_INFO": "/a/b é//c".encode().decode("latin-1"),
        "QUERY_STRING": "q=%20x&y",
        "CONTENT_LENGTH": "3",
        "HTTP_X_A": "1,2",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "body": "abc",
    }


@pytest.mark.parametrize("number", [20, 5_000])
def test_requests_of_one_connection_are_answered_in_order(bench: GatewayBench, number: int) -> None:
    one = b"GET /%d HTTP/1.1\r\nHost: x\r\n\r\n"
    with bench.connect() as client:
        sender = threading.Thread(
            target=client.sendall,
            args=[b"".join(one % n for n in range(number)) + HEAD + CLOSE + b"\r\n"],
        )
        sender.start()
        answer = b"".join(iter(lambda: client.recv(65_536), b""))
        sender.join()
    assert answer.count(b"HTTP/1.1 200 OK") == number + 1
    places = [answer.index(b'"/%d"' % n) for n in range(0, number, 19)]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n" + CHUNKED, 400),
        (b"GET /\r\n\r\n", 400),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: x y\r\n\r\n", 400),
        (b"CONNECT x:80 HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc", 400),
        (HEAD + b"Transfer-Encoding: xchunked\r\n\r\n" + CHUNKED, 400),
        (HEAD + b"Transfer-Encoding: gzip, chunked\r\n\r\n" + CHUNKED, 400),
        (HEAD + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n" + CHUNKED, 400),
        (HEAD + b"Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n" + CHUNKED, 400),
        (HEAD + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", 400),
        (HEAD + b"Content-Length: +3\r\n\r\nabc", 400),
        (HEAD + b"Content-Length : 3\r\n\r\nabc", 400),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n3\nabc\r\n0\r\n\r\n", 400),
        (HEAD + b"X-A : b\r\n\r\n", 400),
        (HEAD + b"X-A: b\rc\r\n\r\n", 400),
        (HEAD + b" X-A: b\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 40, 400),
        (HEAD + b"Content-Length: 1001\r\n\r\n", 413),
        (
            HEAD + b"Transfer-Encoding: chunked\r\n\r\n3e9\r\n" + b"a" * 1_001 + b"\r\n0\r\n\r\n",
            413,
        ),
        (b"GET /" + b"a" * 9_000 + b" HTTP/1.1\r\n", 414),
        (
            b"GET / HTTP/1.1\r\n" + b"".join(b"X-%d: %s\r\n" % (n, b"a" * 100) for n in range(300)),
            431,
        ),
    ],
)
def test_what_cannot_be_answered_closes_the_connection(
    bench: GatewayBench, sent: bytes, status: int
) -> None:
    bench.refusals.clear()
    second = b"GET /second HTTP/1.1\r\nHost: x\r\n\r\n"
    answer = bench.talk(sent + second)
    assert answer.startswith(b"HTTP/1.1 %d " % status), answer
    assert answer.count(b"HTTP/1.1 ") == 1, answer
    assert bench.refusals == [status]


@pytest.mark.parametrize("where", ["header", "name", "trailer", "blank lines"])
def test_a_head_without_end_is_refused_before_much_of_it_is_kept(
    bench: GatewayBench, where: str
) -> None:
    begin = {
        "header": HEAD + b"X-Long: ",
        "name": HEAD,
        "trailer": HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\nX-Long: ",
        "blank lines": b"",
    }[where]
    answer = bench.talk(begin + (b"\r\n" if where == "blank lines" else b"aa") * 16_000)
    assert answer.startswith(b"HTTP/1.1 431 "), answer


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize(
    ("sent", "answer"),
    [
        (b"", b""),
        (b"GET / HTTP/1.1\r\nX", b"HTTP/1.1 408 "),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc", b"HTTP/1.1 408 "),
    ],
)
def test_a_client_that_sends_too_slowly_is_refused_or_cut_off(sent: bytes, answer: bytes) -> None:
    with serving(echo) as bench:
        assert bench.talk(sent)[:13] == answer


def test_a_client_that_waits_to_be_asked_for_its_body_is_asked(bench: GatewayBench) -> None:
    with bench.connect() as client:
        client.sendall(HEAD + b"Expect: 100-continue\r\n" + CLOSE + b"Content-Length: 2\r\n\r\n")
        assert client.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.sendall(b"ab")
        assert said(b"".join(iter(lambda: client.recv(65_536), b"")))["body"] == "ab"
    assert bench.talk(HEAD + b"Expect: 100-continue\r\nContent-Length: 2000\r\n\r\n").startswith(
        b"HTTP/1.1 413 "
    )


def test_what_follows_a_request_does_not_disturb_its_answer(bench: GatewayBench) -> None:
    first = b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n"
    for pieces in ([first + b"nonsense\r\n\r\n"], [first, b"nonsense\r\n\r\n"]):
        answer = bench.talk(*pieces, pause=0.1)
        whole = b"\r\n\r\n4\r\none,\r\n3\r\ntwo\r\n0\r\n\r\n"
        assert (answer.count(whole + b"HTTP/1.1 400 "), answer.count(b"HTTP/1.1 ")) == (1, 2)


def test_what_follows_a_body_is_no_header(bench: GatewayBench) -> None:
    head = HEAD + b"X-A: 1\r\n" + CLOSE + b"Transfer-Encoding: chunked\r\n\r\n"
    answer = said(bench.talk(head + b"1\r\na\r\n0\r\nX-A: 2\r\nX-B: 3\r\n\r\n"))
    assert (answer["HTTP_X_A"], answer["body"]) == ("1", "a")
    assert "HTTP_X_B" not in answer


@pytest.mark.parametrize(
    "body", [b"Content-Length: 3\r\n\r\nabc", b"Transfer-Encoding: chunked\r\n\r\n" + CHUNKED]
)
def test_a_wish_for_another_protocol_costs_no_body(bench: GatewayBench, body: bytes) -> None:
    wish = (
        b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: "
        b"AAMAAABkAAQAoAAAAAIAAAAA\r\n"
    )
    with bench.connect() as client:
        client.sendall(HEAD + wish + body)
        client.shutdown(socket.SHUT_WR)
        assert said(b"".join(iter(lambda: client.recv(65_536), b"")))["body"] == "abc"


def test_a_client_that_has_closed_its_sending_half_is_answered(bench: GatewayBench) -> None:
    for path in (b"/", b"/slow"):
        with bench.connect() as client:
            client.sendall(
                b"GET %b HTTP/1.1\r\nHost: x\r\n\r\nGET /last HTTP/1.1\r\nHost: x\r\n\r\n" % path
            )
            client.shutdown(socket.SHUT_WR)
            answers = b"".join(iter(lambda: client.recv(65_536), b""))
        assert (answers.count(b"HTTP/1.1 200 OK"), b'"/last"' in answers) == (2, True)


def test_what_has_no_length_is_sent_in_chunks_or_counted(bench: GatewayBench) -> None:
    new = bench.talk(b"GET /stream HTTP/1.1\r\nHost: x\r\n" + CLOSE + b"\r\n")
    assert b"transfer-encoding: chunked" in new
    assert new.endswith(b"\r\n\r\n4\r\none,\r\n3\r\ntwo\r\n0\r\n\r\n")
    old = bench.talk(b"GET /stream HTTP/1.0\r\n\r\n")
    assert b"chunked" not in old
    assert b"content-length: 7\r\n" in old
    assert old.endswith(b"\r\n\r\none,two")


@pytest.mark.parametrize(
    ("method", "path"), [(b"HEAD", b"/"), (b"HEAD", b"/stream"), (b"GET", b"/nothing")]
)
def test_an_answer_without_a_body_has_none(bench: GatewayBench, method: bytes, path: bytes) -> None:
    answer = bench.talk(b"%s %s HTTP/1.1\r\nHost: x\r\n" % (method, path) + CLOSE + b"\r\n")
    assert answer.endswith(b"\r\n\r\n")
    assert b"chunked" not in answer


def test_bodies_stay_within_the_memory_that_all_have_together() -> None:
    with (
        serving(echo, max_body_bytes=100_000, memory_bytes=200_000, threads=1) as bench,
        ExitStack() as stack,
    ):
        unfinished = HEAD + b"Content-Length: 100000\r\n\r\n" + b" " * 90_000
        clients = [stack.enter_context(bench.connect()) for _ in range(5)]
        for number, client in enumerate(clients):
            client.sendall(unfinished)
            until(
                lambda number=number: (
                    bench.refusals or bench.gateway.budget.held >= 73_000 * (number + 1)
                )
            )
        until(lambda: len(bench.refusals) == 3)
        assert bench.refusals == [503] * 3
        small = HEAD + CLOSE + b"Content-Length: 10000\r\n\r\n" + b" " * 10_000
        assert said(bench.talk(small))["CONTENT_LENGTH"] == "10000"
        clients[0].sendall(b" " * 10_000)
        assert clients[0].recv(9) == b"HTTP/1.1 "
        for client in clients:
            client.close()
        until(lambda: not bench.gateway.budget.held)


def until(true: Callable[[], Any]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.01)


class Pieces:
    def __init__(self, number: int = MANY) -> None:
        self.made = 0
        self.number = number
        self.closed = threading.Event()

    def __iter__(self) -> Iterator[bytes]:
        while self.made < self.number:
            self.made += 1
            yield PIECE

    def close(self) -> None:
        self.closed.set()


class Streams:
    """An application that answers ``/stream`` in pieces, ``/large`` in one and ``/wait`` when it is
    let go.
    """

    def __init__(self) -> None:
        self.streams: list[Pieces] = []
        self.waiting = 0
        self.go = threading.Event()

    def __call__(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        if REFUSAL in environ or environ["PATH_INFO"] != "/stream":
            return self._whole(environ, start)
        start("200 OK", [])
        self.streams.append(Pieces())
        return self.streams[-1]

    def _whole(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        if REFUSAL in environ:
            start("503 IndexRegistry Unavailable", [("Content-Length", "0")])
            return []
        if environ["PATH_INFO"] == "/wait":
            self.waiting += 1
            self.go.wait(PATIENCE)
        if environ["PATH_INFO"] == "/large":
            environ[MEMORY].spend(len(PIECE) * MANY)
        body = PIECE * MANY if environ["PATH_INFO"] == "/large" else b"small"
        start("200 OK", [("Content-Length", str(len(body)))])
        return [body]


def get(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode()


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("path", ["/stream", "/large"])
def test_a_client_that_reads_nothing_is_cut_off(path: str) -> None:
    streams = Streams()
    with serving(streams) as bench, bench.connect(receive_buffer=4_096) as client:
        client.sendall(get(path))
        until(lambda: bench.server.server_state.total_requests or bench.server.server_state.tasks)
        until(lambda: not bench.server.server_state.connections)
        assert all(stream.closed.wait(PATIENCE) for stream in streams.streams)
        until(lambda: not bench.gateway.budget.held)


def test_an_answer_that_is_not_read_in_its_time_is_broken_off() -> None:
    streams = Streams()
    with (
        serving(streams, answer_seconds=0.6) as bench,
        bench.connect(receive_buffer=4_096) as client,
    ):
        client.sendall(get("/stream"))
        with pytest.raises((AssertionError, ConnectionError)):
            for _ in range(len(PIECE) * MANY):
                assert client.recv(4_096 if bench.server.server_state.connections else 1 << 20)
                time.sleep(0.02 if bench.server.server_state.connections else 0)
        assert streams.streams[0].closed.wait(PATIENCE)


def test_overload_is_said_at_once_and_who_looks_after_a_server_never_waits() -> None:
    streams = Streams()
    with serving(streams, threads=1, max_waiting=1) as bench, ExitStack() as stack:
        waiting = [stack.enter_context(bench.connect()) for _ in range(2)]
        for client in waiting:
            client.sendall(get("/wait"))
        until(lambda: streams.waiting)
        time.sleep(0.2)
        with bench.connect() as client:
            client.sendall(get("/"))
            assert client.recv(13) == b"HTTP/1.1 503 "
        for unfinished in (b"GET / HTTP/1.1\r\nX", HEAD + b"Content-Length: 9\r\n\r\nabc"):
            for _ in range(12):
                stack.enter_context(bench.connect()).sendall(unfinished)
        assert b"small" in bench.talk(b"GET /livez HTTP/1.1\r\nHost: x\r\n" + CLOSE + b"\r\n")
        streams.go.set()
        for client in waiting:
            assert client.recv(13) == b"HTTP/1.1 200 "


def pieces(text: bytes, cuts: list[int]) -> Iterator[bytes]:
    ends = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    for begin, end in pairwise(ends):
        yield text[begin:end]


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.binary(max_size=200), min_size=1, max_size=5),
    st.lists(st.integers(0, 5_000), max_size=5),
    st.booleans(),
)
def test_cut_anywhere_it_is_the_same(
    bench: GatewayBench, bodies: list[bytes], cuts: list[int], chunked: bool
) -> None:
    sent = b""
    for body in bodies:
        if chunked:
            framed = b"%x\r\n%b\r\n" % (len(body), body) if body else b""
            sent += HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + framed + b"0\r\n\r\n"
        else:
            sent += HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body
    with bench.connect() as client:
        for piece in pieces(sent, cuts):
            client.sendall(piece)
            time.sleep(0.001)
        client.shutdown(socket.SHUT_WR)
        answers = b"".join(iter(lambda: client.recv(65_536), b""))
    got = [
        json.loads(part.partition(b"\r\n\r\n")[2])["body"]
        for part in answers.split(b"HTTP/1.1 200 OK")[1:]
    ]
    assert [body.encode("latin-1") for body in got] == bodies


@settings(max_examples=40, deadline=None)
@given(st.binary(max_size=300), st.lists(st.integers(0, 500), max_size=5))
def test_whatever_is_sent_is_answered_refused_or_given_up(
    bench: GatewayBench, junk: bytes, cuts: list[int]
) -> None:
    with bench.connect() as client:
        for piece in pieces(HEAD + junk, cuts):
            client.sendall(piece)
        client.shutdown(socket.SHUT_WR)
        answer = b"".join(iter(lambda: client.recv(65_536), b""))
    assert answer == b"" or answer.startswith(b"HTTP/1.1 ")
    assert bench.gateway.budget.held == 0


def test_a_stop_ends_each_unfinished_request_so_that_its_client_knows() -> None:
    free = threading.Event()

    def application(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        if error := environ.get(REFUSAL):
            body = getattr(error, "slug", "").encode()
            start(f"{getattr(error, 'status', 400)} Refused", [("Content-Length", str(len(body)))])
            return [body]
        if environ["PATH_INFO"] == "/lines":
            environ[LAST_LINE] = b"stopped\n"
        elif environ["PATH_INFO"] == "/stuck":
            free.wait(PATIENCE)
        start("200 OK", [])
        return endless()

    def endless() -> Iterator[bytes]:
        while not free.is_set():
            yield b"line\n"
            time.sleep(0.01)

    with serving(application, stop_seconds=0.5) as bench, ExitStack() as stack:
        clients = {
            path: stack.enter_context(bench.connect())
            for path in ("/lines", "/text", "/stuck", "/half")
        }
        for path, client in clients.items():
            length = b"Content-Length: 9\r\n" if path == "/half" else b""
            client.sendall(b"GET %b HTTP/1.1\r\nHost: x\r\n%b\r\n" % (path.encode(), length))
        assert all(
            clients[path].recv(100).startswith(b"HTTP/1.1 200") for path in ("/lines", "/text")
        )
        bench.server.should_exit = True
        lines = b"".join(iter(lambda: clients["/lines"].recv(65_536), b""))
        assert lines.endswith(b"8\r\nstopped\n\r\n0\r\n\r\n")
        with pytest.raises(ConnectionResetError):
            list(iter(lambda: clients["/text"].recv(65_536), b""))
        for path in ("/stuck", "/half"):
            answer = b"".join(iter(lambda client=clients[path]: client.recv(65_536), b""))
            assert answer.startswith(b"HTTP/1.1 503 "), path
            assert b"stopping" in answer
        free.set()
    assert bench.gateway.unfinished == 4


@pytest.mark.parametrize("error", [IndexStateError("the file was replaced"), OverloadedError()])
def test_an_answer_that_breaks_off_is_reset(error: Exception) -> None:
    def application(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        start("200 OK", [])
        return breaking()

    def breaking() -> Iterator[bytes]:
        yield b"one,"
        raise error

    with serving(application) as bench, pytest.raises(ConnectionResetError):
        bench.talk(HEAD + b"\r\n")
