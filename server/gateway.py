"""The gateway between uvicorn, which speaks HTTP, and the application, which runs in threads.

A request takes a thread only after its whole body has been read, so a slow client blocks nobody. At
most ``server.max_waiting`` requests wait; more are refused at once. If the application does not
declare the length of an answer, each piece is made after the client has read the previous ones,
without a thread in between. An empty piece means that the next one is not ready; the gateway asks
again after a pause.
"""

from __future__ import annotations

import asyncio
import io
import logging
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import lru_cache
from math import inf
from time import monotonic
from typing import Any, NamedTuple
from urllib.parse import unquote_to_bytes

from werkzeug.exceptions import HTTPException, RequestEntityTooLarge

from ..core.errors import FactseekError
from . import uploads
from .auth import is_known, make_unauthorized
from .errors import OverloadedError, RefusedError, StoppingError
from .hooks import LAST_LINE, REFUSAL
from .memory import MEMORY, Budget, Charge
from .settings import ServerSettings

WSGI = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]
# Also answered in an overload: an overloaded server is not dead.
ALWAYS = ("/livez", "/readyz", "/metrics")
# Seconds for a refused client to read the reason, and for a last request before a stop.
LAST_CALL = 2.0
_LAST_WORDS = LAST_CALL + 1.0  # seconds after the time of a stop for a last line or a refusal
UPLOAD = "factseek.upload"  # the key in the scope for the file of a request's body
RESET = "factseek.reset"  # the key in the scope for the function that resets the connection
# Requests that wait for a writer have their own threads, so that no search waits.
_CHANGES = ("PUT", "DELETE")
# The addresses of the page whose forms change an index.
_FORMS = ("/add", "/edit/", "/delete/", "/undo/")
_CHANGE_THREADS, _ALWAYS_THREADS, _STREAM_THREADS = 16, 2, 2
# Bytes of a body that are not charged: large bodies never block ordinary searches.
_FREE_BODY = 16_384
_OF_BODIES = 0.75  # the share of the memory that bodies may take; the rest is left for answers
_LARGE_ANSWER = 1 << 18  # bytes of an answer above which it is charged until the client has read it
# The most bytes, and seconds, for which small pieces are collected.
_TOGETHER, _TOGETHER_SECONDS = 16_384, 0.01
_PAUSE = 0.1  # seconds from an empty piece until the gateway asks for the next one
_log = logging.getLogger("factseek.server")


class _GoneError(Exception):
    """The client left before its request was complete."""


class Lane:
    """The requests of one kind: the threads that answer them, and how many may wait."""

    def __init__(self, name: str, threads: int, waiting: float) -> None:
        self.pool = ThreadPoolExecutor(threads, name)
        self.capacity = threads + waiting
        # Each with its scope and its work.
        self.jobs: dict[asyncio.Future[Answer], tuple[Any, Future[None]]] = {}

    def make_way(self) -> None:
        """Make room for a request, if necessary by refusing one whose client may be gone, or raise
        OverloadedError.
        """
        if len(self.jobs) < self.capacity:
            return
        for future, (scope, work) in self.jobs.items():
            if scope.get("half_closed") and work.cancel():
                del self.jobs[future]
                future.set_exception(OverloadedError())
                return
        raise OverloadedError


