"""Between HTTP and WSGI: a request read whole becomes an environ, what the application answers becomes bytes."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterable, Iterator
from email.utils import formatdate
from functools import lru_cache
from time import time
from typing import Any, NamedTuple
from urllib.parse import unquote_to_bytes

WSGI = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]
BODILESS = (204, 304)


class Request(NamedTuple):
    """A request as it was read; names of headers are lower-case."""

    method: str
    path: bytes
    query: bytes
    version: str
    headers: list[tuple[bytes, bytes]]
    body: bytes
    keep_alive: bool


class Ends(NamedTuple):
    """The two ends of a connection: address and port of the server and of the client."""

    server: tuple[str, int]
    client: tuple[str, int]


def environ(request: Request, ends: Ends) -> dict[str, Any]:
    """Return what WSGI asks of a server (PEP 3333).

    A header whose name holds an underscore is dropped: it could pass for another one.
    """
    made: dict[str, Any] = {
        "REQUEST_METHOD": request.method,
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote_to_bytes(request.path).decode("latin-1"),
        "QUERY_STRING": request.query.decode("latin-1"),
        "SERVER_NAME": ends.server[0],
        "SERVER_PORT": str(ends.server[1]),
        "SERVER_PROTOCOL": f"HTTP/{request.version}",
        "REMOTE_ADDR": ends.client[0],
        "REMOTE_PORT": str(ends.client[1]),
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(request.body),
        "wsgi.input_terminated": True,
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
    }
    for name, value in request.headers:
        key, text = _variable(name), value.decode("latin-1")
        if key:
            made[key] = f"{made[key]},{text}" if key in made else text
    # The body was read whole, whatever its transfer encoding was.
    made.pop("HTTP_TRANSFER_ENCODING", None)
    made.pop("CONTENT_LENGTH", None)
    if request.body:
        made["CONTENT_LENGTH"] = str(len(request.body))
    return made


@lru_cache(maxsize=1000)
def _variable(name: bytes) -> str:
    if b"_" in name:
        return ""
    upper = name.decode("latin-1").upper().replace("-", "_")
    return upper if upper in ("CONTENT_TYPE", "CONTENT_LENGTH") else f"HTTP_{upper}"


class Exchange:
    """One request given to the application: iterate over the bytes of its answer, then :meth:`close`."""

    def __init__(self, application: WSGI, request: Request, ends: Ends) -> None:
        self._request = request
        self._environ = environ(request, ends)
        self._head: tuple[str, list[tuple[str, str]]] = ("500 Internal Server Error", [])
        self.keep_alive = request.keep_alive
        self.begun = False
        self._application = application
        self._body: Iterable[bytes] = ()

    def close(self) -> None:
        """Tell the application that the answer has been sent, or that nobody waits for it."""
        close = getattr(self._body, "close", None)
        if close is not None:
            close()

    def pieces(self, *, stopping: Callable[[], bool]) -> Iterator[bytes]:
        """Yield the answer: in one piece if the application gave it in one, else as it comes.

        ``stopping`` is asked whether the connection is to be closed after the answer.
        """
        self._body = self._application(self._environ, self._start)
        pieces = iter(self._body)
        first = next(pieces, b"")
        self.keep_alive = self.keep_alive and not stopping()
        status = int(self._head[0][:3])
        bodiless = self._request.method == "HEAD" or status in BODILESS or status < 200
        length = next((value for name, value in self._head[1] if name.lower() == "content-length"), None)
        chunked = length is None and not bodiless and self._request.version == "1.1"
        if length is None and not bodiless and not chunked:
            self.keep_alive = False  # where the answer ends is said by the end of the connection
        head = self._written(chunked)
        self.begun = True
        if bodiless:
            yield head
            return
        yield head + _chunk(first) if chunked else head + first
        for piece in pieces:
            if piece:
                yield _chunk(piece) if chunked else piece
        if chunked:
            yield b"0\r\n\r\n"

    def _start(self, status: str, headers: list[tuple[str, str]], _: Any = None) -> Callable[[bytes], object]:
        self._head = (status, headers)
        return _no_write

    def _written(self, chunked: bool) -> bytes:
        status, headers = self._head
        # werkzeug dates what a client may keep: there is one date only.
        own = [f"{name}: {value}" for name, value in headers if name != "Date"]
        lines = [f"HTTP/1.1 {status}", f"Date: {_now(int(time()))}", *own]
        if chunked:
            lines.append("Transfer-Encoding: chunked")
        if not self.keep_alive:
            lines.append("Connection: close")
        elif self._request.version == "1.0":
            lines.append("Connection: keep-alive")
        return "\r\n".join([*lines, "", ""]).encode("latin-1")


def _chunk(piece: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(piece), piece) if piece else b""


@lru_cache(maxsize=2)
def _now(seconds: int) -> str:
    return formatdate(seconds, usegmt=True)


def _no_write(_: bytes) -> object:
    raise NotImplementedError("the application answers by iteration")
