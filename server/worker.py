"""A worker process of gunicorn. It runs uvicorn's server with limits that uvicorn lacks.

These limit the time of a head or of reading an answer, connections, heads, trailers and pipelined
requests.
"""

from __future__ import annotations

import asyncio
import fcntl
import logging
import os
import re
import signal
import socket
import struct
import sys
import termios
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from http import HTTPStatus
from typing import Any

import uvicorn
from gunicorn.workers.base import Worker
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from .accepting import Acceptor, Turns
from .gateway import LAST_CALL, RESET, UPLOAD, Gateway
from .memory import give_memory_back, share_memory_among_threads

# Seconds to send a request or read more of an answer; and of silence between requests.
READING, IDLE = 20.0, 15.0
# Bytes a second of an upload that is not too slow: it may take longer than `READING`.
_SLOWEST_UPLOAD = 50_000
# Bytes of a head, and of its address; a body may have a longer query.
_MOST_HEAD, _MOST_ADDRESS = 16_384, 8_190
BACKLOG = 2048  # the number of connections that may wait until they are accepted
# Bytes to parse at once: only the pipelined requests in one slice are kept besides the current one.
_SLICE = 4_096
# Connections above the limit that are still read, because they may be health checks.
_RESERVED_CONNECTIONS = 16
_SWEEP_EVERY = 1.0  # seconds between two searches for slow clients
_LAST_WORDS = 2 * LAST_CALL  # seconds after `server.stop_seconds` for last lines and refusals
STOP_MARGIN = 3 * LAST_CALL  # seconds after `server.stop_seconds` until a process has ended
# The value of SO_LINGER that makes closing a connection reset it.
_AT_ONCE = struct.pack("ii", 1, 0)
_MUCH = 16 << 20  # after more bytes than this, memory is given back once nothing is held
_HOST = re.compile(rb"[A-Za-z0-9._~!$&'()*+,;=%:\[\]-]*")
_UPGRADE = re.compile(rb"\r\nUpgrade:", re.IGNORECASE)
_log = logging.getLogger("factseek.server")


