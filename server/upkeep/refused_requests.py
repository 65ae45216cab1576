"""The answer to a request that the application never saw, in the application's one error shape."""

from __future__ import annotations

import logging
import uuid
from http import HTTPStatus

import msgspec

from ..contract.errors import TITLES, Problem, retry_after, slug_of
from ..engine.refusals import Refusal
from .request_hooks import PROTECTION

_log = logging.getLogger("factseek.server")


def answer_to(refusal: Refusal) -> bytes:
    """Return the whole HTTP answer, after which the connection is closed, and note it in the log."""
    slug = refusal.error or slug_of(refusal.status)
    title = TITLES.get(slug, HTTPStatus(refusal.status).phrase)
    request_id = uuid.uuid4().hex
    # What a client sent may hold a query: it is not logged.
    _log.info("%s refused: %d %s", request_id, refusal.status, slug)
    problem = Problem(error=slug, title=title, status=refusal.status, detail=refusal.detail, request_id=request_id)
    body = msgspec.json.encode(problem)
    lines = [
        f"HTTP/1.1 {refusal.status} {HTTPStatus(refusal.status).phrase}",
        "Content-Type: application/problem+json",
        f"Content-Length: {len(body)}",
        "Connection: close",
        f"X-Request-Id: {request_id}",
        *(f"{name}: {value}" for name, value in {**PROTECTION, **retry_after(refusal.retry_after)}.items()),
    ]
    return "\r\n".join([*lines, "", ""]).encode("ascii") + body
