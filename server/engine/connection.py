"""One connection of HTTP/1.1: requests are read whole before they cost a thread, so a slow client keeps nobody waiting.

Everything here runs on the event loop, but for :meth:`Connection.send`.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from time import monotonic
from typing import Any, Protocol

import httptools

from .gateway import Ends, Request
from .limits import Limits
from .refusals import LONG_ADDRESS, LONG_HEADERS, TOO_LARGE, TOO_SLOW, UNREADABLE, Refusal

MOST_HEADER_BYTES = 16_384
LONGEST_ADDRESS = 8_190
"""Bytes of path and query: a longer query comes in a body."""
_HIGH_WATER = 1 << 20
LAST_CALL = 2.0
"""Seconds that an idle connection stays open when the server stops, and a refused one for its answer to be read."""


class Worker(Protocol):
    """What a connection asks of the process that it is in."""

    limits: Limits

    def opened(self, connection: Connection) -> None:
        """Count a connection."""

    def closed(self, connection: Connection) -> None:
        """Forget a connection."""

    def admit(self, connection: Connection, request: Request) -> None:
        """Answer a request, by and by."""

    def refused(self, refusal: Refusal) -> bytes:
        """Count a refusal; return the whole answer that says so."""


class _Refused(Exception):
    def __init__(self, why: Refusal) -> None:
        super().__init__(why.detail)
        self.why = why


class Connection(asyncio.Protocol):
    """Reads requests, one after the other, and writes their answers in the same order."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._parser: Any = httptools.HttpRequestParser(self)
        self._waiting: deque[Request] = deque()
        self._drained = threading.Event()
        self._drained.set()
        self._unsent = 0
        self.answering = False
        self.gone = False
        self._refusing = False
        self._fault: Refusal | None = None
        self._begun = False
        self._deadline = monotonic() + worker.limits.reading
        self._reset()

    def connection_made(self, transport: Any) -> None:
        """Remember the ends of a new connection."""
        self._transport = transport
        transport.set_write_buffer_limits(high=_HIGH_WATER)
        self.ends = Ends(*(_end(transport.get_extra_info(name)) for name in ("sockname", "peername")))
        self._worker.opened(self)

    def connection_lost(self, _: Exception | None) -> None:
        """Wake whoever is writing: nobody reads any longer."""
        self.gone = True
        self._waiting.clear()
        self._drained.set()
        self._worker.closed(self)

    def data_received(self, data: bytes) -> None:
        """Read on; a request that cannot be read is refused, and the connection with it."""
        if self._refusing or self._fault:
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            pass  # no other protocol is spoken here: it was answered as if nobody had asked for one
        except httptools.HttpParserCallbackError as error:
            cause = error.__context__
            self._give_up(cause.why if isinstance(cause, _Refused) else UNREADABLE)
        except httptools.HttpParserError:
            self._give_up(UNREADABLE)

    def pause_writing(self) -> None:
        """Stop whoever is writing: the client reads slowly."""
        self._drained.clear()

    def resume_writing(self) -> None:
        """Let whoever is writing go on."""
        self._drained.set()

    # What the parser says, in this order.

    def on_message_begin(self) -> None:
        """Begin a request."""
        self._reset()
        self._begun = True
        self._deadline = monotonic() + self._worker.limits.reading

    def on_url(self, piece: bytes) -> None:
        """Take a piece of the address."""
        self._url += piece
        if len(self._url) > LONGEST_ADDRESS:
            raise _Refused(LONG_ADDRESS)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header."""
        name = name.lower()
        self._header_bytes += len(name) + len(value) + 4
        if self._header_bytes > MOST_HEADER_BYTES:
            raise _Refused(LONG_HEADERS)
        if name == b"content-length" and int(value) > self._worker.limits.body:
            raise _Refused(TOO_LARGE)
        if self._in_body:
            return  # What follows a body cannot say who asked, or for what: that was taken from what came before it.
        if name == b"expect" and value.lower() == b"100-continue":
            self._expecting = True
        self._headers.append((name, value))

    def on_headers_complete(self) -> None:
        """Ask for the body, if the client waits to be asked: not amid the answer to what it asked before."""
        self._in_body = True
        if self._expecting and not self.answering:
            self._ask_for_body()

    def on_body(self, piece: bytes) -> None:
        """Take a piece of the body."""
        self._body += piece
        if len(self._body) > self._worker.limits.body:
            raise _Refused(TOO_LARGE)

    def on_message_complete(self) -> None:
        """Have a complete request answered, or keep it until those before it are."""
        self._begun = self._expecting = False
        url = httptools.parse_url(self._url)
        method = self._parser.get_method().decode("ascii")
        version = "1.0" if self._parser.get_http_version() == "1.0" else "1.1"
        keep = self._parser.should_keep_alive() and not self._parser.should_upgrade()
        request = Request(method, url.path or b"/", url.query or b"", version, self._headers, bytes(self._body), keep)
        self._waiting.append(request)
        if self.answering:
            self._transport.pause_reading()
        else:
            self._next()

    # What the worker says.

    def refuse(self, why: Refusal) -> None:
        """Answer that a request is refused, and close when the client has had time to read it."""
        if self.gone or self._refusing:
            return
        self._refusing = True
        self._waiting.clear()
        self._transport.write(self._worker.refused(why))
        # Closing at once would throw away the answer together with what is still being sent.
        if self._transport.can_write_eof():
            self._transport.write_eof()
        self._deadline = monotonic() + LAST_CALL
        self.answering = False

    def answered(self, last: bytes, *, keep_alive: bool) -> None:
        """Write the end of an answer and go on to the next request, or close."""
        self.answering = False
        if self.gone or self._refusing:
            return
        self._transport.write(last)
        if not keep_alive:
            self._close()
            return
        self._deadline = monotonic() + self._worker.limits.idle
        self._transport.resume_reading()
        if self._waiting:
            self._next()
        elif self._fault:
            self.refuse(self._fault)
        elif self._expecting and self._in_body:
            self._ask_for_body()

    def stop(self, now: float) -> None:
        """Give a client that is about to ask something a moment to do so: its answer says that it is the last."""
        if not self.answering and not self._begun:
            self._deadline = min(self._deadline, now + LAST_CALL)

    def swept(self, now: float) -> None:
        """Close if the client took too long."""
        if self.answering:
            self._sweep_unread(now)
        elif now <= self._deadline:
            return
        elif self._refusing:
            self._transport.abort()
        elif self._begun:
            self.refuse(TOO_SLOW)
        else:
            self._close()

    def abort(self) -> None:
        """Break off, so that the client sees that its answer is not whole."""
        if not self.gone:
            self._transport.abort()

    def send(self, piece: bytes, loop: asyncio.AbstractEventLoop) -> bool:
        """Write from another thread; wait while the client reads slowly. Return whether anybody still reads."""
        if not self._drained.wait(self._worker.limits.reading):
            loop.call_soon_threadsafe(self.abort)
            return False
        if not self.gone:
            loop.call_soon_threadsafe(self._write, piece)
        return not self.gone

    def _give_up(self, why: Refusal) -> None:
        """Refuse what cannot be read when what came before it has been answered."""
        if self.answering:
            self._fault = why
        else:
            self.refuse(why)

    def _ask_for_body(self) -> None:
        self._expecting = False
        self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def _next(self) -> None:
        self.answering = True
        self._unsent, self._deadline = 0, 0.0
        self._worker.admit(self, self._waiting.popleft())

    def _write(self, piece: bytes) -> None:
        if not self.gone:
            self._transport.write(piece)

    def _close(self) -> None:
        # What is not yet sent is sent first; what is never read is given up in the end.
        self._refusing = True
        self._deadline = monotonic() + self._worker.limits.reading
        self._transport.close()

    def _sweep_unread(self, now: float) -> None:
        """Cut off a client that reads nothing of a waiting answer."""
        unsent = self._transport.get_write_buffer_size()
        if not unsent or unsent != self._unsent:
            self._unsent, self._deadline = unsent, now + self._worker.limits.reading
        elif now > self._deadline:
            self._transport.abort()

    def _reset(self) -> None:
        self._url = b""
        self._headers: list[tuple[bytes, bytes]] = []
        self._header_bytes = 0
        self._body = bytearray()
        self._expecting = self._in_body = False


def _end(address: Any) -> tuple[str, int]:
    return (address[0], address[1]) if isinstance(address, tuple) else ("", 0)
