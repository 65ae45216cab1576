"""The answer to a request that the application never saw: its one error shape or, for a browser, its page."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable
from http import HTTPStatus

import msgspec

from ..contract.errors import TITLES, Problem, read_by_a_person, retry_after, slug_of
from ..engine.refusals import Refusal
from .request_hooks import PROTECTION

_log = logging.getLogger("factseek.server")


def answer_to(refusal: Refusal, page: Callable[[Problem], str] | None = None) -> bytes:
    """Return the whole HTTP answer, after which the connection is closed, and note it in the log.

    ``page`` writes the problem for a person; without it, and for programs, the answer is JSON.
    """
    slug = refusal.error or slug_of(refusal.status)
    title = TITLES.get(slug, HTTPStatus(refusal.status).phrase)
    request_id = uuid.uuid4().hex
    # What a client sent may hold a query: it is not logged.
    _log.info("%s refused: %d %s", request_id, refusal.status, slug)
    problem = Problem(error=slug, title=title, status=refusal.status, detail=refusal.detail, request_id=request_id)
    if page is not None and read_by_a_person(refusal.address, refusal.accept):
        kind, body = "text/html; charset=utf-8", page(problem).encode()
    else:
        kind, body = "application/problem+json", msgspec.json.encode(problem)
    lines = [
        f"HTTP/1.1 {refusal.status} {HTTPStatus(refusal.status).phrase}",
        f"Content-Type: {kind}",
        f"Content-Length: {len(body)}",
        "Connection: close",
        f"X-Request-Id: {request_id}",
        *(f"{name}: {value}" for name, value in {**PROTECTION, **retry_after(refusal.retry_after)}.items()),
    ]
    return "\r\n".join([*lines, "", ""]).encode("ascii") + body
