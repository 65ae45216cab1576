"""Requests of HTTP/1.1 out of the bytes of one connection, within bounds whatever is sent."""

from __future__ import annotations

import re
from collections import deque
from time import monotonic
from typing import Any

import httptools

from .budget import Budget, Charge
from .gateway import HttpRequest
from .limits import Limits
from .refusals import LONG_ADDRESS, LONG_HEADERS, NO_MEMORY, TOO_LARGE, UNREADABLE, Refusal

MOST_HEADER_BYTES = 16_384
LONGEST_ADDRESS = 8_190
"""Bytes of path and query: a longer query comes in a body."""
FREE_BODY = 16_384
"""Bytes of a body that are not charged to the memory budget: large bodies keep no ordinary search out."""
_SLICE = 4_096
"""Bytes that are parsed at once: so many requests of a pipeline, and no more, are held beside the one in work."""
_HOST = re.compile(rb"[A-Za-z0-9._~!$&'()*+,;=%:\[\]-]*")
_WISHES = (b"connection", b"upgrade", b"http2-settings")
"""The headers by which a client asks for another protocol."""


class _Refused(Exception):
    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.detail)
        self.refusal = refusal


class RequestReader:
    """Reads requests one after the other; what comes after a whole request waits unread.

    ``fault`` says why nothing more can be read; the requests before it are in ``requests`` all the same.
    """

    def __init__(self, limits: Limits, budget: Budget) -> None:
        self._limits = limits
        self._budget = budget
        self._parser: Any = httptools.HttpRequestParser(self)
        self._unread = b""
        self._charge = Charge(budget)
        self.requests: deque[HttpRequest] = deque()
        self.fault: Refusal | None = None
        self.began = 0.0
        """When the request began that is not yet whole, by the monotonic clock; 0 if there is none."""
        self._reset()

    @property
    def backlog(self) -> bool:
        """Whether a request, or what may become one, waits for those before it."""
        return bool(self.requests or self._unread)

    @property
    def awaits_body(self) -> bool:
        """Whether the client waits to be asked for the body."""
        return self._expecting and self._in_body

    def asked_for_body(self) -> None:
        """Note that the client has been asked for its body."""
        self._expecting = False

    def feed(self, data: bytes) -> None:
        """Take bytes as they come."""
        if self.fault is None:
            self._unread += data

    def read(self) -> None:
        """Read on until a request is whole, something is wrong, or nothing is left."""
        at = 0
        unread = self._unread
        while at < len(unread) and not self.requests and self.fault is None:
            piece, at = unread[at : at + _SLICE], at + _SLICE
            rest = self._parse(piece)
            if rest:
                unread, at = rest + unread[at:], 0
        self._unread = b"" if self.fault else unread[at:]

    def close(self) -> None:
        """Let go of everything: parser and reader hold each other, and what was read would stay with them."""
        for request in self.requests:
            request.charge.release()
        self.requests.clear()
        self._charge.release()
        self._reset()
        self._parser, self._unread = None, b""

    def _parse(self, piece: bytes) -> bytes:
        """Parse a piece; return what of it is still to be parsed."""
        self._silent += len(piece)
        try:
            self._parser.feed_data(piece)
        except httptools.HttpParserUpgrade as upgrade:
            # No other protocol is spoken here: the request is answered as if nobody had asked for one.
            return self._without_upgrade(piece[upgrade.args[0] :]) if self._has_body else b""
        except httptools.HttpParserCallbackError as error:
            cause = error.__context__
            self._give_up(cause.refusal if isinstance(cause, _Refused) else UNREADABLE)
        except httptools.HttpParserError:
            self._give_up(UNREADABLE)
        if self._silent > MOST_HEADER_BYTES:
            # The parser gathers a header whole before it hands it over.
            self._give_up(LONG_HEADERS)
        return b""

    def _without_upgrade(self, rest: bytes) -> bytes:
        """Return the request that asked for another protocol, as far as it has come, without that wish."""
        lines = [self._parser.get_method() + b" " + self._url + b" HTTP/1.1", b"Connection: close"]
        lines += [name + b": " + value for name, value in self._headers if name not in _WISHES]
        self._parser = httptools.HttpRequestParser(self)
        return b"\r\n".join([*lines, b"", rest])

    def _give_up(self, refusal: Refusal) -> None:
        self.fault = self.fault or self._by_whom(refusal)
        self._charge.release()
        self._reset()

    def _by_whom(self, refusal: Refusal) -> Refusal:
        """Return the refusal with what is known of the client, who may be a person with a browser."""
        accepted = b",".join(value for name, value in self._headers if name == b"accept")
        return refusal._replace(address=self._url.decode("latin-1"), accept=accepted.decode("latin-1"))

    # What the parser calls, in this order.

    def on_message_begin(self) -> None:
        """Begin a request."""
        self._reset()
        self._charge = Charge(self._budget)
        self.began = monotonic()

    def on_url(self, piece: bytes) -> None:
        """Take a piece of the address."""
        self._silent = 0
        self._url += piece
        if len(self._url) > LONGEST_ADDRESS:
            raise _Refused(LONG_ADDRESS)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header."""
        self._silent = 0
        name = name.lower()
        self._header_bytes += len(name) + len(value) + 4
        if self._header_bytes > MOST_HEADER_BYTES:
            raise _Refused(LONG_HEADERS)
        if self._in_body:
            return  # What follows a body cannot say who asked, or for what: that was taken from what came before it.
        self._check(name, value)
        self._headers.append((name, value))

    def on_headers_complete(self) -> None:
        """Refuse what no server can be sure to read as its client meant it (RFC 9112, 2.3, 3.2 and 6.1)."""
        self._in_body = True
        version = self._parser.get_http_version()
        if version not in ("1.0", "1.1") or self._parser.get_method() == b"CONNECT":
            raise _Refused(UNREADABLE)
        if version == "1.1" and b"host" not in self._seen:
            raise _Refused(UNREADABLE)
        if version == "1.0" and b"transfer-encoding" in self._seen:
            raise _Refused(UNREADABLE)
        if self._announced > self._limits.body:
            raise _Refused(TOO_LARGE)

    def on_body(self, piece: bytes) -> None:
        """Take a piece of the body."""
        self._silent = 0
        # One block that grows: what is large is mapped by itself, and goes back to the system at once.
        self._body += piece
        if len(self._body) > self._limits.body:
            raise _Refused(TOO_LARGE)
        more = len(self._body) - FREE_BODY - self._charge.held
        if more > 0 and not self._charge.take(more):
            raise _Refused(NO_MEMORY)

    def on_message_complete(self) -> None:
        """Put a whole request where it is answered from."""
        if self._parser.should_upgrade() and self._has_body:
            return  # its body comes yet
        url = httptools.parse_url(self._url)
        method = self._parser.get_method().decode("ascii")
        keep = self._parser.should_keep_alive() and not self._parser.should_upgrade()
        self.requests.append(
            HttpRequest(
                method=method,
                path=url.path or b"/",
                query=url.query or b"",
                version=self._parser.get_http_version(),
                headers=self._headers,
                body=bytes(self._body),
                keep_alive=keep,
                charge=self._charge,
            )
        )
        self._charge = Charge(self._budget)
        self._reset()

    @property
    def _has_body(self) -> bool:
        return not {b"content-length", b"transfer-encoding"}.isdisjoint(self._seen)

    def _check(self, name: bytes, value: bytes) -> None:
        if name == b"content-length":
            self._announced = int(value)
        if name == b"expect" and value.lower() == b"100-continue":
            self._expecting = True
        if name in (b"host", b"transfer-encoding") and name in self._seen:
            raise _Refused(UNREADABLE)
        if name == b"host" and not _HOST.fullmatch(value.strip()):
            raise _Refused(UNREADABLE)
        if name == b"transfer-encoding" and value.strip().lower() != b"chunked":
            raise _Refused(UNREADABLE)
        self._seen.add(name)

    def _reset(self) -> None:
        self.began = 0.0
        self._url = b""
        self._headers: list[tuple[bytes, bytes]] = []
        self._seen: set[bytes] = set()
        self._header_bytes = self._silent = self._announced = 0
        self._body = bytearray()
        self._expecting = self._in_body = False