class _Connection(HttpToolsProtocol):
    def __init__(
        self,
        *args: Any,
        gateway: Gateway,
        most: int,
        note_count: Callable[[int], object],
        **more: Any,
    ) -> None:
        """Accept at most ``most`` connections; tell ``note_count`` how many there are."""
        super().__init__(*args, **more)
        self._note_count = note_count
        self._most, self._answering, self._refused = (
            most,
            gateway.settings.answer_seconds,
            gateway.refused,
        )
        self._unread = b""
        self._silent = 0  # bytes of heads, trailers or chunk framing since the last useful data
        self._received = 0  # bytes of the body of the current request
        self._status = 400
        self._dead = self._crowded = self._stopping = self._half_closed = False
        self._head_since = 0.0  # the time when the incomplete head began; 0 if there is none
        self._swept: Any = None
        self._unsent, self._unsent_since, self._answer_since = 0, 0.0, 0.0

    # Requests.

    def connection_made(self, transport: Any) -> None:
        """Accept a connection.

        If there are too many, close an idle one, preferably one that never sent a request.
        """
        super().connection_made(transport)
        self._note_count(len(self.connections))
        self._free_since = self.loop.time()
        if len(self.connections) <= self._most:
            return
        idle = [
            other
            for other in self.connections
            if isinstance(other, _Connection) and other.idle and other is not self
        ]
        if idle:
            min(
                idle, key=lambda other: (other.cycle is not None, other._free_since)
            ).transport.close()
        elif len(self.connections) > self._most + _RESERVED_CONNECTIONS:
            self._refuse(503)
        else:
            self._crowded = True

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._note_count(len(self.connections))

    @property
    def idle(self) -> bool:
        """Whether there is no request and no answer: the connection may be closed without harm."""
        return not (self._answers or self._head_since or self._dead)

    @property
    def _answers(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def data_received(self, data: bytes) -> None:
        if self._dead:
            return
        begins = not (self._unread or self._head_since or (self._answers and self.cycle.more_body))
        if begins and _UPGRADE.search(data):
            # No other protocol is supported: the request is answered as if it did not ask for an
            # upgrade.
            head, end, rest = data.partition(b"\r\n\r\n")
            data = _UPGRADE.sub(b"\r\nX-Upgrade:", head) + end + rest
        self._unread += data
        self._parse()

    def _parse(self) -> None:
        unread, at = self._unread, 0
        while at < len(unread) and not self.pipeline and not self._dead and self.parser is not None:
            piece, at = unread[at : at + _SLICE], at + _SLICE
            self._silent += len(piece)
            super().data_received(piece)
            if self._silent > _MOST_HEAD:
                # The parser collects a whole header before it passes the header on.
                self._status = 431
                self.send_400_response("")
        self._unread = b"" if self._dead else unread[at:]
        if self._unread:
            self.flow.pause_reading()

    def on_response_complete(self) -> None:
        self._free_since = self.loop.time()
        super().on_response_complete()
        if self.transport.is_closing():
            return
        if self._dead:
            if not self._answers:
                self._write_refusal()
            return
        if self._unread:
            self._parse()
        if self._half_closed and not self._answers and not self._dead:
            self.transport.close()

    def eof_received(self) -> bool:  # type: ignore[override]  # asyncio takes a bool
        """Answer what the client sent before it closed its sending half; return whether to keep our
        half open.
        """
        self._half_closed = True
        if self._answers:
            self.cycle.scope["half_closed"] = True  # type: ignore[typeddict-unknown-key]
        return self._answers and (bool(self.pipeline) or not self.cycle.more_body)

    def shutdown(self) -> None:
        """Give an idle client a moment for a last request, whose answer announces that the
        connection closes.
        """
        if self._answers:
            self.cycle.keep_alive = False
        elif not self._stopping:
            self._stopping = True
            self.loop.call_later(LAST_CALL, self.shutdown)
        else:
            self.transport.close()

    # Callbacks of the parser.

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._head_since = self.loop.time()

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        if len(self.url) > _MOST_ADDRESS:
            self._status = 414
            raise ValueError

    def on_header(self, name: bytes, value: bytes) -> None:
        """Accept a header; ignore trailers, which must not change the caller or the target."""
        if self._head_since:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Refuse requests that could be read in two ways (RFC 9112, 2.3, 3.2 and 6.1)."""
        version, method = self.parser.get_http_version(), self.parser.get_method()
        if self._silent > _MOST_HEAD:
            self._status = 431
            raise ValueError
        hosts = [value for name, value in self.headers if name == b"host"]
        codings = [value for name, value in self.headers if name == b"transfer-encoding"]
        if (
            version not in ("1.0", "1.1")
            or method == b"CONNECT"
            or len(hosts) > 1
            or (version == "1.1" and not hosts)
            or not all(_HOST.fullmatch(host) for host in hosts)
            or (
                codings
                and (version == "1.0" or [coding.lower() for coding in codings] != [b"chunked"])
            )
        ):
            raise ValueError
        self._head_since = self._silent = self._received = 0
        self.scope[RESET] = self._reset  # type: ignore[literal-required]
        if self._crowded:
            self.scope["crowded"] = True  # type: ignore[typeddict-unknown-key]
        super().on_headers_complete()
        if self._stopping:
            self.cycle.keep_alive = False

    def on_body(self, body: bytes) -> None:
        self._silent = 0
        self._received += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._silent = 0
        super().on_message_complete()

    # Refusals.

    def send_400_response(self, msg: str) -> None:
        self._refuse(self._status)

    def _refuse(self, status: int) -> None:
        if self._dead:
            return
        self._dead, self._status, self._unread = True, status, b""
        self._refused(status)
        if self._answers and self.cycle.more_body:
            # The request itself is broken, and the gateway waits for the rest of its body.
            if not self.cycle.response_started:
                self._write_refusal()
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        elif not self._answers:
            self._write_refusal()

    def _write_refusal(self) -> None:
        phrase = HTTPStatus(self._status).phrase.encode()
        again = b"retry-after: 1\r\n" if self._status == 503 else b""
        self.transport.write(
            b"HTTP/1.1 %d %b\r\ncontent-type: text/plain\r\ncontent-length: %d\r\nconnection: "
            b"close\r\n%b\r\n%b" % (self._status, phrase, len(phrase), again, phrase)
        )
        # Closing at once would discard the answer while the client is still sending.
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.loop.call_later(LAST_CALL, self.transport.abort)

    def _reset(self) -> None:
        """Close the connection so that the client sees an error and takes nothing for the end of
        the answer.
        """
        with (
            suppress(OSError),
            socket.socket(fileno=os.dup(self.transport.get_extra_info("socket").fileno())) as same,
        ):
            same.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
        self.transport.abort()

    def sweep(self) -> None:  # noqa: C901  one check after the other
        """Disconnect a client that sends its request, or reads its answer, too slowly."""
        now = self.loop.time()
        unsent = self.transport.get_write_buffer_size()
        if unsent:
            # The system accepts more only after a third of its buffer is free, which takes long
            # with a slow client.
            with suppress(OSError):
                handle = self.transport.get_extra_info("socket").fileno()
                unsent += int.from_bytes(
                    fcntl.ioctl(handle, termios.TIOCOUTQ, bytes(4)), sys.byteorder
                )
        if not unsent or unsent != self._unsent:
            self._unsent, self._unsent_since = unsent, now
        if self.cycle is not self._swept:
            self._swept, self._answer_since = self.cycle, now
        if (unsent and now > self._unsent_since + READING) or (
            self._answers and now > self._answer_since + self._answering
        ):
            self.transport.abort()
        elif self._dead:
            return
        elif self._answers:
            # The gateway accepts so large a file only from a client with a key.
            is_upload = UPLOAD in self.cycle.scope
            allowed = READING + (self._received / _SLOWEST_UPLOAD if is_upload else 0.0)
            late = now > self._answer_since + allowed
            if late and self.cycle.more_body and not self.cycle.response_started:
                self._refuse(408)
        elif self._head_since:
            if now > self._head_since + READING:
                self._refuse(408)
        elif now > self._free_since + IDLE + 1:
            self.transport.close()


class HttpServer(uvicorn.Server):
    """A server of uvicorn that disconnects slow clients, and whose stop has a time limit."""

    def __init__(
        self,
        config: uvicorn.Config,
        gateway: Gateway,
        notify: Callable[[], object],
        every: float,
        turns: Turns | None,
    ) -> None:
        """Look for slow clients and call ``notify`` whenever ``every`` seconds have passed."""
        super().__init__(config)
        self._gateway, self._notify, self._every = gateway, notify, every
        self._turns = turns

    def capture_signals(self) -> AbstractContextManager[None]:  # type: ignore[override]
        """Leave the signals to the process."""
        return nullcontext()

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until ``should_exit`` is set."""
        sweeping = asyncio.create_task(self._sweep())
        try:
            await super().serve(sockets)
        finally:
            sweeping.cancel()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to accept connections, in turns with the other workers if there are any."""
        if self._turns is None or not sockets:
            await super().startup(sockets)
            return
        await super().startup([])
        connections = self.server_state.connections
        for listener in sockets:
            acceptor = Acceptor(
                listener, self._make_protocol, lambda: len(connections), self._turns
            )
            self.servers.append(acceptor)  # type: ignore[arg-type]  # it can be closed as well

    def _make_protocol(self) -> asyncio.Protocol:
        made: asyncio.Protocol = self.config.http_protocol_class(  # type: ignore[call-arg]
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
        return made

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Finish the current requests, and cut off those that take longer than
        ``server.stop_seconds``.
        """
        seconds = self._gateway.settings.stop_seconds
        end = asyncio.get_running_loop().call_later(seconds, self._gateway.end)
        await super().shutdown(sockets)
        end.cancel()
        if self._gateway.unfinished:
            what = (
                "%d unfinished requests were cut off %g seconds after the signal to stop "
                "(server.stop_seconds)"
            )
            _log.warning(what, self._gateway.unfinished, seconds)

    async def _sweep(self) -> None:
        while True:
            self._notify()
            sweep(self, self._gateway)
            await asyncio.sleep(self._every)


def server_of(
    gateway: Gateway,
    most: int,
    notify: Callable[[], object] = lambda: None,
    *,
    every: float = _SWEEP_EVERY,
    turns: Turns | None = None,
) -> HttpServer:
    """Return a server of uvicorn for a gateway, for ``most`` connections.

    It calls ``notify``, and disconnects slow clients, whenever ``every`` seconds have passed. With
    ``turns``, it shares the connections with other workers.
    """
    note_count = turns.note if turns else lambda _: None
    config = uvicorn.Config(
        gateway,
        loop="uvloop",
        http=partial(  # type: ignore[arg-type]
            _Connection, gateway=gateway, most=most, note_count=note_count
        ),
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=int(IDLE),
        # Or a float.
        timeout_graceful_shutdown=gateway.settings.stop_seconds + _LAST_WORDS,  # type: ignore[arg-type]
        backlog=BACKLOG,
    )
    return HttpServer(config, gateway, notify, every, turns)


def sweep(server: uvicorn.Server, gateway: Gateway) -> None:
    """Disconnect slow clients, and give memory back after much was used."""
    for connection in tuple(server.server_state.connections):
        if isinstance(connection, _Connection):
            connection.sweep()
    if gateway.budget.has_calmed(_MUCH):
        give_memory_back()


class EventWorker(Worker):  # type: ignore[misc]  # gunicorn has no types
    """One worker process of gunicorn, for :class:`factseek.server.serve.FactseekServer`."""

    _server: HttpServer | None = None
    place = 0
    """The worker's place among the connection counts; the master sets it before the fork."""

    def init_process(self) -> None:
        """Load the application and serve."""
        share_memory_among_threads()
        super().init_process()

    def init_signals(self) -> None:
        """Let SIGTERM stop the worker after all answers, or at once during its start; let SIGQUIT
        stop it at once.
        """
        for number in self.SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        # Ctrl-C reaches every process of a terminal, and the master passes it on, so workers ignore
        # it.
        for number in (signal.SIGINT, signal.SIGWINCH, signal.SIGUSR1, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, self._stop)
        signal.signal(signal.SIGQUIT, lambda *_: os._exit(0))

    def _stop(self, *_: Any) -> None:
        if self._server is None:
            os._exit(0)
        self._server.should_exit = True

    def run(self) -> None:
        """Serve until a signal stops the worker, then finish the current requests.

        The process exits without the usual cleanup: the Java virtual machine and native libraries
        still have threads, and the order of their destructors is undefined.
        """
        gateway: Gateway
        server: HttpServer
        gateway, server = self.app.server(self.wsgi, self._tick, self.place)
        self._server = server
        server.run([listener.sock for listener in self.sockets])
        if not gateway.unfinished:  # else a thread may still search the indexes
            self.app.reloader.stop()
        exit_at_once()

    def _tick(self) -> None:
        self.notify()
        if self._server is not None and os.getppid() != self.ppid:
            self._server.should_exit = True


def exit_at_once() -> None:
    """End this process without the usual cleanup, which would wait for threads and native
    libraries.
    """
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(0)
