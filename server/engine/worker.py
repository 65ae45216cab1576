"""The worker process: an event loop that reads and writes, and a few threads that answer.

A request reaches a thread when it has been read whole. As many may wait as ``server.max_waiting`` says; what comes then
is told at once to come back later, so that overload does not become delay.
"""

from __future__ import annotations

import asyncio
import ctypes
import errno
import logging
import os
import signal
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from time import monotonic
from typing import Any

import uvloop
from gunicorn.workers.base import Worker

from .capacity import Capacity
from .connection import Connection
from .gateway import WSGI, Exchange, Request
from .hooks import Hooks
from .limits import Limits
from .refusals import FAILED, OVERLOADED, Refusal

ALWAYS = (b"/livez", b"/readyz", b"/metrics")
"""What is answered in overload too: who looks after a server must not take it for dead."""
CHANGES = ("PUT", "DELETE")
"""What waits for the writer of an index: it has threads of its own, so that no search waits behind it."""
CHANGING = 16
"""Those threads: changes that wait together are published together."""
_TICK = 0.25
_YIELD = 0.002
_M_ARENA_MAX = -8
_log = logging.getLogger("factseek.server")


class Lane:
    """Threads that answer one request after the other, and the requests that wait for them."""

    def __init__(self, name: str, threads: int) -> None:
        self.name = name
        self.threads = threads
        self.inside = 0
        self.jobs: SimpleQueue[tuple[Connection, Request] | None] = SimpleQueue()


