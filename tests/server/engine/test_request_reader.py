"""Requests made of the bytes of a connection: those that are refused, and the cost of reading them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factseek.server.engine.budget import Budget
from factseek.server.engine.limits import Limits
from factseek.server.engine.request_reader import FREE_BODY, MOST_HEADER_BYTES, RequestReader

LIMITS = Limits(body=100_000, memory=150_000)
HEAD = b"POST /a?b HTTP/1.1\r\nHost: x\r\n"
CHUNKED = b"3\r\nabc\r\n0\r\n\r\n"


def reader_of(*pieces: bytes, budget: Budget | None = None) -> RequestReader:
    """Return a reader that has read what there is, as if requests were answered at once."""
    reader = RequestReader(LIMITS, budget or Budget(LIMITS.memory))
    for piece in pieces:
        reader.feed(piece)
        reader.read()
    return reader


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n" + CHUNKED, 400),
        (b"GET /\r\n\r\n", 400),
        (b"GET / HTTP/0.9\r\nHost: x\r\n\r\n", 400),
        (b"GET / HTTP/1.9\r\nHost: x\r\n\r\n", 400),
        (b"GET / HTTP/3.0\r\nHost: x\r\n\r\n", 400),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: x y\r\n\r\n", 400),
        (b"CONNECT x:80 HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc", 400),
        (HEAD + b"Transfer-Encoding: xchunked\r\n\r\n" + CHUNKED, 400),
        (HEAD + b"Transfer-Encoding: gzip, chunked\r\n\r\n" + CHUNKED, 400),
        (HEAD + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n" + CHUNKED, 400),
        (HEAD + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n" + CHUNKED, 400),
        (HEAD + b"Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n" + CHUNKED, 400),
        (HEAD + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n" + CHUNKED, 400),
        (HEAD + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", 400),
        (HEAD + b"Content-Length: +3\r\n\r\nabc", 400),
        (HEAD + b"Content-Length: 3 4\r\n\r\nabc", 400),
        (HEAD + b"Content-Length: 99999999999999999999999999\r\n\r\n", 400),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n3\nabc\r\n0\r\n\r\n", 400),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\n0\r\n\r\n", 400),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n-3\r\nabc\r\n0\r\n\r\n", 400),
        (HEAD + b"X-A : b\r\n\r\n", 400),
        (HEAD + b"X-A: b\0c\r\n\r\n", 400),
        (HEAD + b"X-A: b\rc\r\n\r\n", 400),
        (HEAD + b" X-A: b\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 40, 400),
        (HEAD + b"Content-Length: 100001\r\n\r\n", 413),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n186a1\r\n" + b"a" * 100_001, 413),
    ],
)
def test_what_two_servers_could_read_differently_is_refused(sent: bytes, status: int) -> None:
    reader = reader_of(sent)
    assert (reader.fault and reader.fault.status, len(reader.requests)) == (status, 0)
    again = reader_of(*(sent[at : at + 1] for at in range(len(sent) if len(sent) < 1_000 else 0)))
    assert len(again.requests) == 0


@pytest.mark.parametrize("where", ["header", "name", "trailer", "blank lines"])
def test_a_header_without_end_is_refused_before_much_of_it_is_kept(where: str) -> None:
    begin = {
        "header": HEAD + b"X-Long: ",
        "name": HEAD,
        "trailer": HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\nX-Long: ",
        "blank lines": b"",
    }[where]
    reader = reader_of(begin)
    sent = 0
    while reader.fault is None:
        reader.feed((b"\r\n" if where == "blank lines" else b"aa") * 500)
        reader.read()
        sent += 1_000
        assert sent <= MOST_HEADER_BYTES + 10_000
    assert reader.fault.status == 431


def test_requests_of_a_pipeline_are_read_a_few_at_a_time() -> None:
    reader = reader_of(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" * 5_000)
    most = count = 0
    while reader.requests:
        most = max(most, len(reader.requests))
        count += len(reader.requests)
        reader.requests.clear()
        reader.read()
    assert (count, reader.fault) == (5_000, None)
    assert most < 200


H2C = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\n"


@pytest.mark.parametrize("body", [b"Content-Length: 3\r\n\r\nabc", b"Transfer-Encoding: chunked\r\n\r\n" + CHUNKED])
@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_a_wish_for_another_protocol_costs_no_body(body: bytes, size: int) -> None:
    sent = HEAD + H2C + body
    reader = reader_of(*(sent[at : at + size] for at in range(0, len(sent), size)))
    assert reader.fault is None
    (request,) = reader.requests
    assert (request.body, request.method, request.path, request.query) == (b"abc", "POST", b"/a", b"b")
    assert not request.keep_alive
    assert b"upgrade" not in dict(request.headers)


def test_bodies_stay_within_the_memory_that_all_have_together() -> None:
    budget = Budget(LIMITS.memory)
    unfinished = HEAD + b"Content-Length: 100000\r\n\r\n" + b" " * 90_000
    readers = [reader_of(unfinished, budget=budget) for _ in range(5)]
    assert [reader.fault and reader.fault.status for reader in readers] == [None, None, 503, 503, 503]
    assert readers[2].fault is not None
    assert readers[2].fault.retry_after
    assert budget.held == 2 * (90_000 - FREE_BODY)
    small = reader_of(HEAD + b"Content-Length: 10000\r\n\r\n" + b" " * 10_000, budget=budget)
    assert len(small.requests) == 1
    readers[1].close()
    readers[0].feed(b" " * 10_000)
    readers[0].read()
    assert len(readers[0].requests) == 1
    for reader in readers:
        reader.close()
    assert budget.held == 0


def test_what_is_larger_than_the_whole_budget_may_have_it_alone() -> None:
    budget = Budget(10_000)
    alone = reader_of(HEAD + b"Content-Length: 90000\r\n\r\n" + b" " * 90_000, budget=budget)
    assert len(alone.requests) == 1
    other = reader_of(HEAD + b"Content-Length: 90000\r\n\r\n" + b" " * 90_000, budget=budget)
    assert other.fault is not None


def test_memory_is_given_back_when_much_was_held_and_nothing_is() -> None:
    budget = Budget(1_000)
    assert budget.take(500)
    assert not budget.calmed(100)
    budget.give(500)
    assert not budget.calmed(500)
    assert budget.calmed(100)
    assert not budget.calmed(100)


def pieces(text: bytes, cuts: list[int]) -> Iterator[bytes]:
    ends = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    for begin, end in pairwise(ends):
        yield text[begin:end]


_bodies = st.lists(st.binary(max_size=200), min_size=1, max_size=5)


@given(_bodies, st.lists(st.integers(0, 5_000), max_size=20), st.booleans())
def test_requests_are_the_same_however_their_bytes_are_cut(bodies: list[bytes], cuts: list[int], chunked: bool) -> None:
    sent = b""
    for body in bodies:
        if chunked:
            whole = b"%x\r\n%b\r\n" % (len(body), body) if body else b""
            sent += HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + whole + b"0\r\n\r\n"
        else:
            sent += HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body
    budget = Budget(LIMITS.memory)
    reader = RequestReader(LIMITS, budget)
    read = []
    for piece in pieces(sent, cuts):
        reader.feed(piece)
        reader.read()
        while reader.requests:
            read.append(reader.requests.popleft())
            reader.read()
    assert reader.fault is None
    assert [request.body for request in read] == bodies
    assert all(request.keep_alive for request in read)


@given(st.binary(max_size=300), st.lists(st.integers(0, 500), max_size=5))
def test_whatever_is_sent_is_read_refused_or_waited_for(junk: bytes, cuts: list[int]) -> None:
    budget = Budget(LIMITS.memory)
    reader = reader_of(*pieces(HEAD + junk, cuts), budget=budget)
    assert reader.fault is None or reader.fault.status in (400, 413, 414, 431)
    reader.close()
    assert budget.held == 0