class Answer(NamedTuple):
    """The head of an answer with its whole body, or with its first piece and the ``rest``."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes
    rest: Iterator[bytes] | None
    close: Callable[[], object]


class Gateway:
    """The application as an ASGI 3 callable.

    PUT, DELETE, the page's forms and requests to ``changing`` addresses wait for a writer.
    """

    def __init__(
        self, application: WSGI, settings: ServerSettings, changing: Iterable[str] = ()
    ) -> None:
        self.refused: Callable[[int], object] = lambda _: None  # called with each refusal's status
        self.settings = settings
        self._application = application
        self._changing = frozenset(changing)
        self.budget = Budget(settings.memory_bytes)
        self._searches = Lane("answer", settings.threads, settings.max_waiting)
        self._stream_pool = ThreadPoolExecutor(_STREAM_THREADS, "stream")
        self._streams, self._most_streams = 0, settings.threads + settings.max_waiting
        self._always = Lane("always", _ALWAYS_THREADS, inf)
        self._changes = (
            Lane("change", _CHANGE_THREADS, settings.max_waiting)
            if settings.writes
            else self._searches
        )
        self._running: set[asyncio.Task[Any]] = set()
        self._over = False  # whether the time of a stop is over
        self.unfinished = 0  # the number of requests that a stop has cut off

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request."""
        task = asyncio.current_task()
        sender, environ, charge = _Sender(send), environ_of(scope), Charge(self.budget)
        environ[MEMORY] = charge
        if task is not None:
            self._running.add(task)
        try:
            await self._exchange(scope, environ, charge, receive, sender)
        except asyncio.CancelledError:
            if not self._over:
                raise
            self.unfinished += 1
            await self._cut_off(scope, environ, receive, sender)
        except _GoneError:
            pass  # nobody reads the answer
        except FactseekError as error:
            if not sender.started:
                raise
            _log.error("an answer was broken off: %s", error.line)
            scope[RESET]()
        finally:
            if task is not None:
                self._running.discard(task)
            if UPLOAD in scope:
                scope[UPLOAD].close()
            charge.close()

    def end(self) -> None:
        """Cut off all requests that are not answered yet, because the time of a stop is over."""
        self._over = True
        for task in tuple(self._running):
            task.cancel()

    async def _exchange(
        self, scope: Any, environ: dict[str, Any], charge: Charge, receive: Any, sender: _Sender
    ) -> None:
        method, path = scope["method"], scope["path"]
        changes = (
            method in _CHANGES
            or path in self._changing
            or (method == "POST" and path.startswith(_FORMS))
        )
        lane = (
            self._always
            if scope["path"] in ALWAYS
            else self._changes
            if changes
            else self._searches
        )
        try:
            if scope.get("crowded") and lane is not self._always:
                raise OverloadedError
            if self._is_upload(scope, environ):
                await self._receive_file(scope, environ, receive)
            else:
                body = await self._body(scope, receive, charge)
                environ["wsgi.input"] = io.BytesIO(body)
                if body:
                    environ["CONTENT_LENGTH"] = str(len(body))
            answer = await self._answer(lane, scope, environ, join=scope["http_version"] == "1.0")
            if answer.rest is not None:
                await self._stream(answer, receive, sender)
            else:
                charge.keep(len(answer.body) if len(answer.body) > _LARGE_ANSWER else 0)
                await _send_whole(answer, sender)
        except (RefusedError, HTTPException) as error:
            if sender.started:
                raise  # it is too late for a refusal
            await self._refuse(error, environ, receive, sender)

    async def _cut_off(
        self, scope: Any, environ: dict[str, Any], receive: Any, sender: _Sender
    ) -> None:
        """Tell the client that the server stops: by a refusal, by the last line of the stream, or
        else by a reset.
        """
        with suppress(_GoneError, TimeoutError):
            async with asyncio.timeout(_LAST_WORDS):
                if not sender.started:
                    await self._refuse(StoppingError(), environ, receive, sender)
                elif LAST_LINE in environ and sender.after_line:
                    await sender({"type": "http.response.body", "body": environ[LAST_LINE]})
        if not sender.complete:
            # A client could take the end of a connection for the end of the answer, but not a
            # reset.
            scope[RESET]()

    def _is_upload(self, scope: Any, environ: dict[str, Any]) -> bool:
        """Return whether a request is a form with a file, from a client with a key.

        Raises RefusedError if the form is too large for a client without a key.
        """
        settings = self.settings
        if scope["method"] != "POST" or scope["path"] != uploads.ADDRESS or not settings.writes:
            return False
        sent = environ.get("HTTP_AUTHORIZATION", ""), environ.get("HTTP_X_API_KEY", "")
        if is_known(*sent, settings.keys):
            return True
        if _announced(scope) > settings.max_body_bytes:
            raise make_unauthorized()
        return False

    async def _receive_file(self, scope: Any, environ: dict[str, Any], receive: Any) -> None:
        """Write the body of a request to the disk, from where the application reads it."""
        most = uploads.most_of_form(self.settings)
        too_large = uploads.UploadTooLargeError(self.settings.max_upload_bytes)
        if _announced(scope) > most:
            raise too_large
        upload = scope[UPLOAD] = await asyncio.to_thread(uploads.Upload)
        upload.check_room(_announced(scope))
        waiting, more = bytearray(), True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise _GoneError
            waiting += message["body"]
            more = message.get("more_body")
            if upload.size + len(waiting) > most:
                raise too_large
            if len(waiting) >= uploads.AT_ONCE or not more:
                # The disk may be slow, and other clients must not wait for it.
                await asyncio.to_thread(upload.write, bytes(waiting))
                waiting.clear()
        await asyncio.to_thread(upload.rewind)
        environ["wsgi.input"] = upload.file
        environ["CONTENT_LENGTH"] = str(upload.size)

    async def _body(self, scope: Any, receive: Any, charge: Charge) -> bytes:
        if _announced(scope) > self.settings.max_body_bytes:
            raise RequestEntityTooLarge
        body = bytearray()
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise _GoneError
            body += message["body"]
            if len(body) > self.settings.max_body_bytes:
                raise RequestEntityTooLarge
            if len(body) > _FREE_BODY:
                charge.keep(len(body) - _FREE_BODY, _OF_BODIES)
            if not message.get("more_body"):
                return bytes(body)

    async def _answer(
        self, lane: Lane, scope: Any, environ: dict[str, Any], *, join: bool
    ) -> Answer:
        """Let a thread of ``lane`` answer; with ``join``, in one piece.

        Raise OverloadedError if too many wait.
        """
        lane.make_way()
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Answer] = loop.create_future()

        def settle(set_: Callable[[Any], None], value: Answer | Exception) -> None:
            if not future.cancelled():
                set_(value)

        def work() -> None:
            try:
                answer = _call_application(self._application, environ, join=join)
            # An error of the application ends this answer, not the thread.
            except Exception as error:  # noqa: BLE001
                loop.call_soon_threadsafe(settle, future.set_exception, error)
                return
            loop.call_soon_threadsafe(settle, future.set_result, answer)
            if answer.rest is None:
                _close(answer)  # after the hand-over, so that nobody waits for the log

        lane.jobs[future] = scope, lane.pool.submit(work)
        try:
            return await future
        finally:
            lane.jobs.pop(future, None)

    async def _stream(self, answer: Answer, receive: Any, send: Any) -> None:
        pool, loop = self._stream_pool, asyncio.get_running_loop()
        if self._streams >= self._most_streams:
            pool.submit(_close, answer)
            raise OverloadedError
        self._streams += 1
        gone = loop.create_task(receive())
        work: Future[tuple[bytes, bool, bool]] | None = None
        try:
            await _begin(answer, send, more=True)
            more = True
            while more and not gone.done():
                work = pool.submit(_next_pieces, answer.rest or ())
                piece, more, waits = await asyncio.wrap_future(work)
                await send({"type": "http.response.body", "body": piece, "more_body": more})
                if waits:
                    await asyncio.sleep(_PAUSE)
        finally:
            gone.cancel()
            self._streams -= 1
            if work is None or work.done():
                pool.submit(_close, answer)
            else:  # a piece is still being made, and only afterwards can the answer be closed
                work.add_done_callback(lambda _: _close(answer))

    async def _refuse(
        self, error: Exception, environ: dict[str, Any], receive: Any, send: Any
    ) -> None:
        whole = "wsgi.input" in environ  # whether the body of the request has been read
        # The traceback would keep the body in memory until garbage collection.
        error.__traceback__ = error.__context__ = None
        answer = _call_application(
            self._application, {**environ, "wsgi.input": io.BytesIO(), REFUSAL: error}, join=True
        )
        _close(answer)
        self.refused(answer.status)
        if whole:
            await _send_whole(answer, send)
            return
        # Closing at once would discard the answer while the client is still sending.
        answer.headers.append((b"connection", b"close"))
        await _begin(answer, send, more=True)
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST_CALL):
                while (await receive()).get("more_body"):
                    pass
        await send({"type": "http.response.body", "body": b""})


