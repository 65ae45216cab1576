"""The threads of a worker that run the application, and how answers get from them to the event loop.

An answer whose length the application does not say is made piece by piece, each when the client has read what came
before: between two pieces it has no thread, so a client that reads slowly costs a buffer. An empty piece says that the
answer waits for something, and is asked again after a while.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from enum import Enum, auto
from functools import partial
from queue import SimpleQueue
from time import monotonic
from typing import Any

from .budget import Budget, Charge
from .connection import HIGH_WATER, Connection
from .gateway import WSGI, Exchange, HttpRequest
from .hooks import Hooks
from .limits import Limits
from .refusals import FAILED, NO_MEMORY, OVERLOADED, Refusal

Pieces = tuple[bytes, ...]
ALWAYS = (b"/livez", b"/readyz", b"/metrics")
"""Addresses that are answered in overload too, by threads of their own: a server at its limit is not dead."""
CHANGES = ("PUT", "DELETE")
"""Methods that wait for the writer of an index: they have threads of their own, so that no search waits."""
_ALWAYS_THREADS, _STREAM_THREADS = 2, 2
_CHANGE_THREADS = 16
"""Changes that wait together are published together."""
_TOGETHER = 16_384
_TOGETHER_SECONDS = 0.01
"""Small pieces that are made within this time are sent together, up to so many bytes."""
_PAUSE = 0.1
"""Seconds after which an answer that had nothing to send is asked again."""
_log = logging.getLogger("factseek.server")


class _Job:
    """A request that is to be answered by a thread, unless it is taken back before one has begun."""

    def __init__(self, lane: _Lane, connection: Connection, request: HttpRequest) -> None:
        self.lane = lane
        self.connection = connection
        self.request = request
        self._unclaimed = [None]

    def claim(self) -> bool:
        """Return whether the caller, whatever its thread, is the first to want the job."""
        try:
            self._unclaimed.pop()
        except IndexError:
            return False
        return True


class _Stream:
    """An answer that is made piece by piece."""

    def __init__(self, exchange: Exchange, connection: Connection, request: HttpRequest, budget: Budget) -> None:
        self.exchange = exchange
        self.connection = connection
        self.request = request
        self.charge = Charge(budget, request.charge)
        self.given_up = False


class _Then(Enum):
    """What follows a piece of a streamed answer."""

    MORE = auto()
    PAUSE = auto()
    """More, after a while: the application had nothing to send, and says so by an empty piece."""
    END = auto()


class _Lane:
    """Threads that do one piece of work after the other, and what waits for them."""

    def __init__(self, name: str, threads: int) -> None:
        self.name = name
        self.threads = threads
        self.inside: dict[_Job | _Stream, None] = {}
        """Jobs that wait, are worked at, or wait for a client, in order; known to the event loop alone."""
        self.work: SimpleQueue[Callable[[], object] | None] = SimpleQueue()


class Answering:
    """Runs the application for the requests of one event loop."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, application: WSGI, hooks: Hooks, limits: Limits, budget: Budget
    ) -> None:
        self._loop = loop
        self._application = application
        self._hooks = hooks
        self._limits = limits
        self._budget = budget
        self.stopping = False
        self._searches = _Lane("answer", limits.threads)
        self._streams = _Lane("stream", _STREAM_THREADS)
        self._always = _Lane("always", _ALWAYS_THREADS)
        self._changes = _Lane("change", _CHANGE_THREADS) if limits.changes else self._searches
        self._lanes = list(dict.fromkeys([self._searches, self._streams, self._always, self._changes]))
        self._threads = [
            threading.Thread(target=self._work, args=[lane], name=f"{lane.name}-{number}")
            for lane in self._lanes
            for number in range(lane.threads)
        ]

    @property
    def busy(self) -> bool:
        """Whether any answer is still being made."""
        return any(lane.inside for lane in self._lanes)

    def start(self) -> None:
        """Start the threads."""
        for thread in self._threads:
            thread.start()

    def stop(self, seconds: float) -> None:
        """End the threads, each when it has done what it is at; wait for so long at most."""
        for lane in self._lanes:
            for _ in range(lane.threads):
                lane.work.put(None)
        until = monotonic() + seconds
        for thread in self._threads:
            thread.join(timeout=max(0.0, until - monotonic()))

    # The event loop.

    def admit(self, connection: Connection, request: HttpRequest) -> None:
        """Let a request wait for a thread, or refuse it."""
        lane = self._lane_of(request)
        if lane is not self._always and (connection.crowded or not self._makes_way(lane)):
            request.charge.release()
            connection.refuse(OVERLOADED)
            return
        job = _Job(lane, connection, request)
        lane.inside[job] = None
        lane.work.put(partial(self._answer, job))

    def _lane_of(self, request: HttpRequest) -> _Lane:
        if request.path in ALWAYS:
            return self._always
        changes = request.method in CHANGES or request.path in self._limits.changing
        return self._changes if changes else self._searches

    def _makes_way(self, lane: _Lane) -> bool:
        """Return whether one more may wait.

        A client that has closed its sending half may have gone: its request gives way where there is no place.
        """
        if len(lane.inside) < lane.threads + self._limits.waiting:
            return True
        for job in lane.inside:
            if isinstance(job, _Job) and job.connection.half_closed and job.claim():
                del lane.inside[job]
                job.request.charge.release()
                job.connection.refuse(OVERLOADED)
                return True
        return False

    def _whole(self, job: _Job, pieces: Pieces, then: Callable[[], object]) -> None:
        del job.lane.inside[job]
        job.connection.write(pieces, then)

    def _begin_stream(self, job: _Job, stream: _Stream, pieces: Pieces) -> None:
        del job.lane.inside[job]
        if len(self._streams.inside) >= self._searches.threads + self._limits.waiting:
            stream.given_up = True
            stream.connection.refuse(OVERLOADED)
            pieces = ()
        self._streams.inside[stream] = None
        self._go_on(stream, pieces)

    def _go_on(self, stream: _Stream, pieces: Pieces) -> None:
        stream.connection.write(pieces, partial(self._streams.work.put, partial(self._continue, stream)))

    def _pause(self, stream: _Stream, pieces: Pieces) -> None:
        """Write what there is, and ask for more after a while."""
        stream.connection.write(pieces, partial(self._loop.call_later, _PAUSE, self._go_on, stream, ()))

    def _end_stream(self, stream: _Stream, end: bytes) -> None:
        del self._streams.inside[stream]
        done = partial(stream.connection.answered, keep_alive=stream.exchange.keep_alive)
        stream.connection.write((end,), done)

    def _forget_stream(self, stream: _Stream) -> None:
        del self._streams.inside[stream]

    def _break_off_stream(self, stream: _Stream) -> None:
        """Close the connection, by which the client sees that its answer is not whole."""
        del self._streams.inside[stream]
        stream.connection.abort()

    def _refuse(self, job: _Job, refusal: Refusal) -> None:
        del job.lane.inside[job]
        job.connection.refuse(refusal)

    # The threads.

    def _work(self, lane: _Lane) -> None:
        with self._hooks.thread():
            while (work := lane.work.get()) is not None:
                work()
                del work  # else it would hold its request until the next one comes

    def _answer(self, job: _Job) -> None:
        if not job.claim():
            return
        request = job.request
        if job.connection.gone:
            request.charge.release()
            self._call(self._refuse, job, FAILED)
            return
        exchange = Exchange(self._application, request, job.connection.ends)
        try:
            head, first = exchange.begin(stopping=self.stopping)
            if exchange.streamed:
                stream = _Stream(exchange, job.connection, request, self._budget)
                self._call(self._begin_stream, job, stream, (head, first))
                return
            self._send_whole(job, exchange, (head, *_rest(exchange, first)))
        except Exception:  # noqa: BLE001  whatever the application raises ends this answer, not the thread
            _log.exception("an answer failed")
            request.charge.release()
            self._call(self._refuse, job, FAILED)
        _close(exchange)

    def _send_whole(self, job: _Job, exchange: Exchange, pieces: Pieces) -> None:
        """Hand an answer over, if there is memory for what the client cannot be expected to read at once."""
        charge, size = job.request.charge, sum(map(len, pieces))
        charge.release(size if size > HIGH_WATER else 0)  # what was charged for making it is kept for sending it
        if size > HIGH_WATER and not charge.take(size - charge.held):
            charge.release()
            self._call(self._refuse, job, NO_MEMORY)
            return
        self._call(self._whole, job, pieces, partial(_answered, job.connection, exchange.keep_alive, charge))

    def _continue(self, stream: _Stream) -> None:
        """Make the next piece of a stream, or end it."""
        stream.charge.release()
        try:
            if stream.connection.gone or stream.given_up:
                self._call(self._forget_stream, stream)
            elif not self._made_more(stream):
                return
        except Exception:  # noqa: BLE001  whatever the application raises ends this answer, not the thread
            _log.exception("an answer failed")
            self._call(self._break_off_stream, stream)
        stream.charge.release()
        _close(stream.exchange)
        stream.request.charge.release()

    def _made_more(self, stream: _Stream) -> bool:
        """Hand the next piece over; return whether it was the last.

        Raises MemoryError if there is none for it.
        """
        piece, then = _next_pieces(stream.exchange)
        if then is _Then.END:
            self._call(self._end_stream, stream, piece)
            return True
        if len(piece) > HIGH_WATER and not stream.charge.take(len(piece)):
            raise MemoryError("a piece of an answer is larger than what is left of the memory for answers")
        self._call(self._pause if then is _Then.PAUSE else self._go_on, stream, (piece,))
        return False

    def _call(self, call: Callable[..., object], *args: Any) -> None:
        try:
            self._loop.call_soon_threadsafe(call, *args)
        except RuntimeError:
            _log.debug("the event loop has ended")


def _answered(connection: Connection, keep_alive: bool, charge: Charge) -> None:
    charge.release()
    connection.answered(keep_alive=keep_alive)


def _rest(exchange: Exchange, first: bytes) -> list[bytes]:
    pieces = [first]
    while (piece := exchange.more()) is not None:
        pieces.append(piece)
    return [piece for piece in pieces if piece]


def _next_pieces(exchange: Exchange) -> tuple[bytes, _Then]:
    """Return what comes next of an answer, and what follows that."""
    until = monotonic() + _TOGETHER_SECONDS
    pieces, size = [], 0
    while (piece := exchange.more()) is not None:
        pieces.append(piece)
        size += len(piece)
        if not piece:
            return b"".join(pieces), _Then.PAUSE
        if size >= _TOGETHER or monotonic() > until:
            return b"".join(pieces), _Then.MORE
    return b"".join([*pieces, exchange.end]), _Then.END


def _close(exchange: Exchange) -> None:
    try:
        exchange.close()
    except Exception:  # noqa: BLE001  the answer is with its client
        _log.exception("an answer could not be closed")
