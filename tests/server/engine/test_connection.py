"""HTTP/1.1 on a real connection: what is kept alive, what comes in pieces, what is refused, what answers look like."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from tests.server.engine.engine_bench import PATIENCE, EngineBench


def echo(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
    """Answer with what was asked."""
    names = ("REQUEST_METHOD", "PATH_INFO", "QUERY_STRING", "CONTENT_LENGTH", "HTTP_X_A", "HTTP_X_B", "SERVER_PROTOCOL")
    said = {name: environ[name] for name in names if name in environ}
    body = json.dumps(said | {"body": environ["wsgi.input"].read().decode("latin-1")}).encode()
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
    start("200 OK", [("Content-Length", str(len(body)))])
    return [b"" if environ["REQUEST_METHOD"] == "HEAD" else body]


def slowly(*pieces: bytes) -> Iterator[bytes]:
    """Yield pieces with time between them for whatever comes meanwhile."""
    for piece in pieces:
        yield piece
        time.sleep(0.3)


@pytest.fixture
def bench() -> Iterator[EngineBench]:
    made = EngineBench(echo)
    yield made
    made.stop()


def talk(bench: EngineBench, *pieces: bytes, pause: float = 0.0) -> bytes:
    """Send pieces, then read until the server closes."""
    with socket.create_connection(("127.0.0.1", bench.port), timeout=PATIENCE) as client:
        for piece in pieces:
            client.sendall(piece)
            time.sleep(pause)
        return b"".join(iter(lambda: client.recv(65_536), b""))


def said(answer: bytes) -> Any:
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK\r\n"), answer
    return json.loads(body)


CLOSE = b"Connection: close\r\n"


def test_a_request_reaches_the_application_as_it_was_sent(bench: EngineBench) -> None:
    sent = b"POST /a%2Fb%20%C3%A9//c?q=%20x&y HTTP/1.1\r\nHost: x\r\nX-A: 1\r\nx-a: 2\r\nX_B: evil\r\n"
    answer = said(talk(bench, sent + CLOSE + b"Content-Length: 3\r\n\r\nabc"))
    assert answer == {
        "REQUEST_METHOD": "POST",
        "PATH_INFO": "/a/b é//c".encode().decode("latin-1"),
        "QUERY_STRING": "q=%20x&y",
        "CONTENT_LENGTH": "3",
        "HTTP_X_A": "1,2",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "body": "abc",
    }


def test_a_request_may_come_byte_by_byte_and_in_chunks(bench: EngineBench) -> None:
    sent = (
        b"POST / HTTP/1.1\r\nHost: x\r\n"
        + CLOSE
        + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
    )
    answer = said(talk(bench, *(sent[i : i + 1] for i in range(len(sent)))))
    assert (answer["body"], answer["CONTENT_LENGTH"]) == ("abcde", "5")


def test_requests_of_one_connection_are_answered_in_order(bench: EngineBench) -> None:
    one = b"GET /%d HTTP/1.1\r\nHost: x\r\n\r\n"
    last = b"GET /last HTTP/1.1\r\nHost: x\r\n" + CLOSE + b"\r\n"
    answer = talk(bench, b"".join(one % number for number in range(20)) + last)
    assert answer.count(b"HTTP/1.1 200 OK") == 21
    places = [answer.index(b'"/%d"' % number) for number in range(20)]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1001\r\n\r\n", 413),
        (b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n" + b"a" * 1001, 413),
        (b"GET /" + b"a" * 9_000 + b" HTTP/1.1\r\n", 414),
        (b"GET / HTTP/1.1\r\n" + b"".join(b"X-%d: %s\r\n" % (n, b"a" * 100) for n in range(300)), 431),
        (b"GET / HTTP/1.1\r\nX", 408),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc", 408),
    ],
)
def test_what_cannot_be_answered_is_refused_and_closes_the_connection(
    bench: EngineBench, sent: bytes, status: int
) -> None:
    answer = talk(bench, sent)
    assert answer.startswith(b"HTTP/1.1 %d " % status), answer
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["status"] == status
    assert bench.refusals == [status]


def test_a_client_that_waits_to_be_asked_for_its_body_is_asked(bench: EngineBench) -> None:
    head = b"POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n" + CLOSE + b"Content-Length: 2\r\n\r\n"
    with socket.create_connection(("127.0.0.1", bench.port), timeout=PATIENCE) as client:
        client.sendall(head)
        assert client.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.sendall(b"ab")
        assert said(b"".join(iter(lambda: client.recv(65_536), b"")))["body"] == "ab"


def test_what_follows_a_request_does_not_disturb_its_answer(bench: EngineBench) -> None:
    first = b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n"
    whole = b"\r\n\r\n4\r\none,\r\n3\r\ntwo\r\n0\r\n\r\n"
    for pieces in ([first + b"nonsense\r\n\r\n"], [first, b"nonsense\r\n\r\n"]):
        answer = talk(bench, *pieces, pause=0.1)
        assert (answer.count(whole + b"HTTP/1.1 400 "), answer.count(b"HTTP/1.1 ")) == (1, 2)
    waits = b"POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n" + CLOSE + b"Content-Length: 2\r\n\r\n"
    answer = talk(bench, first, waits, b"ab", pause=0.4)
    assert answer.count(whole + b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n") == 1
    assert answer.count(b"100 Continue") == 1


def test_what_follows_a_body_is_no_header(bench: EngineBench) -> None:
    head = b"POST / HTTP/1.1\r\nHost: x\r\nX-A: 1\r\n" + CLOSE + b"Transfer-Encoding: chunked\r\n\r\n"
    answer = said(talk(bench, head + b"1\r\na\r\n0\r\nX-A: 2\r\nX-B: 3\r\n\r\n"))
    assert (answer["HTTP_X_A"], answer["body"]) == ("1", "a")
    assert "HTTP_X_B" not in answer


def test_an_answer_has_one_date(bench: EngineBench) -> None:
    answer = talk(bench, b"GET /dated HTTP/1.1\r\nHost: x\r\n" + CLOSE + b"\r\n")
    assert answer.count(b"\r\nDate: ") == 1


def test_a_client_that_has_closed_its_sending_half_is_answered(bench: EngineBench) -> None:
    for path in (b"/", b"/slow"):
        with bench.connect() as client:
            client.sendall(b"GET %b HTTP/1.1\r\nHost: x\r\n\r\nGET /last HTTP/1.1\r\nHost: x\r\n\r\n" % path)
            client.shutdown(socket.SHUT_WR)
            answers = b"".join(iter(lambda: client.recv(65_536), b""))
        assert (answers.count(b"HTTP/1.1 200 OK"), b'"/last"' in answers) == (2, True)


def test_another_protocol_is_not_spoken(bench: EngineBench) -> None:
    sent = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nrubbish"
    answer = talk(bench, sent)
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"Connection: close" in answer


def test_what_has_no_length_is_sent_in_chunks_or_ends_with_the_connection(bench: EngineBench) -> None:
    new = talk(bench, b"GET /stream HTTP/1.1\r\nHost: x\r\n" + CLOSE + b"\r\n")
    assert b"Transfer-Encoding: chunked" in new
    assert new.endswith(b"\r\n\r\n4\r\none,\r\n3\r\ntwo\r\n0\r\n\r\n")
    old = talk(bench, b"GET /stream HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
    assert b"chunked" not in old
    assert old.endswith(b"Connection: close\r\n\r\none,two")


@pytest.mark.parametrize(("method", "path"), [(b"HEAD", b"/"), (b"GET", b"/nothing")])
def test_an_answer_without_a_body_has_none(bench: EngineBench, method: bytes, path: bytes) -> None:
    answer = talk(bench, b"%s %s HTTP/1.1\r\nHost: x\r\n" % (method, path) + CLOSE + b"\r\n")
    assert answer.endswith(b"\r\n\r\n")
    assert b"chunked" not in answer


def test_a_silent_connection_is_closed_without_a_word(bench: EngineBench) -> None:
    assert talk(bench) == b""
    answer = talk(bench, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    assert answer.count(b"HTTP/1.1 200 ") == 1


def test_a_client_that_reads_nothing_is_cut_off() -> None:
    broken_off = threading.Event()

    class Endless:
        def __iter__(self) -> Iterator[bytes]:
            while True:
                yield b"x" * 100_000

        def close(self) -> None:
            broken_off.set()

    def application(_: Any, start: Callable[..., Any]) -> Iterable[bytes]:
        start("200 OK", [])
        return Endless()

    bench = EngineBench(application)
    try:
        with socket.create_connection(("127.0.0.1", bench.port), timeout=PATIENCE) as client:
            client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert broken_off.wait(PATIENCE)
    finally:
        bench.stop()