def _announced(scope: Any) -> int:
    """Return the number of bytes that a request announces for its body, 0 if it announces none."""
    return next((int(value) for name, value in scope["headers"] if name == b"content-length"), 0)


def environ_of(scope: Any) -> dict[str, Any]:
    """Return the WSGI environment of a request (PEP 3333), without the body and headers whose names
    have ``_``.
    """
    server, client = scope["server"] or ("", 0), scope["client"] or ("", 0)
    environ: dict[str, Any] = {
        "REQUEST_METHOD": scope["method"],
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote_to_bytes(scope["raw_path"]).decode("latin-1"),
        "QUERY_STRING": scope["query_string"].decode("latin-1"),
        "SERVER_NAME": server[0],
        "SERVER_PORT": str(server[1]),
        "SERVER_PROTOCOL": f"HTTP/{scope['http_version']}",
        "REMOTE_ADDR": client[0],
        "REMOTE_PORT": str(client[1]),
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.input_terminated": True,
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
    }
    for name, value in scope["headers"]:
        key = _variable(name)
        if key:
            text = value.decode("latin-1")
            environ[key] = f"{environ[key]},{text}" if key in environ else text
    return environ


@lru_cache(maxsize=1000)
def _variable(name: bytes) -> str:
    # The whole body has been read, so its transfer encoding and its declared length no longer
    # apply.
    if b"_" in name or name in (b"transfer-encoding", b"content-length"):
        return ""
    upper = name.decode("latin-1").upper().replace("-", "_")
    return upper if upper == "CONTENT_TYPE" else f"HTTP_{upper}"