class EventWorker(Worker):  # type: ignore[misc]  # gunicorn has no types
    """One worker process of gunicorn, for :class:`factseek.server.serve.Server`."""

    def init_process(self) -> None:
        """Make the event loop of this process, load the application, serve."""
        _share_memory_among_threads()
        self.loop = uvloop.new_event_loop()
        asyncio.set_event_loop(self.loop)
        self._stopped = asyncio.Event()
        self._connections: set[Connection] = set()
        self._accepting: set[asyncio.Task[Any]] = set()
        self._answers = Lane("answer", self.cfg.threads)
        self.limits: Limits = self.app.limits
        self._changes = Lane("change", CHANGING) if self.limits.changes else self._answers
        self._lanes = [self._answers, self._changes] if self.limits.changes else [self._answers]
        self._capacity: Capacity = self.app.capacity
        self._capacity.enter(self.age)
        super().init_process()

    def init_signals(self) -> None:
        """Let signals be heard by the event loop: SIGTERM stops when all is answered, SIGQUIT at once."""
        for number in self.SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        # Ctrl-C reaches every process of a terminal, and the master passes it on: it is heard once.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGWINCH, signal.SIG_IGN)
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGABRT, self.handle_abort)
        # An event loop hears signals only while it runs: until then they are heard without it.
        signal.signal(signal.SIGTERM, lambda *_: self._stop())
        signal.signal(signal.SIGQUIT, lambda *_: self._quit())

    def run(self) -> None:
        """Serve until told to stop, then finish what was asked."""
        self._hooks: Hooks = self.app.hooks()
        threads = [
            threading.Thread(target=self._answering, args=[lane], name=f"{lane.name}-{n}")
            for lane in self._lanes
            for n in range(lane.threads)
        ]
        for thread in threads:
            thread.start()
        try:
            self.loop.run_until_complete(self._serve())
        finally:
            for lane in self._lanes:
                for _ in range(lane.threads):
                    lane.jobs.put(None)
            for thread in threads:
                thread.join(timeout=self.cfg.graceful_timeout)
            self._hooks.close()
            self.loop.close()

    # What a connection asks.

    def opened(self, connection: Connection) -> None:
        """Count a connection; one too many is refused."""
        self._connections.add(connection)
        self._capacity.report(len(self._connections))
        if len(self._connections) > self.limits.connections:
            connection.refuse(OVERLOADED)

    def closed(self, connection: Connection) -> None:
        """Forget a connection."""
        self._connections.discard(connection)
        self._capacity.report(len(self._connections))

    def admit(self, connection: Connection, request: Request) -> None:
        """Let a request wait for a thread, or refuse it."""
        lane = self._changes if request.method in CHANGES else self._answers
        if lane.inside >= lane.threads + self.limits.waiting and request.path not in ALWAYS:
            connection.refuse(OVERLOADED)
            return
        lane.inside += 1
        lane.jobs.put((connection, request))

    def refused(self, refusal: Refusal) -> bytes:
        """Count a refusal; return the whole answer that says so."""
        return self._hooks.refused(refusal)

    # The event loop.

    async def _serve(self) -> None:
        self.loop.add_signal_handler(signal.SIGTERM, self._stop)
        self.loop.add_signal_handler(signal.SIGQUIT, self._quit)
        for listener in self.sockets:
            listener.sock.setblocking(False)
            self.loop.add_reader(listener.sock.fileno(), self._readable, listener.sock)
        while self.alive and os.getppid() == self.ppid:
            await self._tick()
        for listener in self.sockets:
            self.loop.remove_reader(listener.sock.fileno())
            listener.close()
        await self._finish()

    async def _finish(self) -> None:
        deadline = monotonic() + self.cfg.graceful_timeout
        self.alive = False
        self._stopped.clear()
        while (self._connections or any(lane.inside for lane in self._lanes)) and monotonic() < deadline:
            for connection in tuple(self._connections):
                connection.stop(monotonic())
            await self._tick()
        for connection in tuple(self._connections):
            connection.abort()

    async def _tick(self) -> None:
        self.notify()
        now = monotonic()
        for connection in tuple(self._connections):
            connection.swept(now)
        try:
            await asyncio.wait_for(self._stopped.wait(), _TICK)
        except TimeoutError:
            return

    def _stop(self) -> None:
        self.alive = False
        self._stopped.set()

    def _quit(self) -> None:
        for connection in tuple(self._connections):
            connection.abort()
        os._exit(0)

    def _readable(self, listener: socket.socket) -> None:
        """Accept one connection; leave it a moment to another worker that has fewer."""
        if self._capacity.others_have_fewer(len(self._connections)):
            self.loop.remove_reader(listener.fileno())
            self.loop.call_later(_YIELD, self._accept_again, listener)
        else:
            self._accept(listener)

    def _accept_again(self, listener: socket.socket) -> None:
        if self.alive:
            self.loop.add_reader(listener.fileno(), self._readable, listener)
            self._accept(listener)

    def _accept(self, listener: socket.socket) -> None:
        try:
            accepted, _ = listener.accept()
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE):
                _log.warning("no file descriptor is left for another connection; raise the limit (ulimit -n)")
                self.loop.remove_reader(listener.fileno())
                self.loop.call_later(_TICK, self._accept_again, listener)
            return
        accepted.setblocking(False)
        task = self.loop.create_task(self.loop.connect_accepted_socket(lambda: Connection(self), accepted))
        self._accepting.add(task)
        task.add_done_callback(self._accepting.discard)

    def _done(self, lane: Lane, connection: Connection, last: bytes, keep_alive: bool) -> None:
        lane.inside -= 1
        connection.answered(last, keep_alive=keep_alive)

    def _broken(self, lane: Lane, connection: Connection, begun: bool) -> None:
        """Say that an answer failed; one that had begun can only be broken off."""
        lane.inside -= 1
        connection.answering = False
        if begun:
            connection.abort()
        else:
            connection.refuse(FAILED)

    # The threads.

    def _answering(self, lane: Lane) -> None:
        with self._hooks.thread():
            while (job := lane.jobs.get()) is not None:
                self._answer(lane, *job)

    def _answer(self, lane: Lane, connection: Connection, request: Request) -> None:
        if connection.gone:
            self._tell(self._done, lane, connection, b"", False)
            return
        application: WSGI = self.wsgi
        exchange = Exchange(application, request, connection.ends)
        try:
            self._tell(self._done, lane, connection, *self._answered(connection, exchange))
        except Exception:  # noqa: BLE001  whatever the application raises ends this answer, not the thread
            _log.exception("an answer failed")
            self._tell(self._broken, lane, connection, exchange.begun)
        finally:
            exchange.close()

    def _answered(self, connection: Connection, exchange: Exchange) -> tuple[bytes, bool]:
        """Answer all but the last piece; return that, and whether the connection may stay open."""
        last = b""
        for piece in exchange.pieces(stopping=lambda: not self.alive):
            if last and not connection.send(last, self.loop):
                return b"", False
            last = piece
        return last, exchange.keep_alive

    def _tell(self, call: Callable[..., object], *args: Any) -> None:
        try:
            self.loop.call_soon_threadsafe(call, *args)
        except RuntimeError:
            _log.debug("the event loop has ended")


def _share_memory_among_threads() -> None:
    """Have the C library keep two arenas, not eight a core, of which each would grow to what one thread once needed."""
    with suppress(AttributeError, OSError):  # only glibc has this
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 2)
