"""The worker process: an event loop that reads and writes, and a few threads that answer.

A request reaches a thread when it has been read whole. As many may wait as :class:`Limits` says; what comes then is
refused at once, so that overload does not become delay.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import signal
import socket
import sys
from contextlib import suppress
from time import monotonic
from typing import Any

import uvloop
from gunicorn.workers.base import Worker

from .allocator import give_memory_back, share_memory_among_threads
from .answering import Answering
from .budget import Budget
from .capacity import Capacity
from .connection import Connection
from .gateway import HttpRequest
from .hooks import Hooks
from .limits import Limits
from .refusals import OVERLOADED, Refusal

_TICK = 0.25
_YIELD = 0.002
_RESERVED_CONNECTIONS = 16
"""Connections above the limit that are still read, in case they ask how the server is."""
_RESERVED_DESCRIPTORS = 256
"""File descriptors that connections leave to indexes, templates and writers; a quarter where there are few."""
_MUCH = 16 << 20
"""Bytes of bodies and answers after which, when all are gone, memory is given back."""
_log = logging.getLogger("factseek.server")


class EventWorker(Worker):  # type: ignore[misc]  # gunicorn has no types
    """One worker process of gunicorn, for :class:`factseek.server.serve.FactseekServer`."""

    def init_process(self) -> None:
        """Make the event loop of this process, load the application, serve."""
        share_memory_among_threads()
        self.loop = uvloop.new_event_loop()
        asyncio.set_event_loop(self.loop)
        self._stopped = asyncio.Event()
        self._connections: dict[Connection, None] = {}
        self._accepting: set[asyncio.Task[Any]] = set()
        self.limits: Limits = self.app.limits
        self.budget = Budget(self.limits.memory)
        self._capacity: Capacity = self.app.capacity
        self._capacity.enter(self.age)
        super().init_process()
        self._end()

    def _end(self) -> None:
        """End the process, all of its work being done, without what an ordinary end runs.

        The Java virtual machine and native libraries still have threads, and no order is given in which their
        destructors run: one that joins a thread which is gone already ends the process with a fault.
        """
        logging.shutdown()
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(0)

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
        """Serve until a signal stops it, then finish what was asked."""
        self._hooks: Hooks = self.app.hooks()
        self._answering = Answering(self.loop, self.wsgi, self._hooks, self.limits, self.budget)
        self._answering.start()
        try:
            self.loop.run_until_complete(self._serve())
        finally:
            self._answering.stop(self.cfg.graceful_timeout)
            self._hooks.close()
            self.loop.close()

    # What a connection asks.

    def opened(self, connection: Connection) -> None:
        """Count a connection; where they are too many, close one that is idle, or refuse this one."""
        self._connections[connection] = None
        self._capacity.report(len(self._connections))
        if not self._beyond(connection, 0) or self._closed_an_idle_one(connection):
            return
        connection.crowded = True
        if self._beyond(connection, _RESERVED_CONNECTIONS):
            connection.refuse(OVERLOADED)

    def closed(self, connection: Connection) -> None:
        """Forget a connection."""
        self._connections.pop(connection, None)
        self._capacity.report(len(self._connections))

    def admit(self, connection: Connection, request: HttpRequest) -> None:
        """Let a request wait for a thread, or refuse it."""
        self._answering.admit(connection, request)

    def refused(self, refusal: Refusal) -> bytes:
        """Count a refusal; return the whole answer that says so."""
        return self._hooks.refused(refusal)

    def _beyond(self, connection: Connection, reserve: int) -> bool:
        """Return whether this is a connection too many, even with a reserve of so many."""
        limits = self.limits
        if len(self._connections) > limits.connections + reserve:
            return True
        # The system grants the lowest number that is free: it says how many descriptors are in use.
        kept = min(_RESERVED_DESCRIPTORS, limits.descriptors // 4)
        return bool(limits.descriptors) and connection.descriptor >= limits.descriptors - kept + reserve

    def _closed_an_idle_one(self, newest: Connection) -> bool:
        """Close a connection that is idle, rather one that never asked anything; return whether there was one."""
        for unused in (True, False):
            for connection in self._connections:
                if connection is not newest and connection.idle and not (unused and connection.used):
                    connection.close_idle()
                    return True
        return False

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
        self._answering.stopping = True
        self._stopped.clear()
        while (self._connections or self._answering.busy) and monotonic() < deadline:
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
        if self.budget.calmed(_MUCH):
            give_memory_back()
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