def _call_application(application: WSGI, environ: dict[str, Any], *, join: bool) -> Answer:
    started: list[tuple[str, list[tuple[str, str]]]] = []

    def start(status: str, headers: list[tuple[str, str]], _: Any = None) -> None:
        started[:] = [(status, headers)]

    iterable = application(environ, start)
    close = getattr(iterable, "close", lambda: None)
    pieces = iter(iterable)
    try:
        first = next(pieces, b"")
        status, headers = started[0]
        names = {name.lower() for name, _ in headers}
        bodiless = environ["REQUEST_METHOD"] == "HEAD" or status[:3] in ("204", "304")
        stream = not join and not bodiless and "content-length" not in names
        body = first if stream else b"".join([first, *pieces])
    except BaseException:
        close()
        raise
    # werkzeug adds a Date header to cacheable answers, but uvicorn adds one to every answer.
    lines = [
        (name.encode("latin-1"), value.encode("latin-1"))
        for name, value in headers
        if name != "Date"
    ]
    if join and not bodiless and "content-length" not in names:
        lines.append((b"content-length", b"%d" % len(body)))
    return Answer(int(status[:3]), lines, body, pieces if stream else None, close)


def _next_pieces(pieces: Iterable[bytes]) -> tuple[bytes, bool, bool]:
    """Return the next pieces of an answer, whether there are more, and whether to wait before
    asking for them.
    """
    until, together = monotonic() + _TOGETHER_SECONDS, bytearray()
    for piece in pieces:
        together += piece
        if not piece or len(together) >= _TOGETHER or monotonic() > until:
            return bytes(together), True, not piece
    return bytes(together), False, False


def _close(answer: Answer) -> None:
    try:
        answer.close()
    except Exception:  # noqa: BLE001  the client already has the answer
        _log.exception("an answer could not be closed")


class _Sender:
    """Sends an answer, and knows how much of it has been sent.

    Raises _GoneError if the client has left.
    """

    def __init__(self, send: Any) -> None:
        self._send = send
        self.started = self.complete = False
        self.after_line = True  # whether the sent part of the body ends with a line

    async def __call__(self, message: dict[str, Any]) -> None:
        try:
            await self._send(message)
        except RuntimeError as error:  # uvloop raises it for a closed transport
            if "is closed" in str(error):
                raise _GoneError from None
            raise
        self.started = True
        if message["type"] != "http.response.body":
            return
        if message["body"]:
            self.after_line = message["body"].endswith(b"\n")
        self.complete = not message.get("more_body")


async def _begin(answer: Answer, send: Any, *, more: bool) -> None:
    await send({"type": "http.response.start", "status": answer.status, "headers": answer.headers})
    await send({"type": "http.response.body", "body": answer.body, "more_body": more})


async def _send_whole(answer: Answer, send: Any) -> None:
    """Send an answer. If it is large, return after the client has read most of it."""
    large = len(answer.body) > _LARGE_ANSWER
    await _begin(answer, send, more=large)
    if large:
        await send({"type": "http.response.body", "body": b""})
