"""No request, however broken, is answered with status 500; ``FACTSEEK_FUZZ=10000`` sends as many to each route.

What was sent stands in ``bench/fuzz.json``, as for readers and parsers (``python -m benchmarks.fuzz``).
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from benchmarks.fuzz import done, remember
from benchmarks.fuzz_requests import Request, request_of, routes
from factseek.server.api.operations import OPERATIONS
from tests.server.conftest import Writable, writable

COUNT = int(os.environ.get("FACTSEEK_FUZZ", "0"))
WRITING = re.compile(r"PUT|DELETE|POST /v1/<name>/documents$|GET /v1/jobs")


def body_of(route: tuple[str, str, str]) -> dict[str, Any]:
    """A body, or parameters, that the route takes."""
    operation = OPERATIONS.get(route[2])
    return dict(operation.example) if operation else {"query": "measles", "index": "english"}


def sent(client: FlaskClient, request: Request) -> int:
    """Send a request and read the answer to its end."""
    with client.open(request.path, method=request.method, headers=request.headers, data=request.body) as answer:
        answer.get_data()
        return answer.status_code


def assert_route_holds(client: FlaskClient, route: tuple[str, str, str], numbers: range, names: list[str]) -> None:
    example = body_of(route)
    for number in numbers:
        request = request_of(route, number, names, example)
        status = sent(client, request)
        assert status != 500, f"request {number} to {route[:2]}: {request}"


@contextmanager
def counted(name: str, few: int, most: int) -> Iterator[range]:
    """Say which requests are to be sent; when they were, remember that."""
    if not COUNT:
        yield range(few)
        return
    known = done().get(name) or {"done": 0, "finds": [], "megabytes": 0.0, "seconds": 0.0}
    began, numbers = time.monotonic(), range(known["done"], min(COUNT, most))
    try:
        yield numbers
    except AssertionError as error:
        known["finds"].append({"input": known["done"], "error": str(error)[:300]})
        remember(name, known)
        raise
    known.update(done=max(known["done"], numbers.stop), seconds=known["seconds"] + time.monotonic() - began)
    remember(name, known)


def test_every_route_answers(app: Flask, config: Any) -> None:
    app.config["PROPAGATE_EXCEPTIONS"] = False
    for route in routes(app):
        name = f"{route[0]} {route[1]}"
        if not WRITING.match(name):
            with counted(name, 40, 10_000) as numbers:
                assert_route_holds(app.test_client(), route, numbers, [*config.server.indexes])


@pytest.mark.slow
def test_every_route_that_writes_answers_and_leaves_nothing_behind(live: Path) -> None:
    with writable(live) as served:
        served.app.config["PROPAGATE_EXCEPTIONS"] = False
        for route in routes(served.app):
            name = f"{route[0]} {route[1]}"
            if WRITING.match(name):
                with counted(f"{name} (allowed)", 30, 2_000) as numbers:
                    assert_route_holds(served.client(), route, numbers, ["live"])
        wait_for_jobs(served)
    left = [path.name for path in live.rglob("*") if path.suffix == ".tmp" or path.name.startswith(".")]
    assert left == []


def wait_for_jobs(served: Writable) -> None:
    """Wait until what was accepted is written."""
    for _ in range(600):
        if not any(served.folder.glob("jobs/*.jsonl")):
            return
        time.sleep(0.1)
