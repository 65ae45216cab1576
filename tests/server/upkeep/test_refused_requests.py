"""Requests refused before the application sees them, each answered with a problem like any other."""

from __future__ import annotations

import json
import logging

import pytest

from factseek.server.engine import refusals
from factseek.server.engine.refusals import Refusal
from factseek.server.upkeep.refused_requests import answer_to

pytestmark = pytest.mark.inner

REFUSED = [
    (refusals.UNREADABLE, 400, "bad-input"),
    (refusals.TOO_SLOW, 408, "request-timeout"),
    (refusals.TOO_LARGE, 413, "too-large"),
    (refusals.LONG_ADDRESS, 414, "request-uri-too-long"),
    (refusals.LONG_HEADERS, 431, "request-header-fields-too-large"),
    (refusals.FAILED, 500, "internal"),
    (refusals.OVERLOADED, 503, "overloaded"),
]


@pytest.mark.parametrize(("why", "status", "slug"), REFUSED)
def test_a_refusal_is_a_problem(why: Refusal, status: int, slug: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "factseek"):
        head, _, body = answer_to(why).partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    assert lines[0].startswith(f"HTTP/1.1 {status} ")
    headers = dict(line.split(": ", 1) for line in lines[1:])
    assert headers["Content-Type"] == "application/problem+json"
    assert headers["Connection"] == "close"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert int(headers["Content-Length"]) == len(body)
    assert headers.get("Retry-After") == ("1" if status == 503 else None)
    said = json.loads(body)
    assert set(said) == {"error", "title", "status", "detail", "request_id"}
    assert (said["status"], said["error"]) == (status, slug)
    assert said["request_id"] == headers["X-Request-Id"]
    assert said["detail"]
    assert caplog.messages == [f"{said['request_id']} refused: {status} {slug}"]


@pytest.mark.parametrize(
    ("address", "accept", "kind"),
    [
        ("/check", "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8", "text/html; charset=utf-8"),
        ("/check", "*/*", "application/problem+json"),
        ("/check", "", "application/problem+json"),
        ("/v1/en/search", "text/html", "application/problem+json"),
    ],
)
def test_a_person_with_a_browser_gets_a_page(address: str, accept: str, kind: str) -> None:
    refusal = refusals.TOO_LARGE._replace(address=address, accept=accept)
    head, _, body = answer_to(refusal, lambda problem: f"<p>{problem.detail} é").partition(b"\r\n\r\n")
    assert f"Content-Type: {kind}\r\n" in head.decode()
    assert f"Content-Length: {len(body)}\r\n" in head.decode()
    assert body.decode().startswith("<p>the body" if "html" in kind else "{")
