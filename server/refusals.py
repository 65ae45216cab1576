"""Requests that gunicorn refuses before the application sees them, answered in the application's one error shape."""

from __future__ import annotations

import logging
import socket
import uuid
from http import HTTPStatus
from time import monotonic
from typing import Any

import msgspec
from gunicorn.http.errors import (
    ExpectationFailed,
    LimitRequestHeaders,
    LimitRequestLine,
    ParseException,
    UnsupportedTransferCoding,
)
from gunicorn.workers.gthread import ThreadWorker

from server.errors import TITLES, Problem, slug_of

_log = logging.getLogger("factseek.server")
_DRAINING = 0.5
"""Seconds that a refused client may hold a thread."""
_KINDS: tuple[tuple[type[Exception], int, str], ...] = (
    (LimitRequestLine, 414, "the address is too long; send a long query in the body of POST /v1/{index}/search"),
    (LimitRequestHeaders, 431, "the headers of the request are larger than this server takes"),
    (UnsupportedTransferCoding, 501, "this server takes a body as it is or in chunks"),
    (ExpectationFailed, 417, "this server knows no expectation but 100-continue"),
    (ParseException, 400, "this is no HTTP request that this server can read"),
)


class RefusingWorker(ThreadWorker):  # type: ignore[misc]  # gunicorn has no types
    """gunicorn's threaded worker, which answers what it cannot read as a problem and keeps it out of the log."""

    def handle_error(self, req: Any, client: socket.socket, addr: Any, exc: Exception) -> None:
        """Answer a request that failed outside the application."""
        problem = refusal(exc)
        level, trace = (logging.ERROR, exc) if problem.status == 500 else (logging.INFO, None)
        # What a client sent may hold a query: it is not logged.
        _log.log(level, "%s refused: %d %s", problem.request_id, problem.status, problem.error, exc_info=trace)
        try:
            client.sendall(message(problem))
            _drain(client)
        except OSError:
            _log.debug("%s the client has gone", problem.request_id)


def _drain(client: socket.socket) -> None:
    """Read for a moment what the client still sends: closing on it would take the answer away from the client."""
    client.shutdown(socket.SHUT_WR)
    end = monotonic() + _DRAINING
    while (left := end - monotonic()) > 0:
        client.settimeout(left)
        if not client.recv(65_536):
            return


def refusal(error: Exception) -> Problem:
    """Say which problem an error of gunicorn is to the client."""
    status, detail = next(((status, detail) for kind, status, detail in _KINDS if isinstance(error, kind)), (500, ""))
    slug = slug_of(status)
    return Problem(
        error=slug,
        title=TITLES.get(slug, HTTPStatus(status).phrase),
        status=status,
        detail=detail or "something went wrong; the server's log has it under this request id",
        request_id=uuid.uuid4().hex,
    )


def message(problem: Problem) -> bytes:
    """Write a problem as a whole HTTP answer, after which the connection is closed."""
    body = msgspec.json.encode(problem)
    head = (
        f"HTTP/1.1 {problem.status} {HTTPStatus(problem.status).phrase}\r\n"
        "Content-Type: application/problem+json\r\n"
        f"Content-Length: {len(body)}\r\n"
        f"X-Request-Id: {problem.request_id}\r\n"
        "X-Content-Type-Options: nosniff\r\n"
        "Connection: close\r\n\r\n"
    )
    return head.encode() + body
