"""Requests that are refused before the application sees them, answered in the application's one error shape.

They cannot be read, come too slowly, or there is no room for them.
"""

from __future__ import annotations

import logging
import uuid
from http import HTTPStatus
from typing import NamedTuple

import msgspec

from ..contract.errors import TITLES, Problem, slug_of
from ..upkeep.request_hooks import PROTECTION

_log = logging.getLogger("factseek.server")


class Refusal(NamedTuple):
    """Why a request is refused; ``retry_after`` is in seconds, 0 says nothing of it, ``error`` is the status's own."""

    status: int
    detail: str
    error: str = ""
    retry_after: int = 0


UNREADABLE = Refusal(400, "this is no HTTP request that this server can read")
TOO_SLOW = Refusal(408, "the request did not come whole in time; send it again")
TOO_LARGE = Refusal(413, "the body of the request is larger than this server takes")
LONG_ADDRESS = Refusal(414, "the address is too long; send a long query in the body of POST /v1/{index}/search")
LONG_HEADERS = Refusal(431, "the headers of the request are larger than this server takes")
FAILED = Refusal(500, "something went wrong; the server's log has it")
OVERLOADED = Refusal(503, "more is asked than this server answers at once; try again", "overloaded", 1)


def refusal(why: Refusal) -> bytes:
    """Return the whole answer, after which the connection is closed, and note it in the log."""
    slug = why.error or slug_of(why.status)
    title = TITLES.get(slug, HTTPStatus(why.status).phrase)
    request_id = uuid.uuid4().hex
    # What a client sent may hold a query: it is not logged.
    _log.info("%s refused: %d %s", request_id, why.status, slug)
    problem = Problem(error=slug, title=title, status=why.status, detail=why.detail, request_id=request_id)
    body = msgspec.json.encode(problem)
    lines = [
        f"HTTP/1.1 {why.status} {HTTPStatus(why.status).phrase}",
        "Content-Type: application/problem+json",
        f"Content-Length: {len(body)}",
        "Connection: close",
        f"X-Request-Id: {request_id}",
        *(f"{name}: {value}" for name, value in PROTECTION.items()),
    ]
    if why.retry_after:
        lines.append(f"Retry-After: {why.retry_after}")
    return "\r\n".join([*lines, "", ""]).encode("ascii") + body
