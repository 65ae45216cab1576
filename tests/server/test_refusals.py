"""What gunicorn refuses is a problem like any other."""

from __future__ import annotations

import json

import pytest
from gunicorn.http import errors

from server.refusals import message, refusal

REFUSED = [
    (errors.LimitRequestLine(9_000, 8_190), 414, "request-uri-too-long"),
    (errors.LimitRequestHeaders("Error"), 431, "request-header-fields-too-large"),
    (errors.UnsupportedTransferCoding("x"), 501, "not-implemented"),
    (errors.ExpectationFailed("x"), 417, "expectation-failed"),
    (errors.InvalidRequestLine("secretword"), 400, "bad-input"),
    (errors.InvalidHeaderName("secretword"), 400, "bad-input"),
    (ValueError("secretword"), 500, "internal"),
]


@pytest.mark.parametrize(("error", "status", "slug"), REFUSED)
def test_an_error_of_gunicorn_is_a_problem(error: Exception, status: int, slug: str) -> None:
    problem = refusal(error)
    assert (problem.status, problem.error) == (status, slug)
    head, _, body = message(problem).partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    assert lines[0].startswith(f"HTTP/1.1 {status} ")
    headers = dict(line.split(": ", 1) for line in lines[1:])
    assert headers["Content-Type"] == "application/problem+json"
    assert int(headers["Content-Length"]) == len(body)
    said = json.loads(body)
    assert set(said) == {"error", "title", "status", "detail", "request_id"}
    assert said["request_id"] == headers["X-Request-Id"]
    assert said["detail"]
    assert b"secretword" not in body
