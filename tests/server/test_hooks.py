"""Request ids, headers and the log."""

import json
import logging
import re

import pytest
from flask.testing import FlaskClient

from factseek.retrieval.search.index import Index
from factseek.server.app import create_app
from factseek.server.logs import JsonLines
from factseek.server.settings import ServerSettings
from factseek.settings import Config

ADDRESSES = ["/", "/v1/indexes", "/nothing", "/static/style.css", "/livez"]


@pytest.mark.parametrize("address", ADDRESSES)
def test_every_answer_is_protected(client: FlaskClient, address: str) -> None:
    with client.get(address) as response:
        headers = response.headers
    policy = dict(
        part.strip().split(" ", 1) for part in headers["Content-Security-Policy"].split(";")
    )
    assert policy == {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",
        "img-src": "'self'",
        "form-action": "'self'",
        "base-uri": "'none'",
        "frame-ancestors": "'none'",
    }
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Referrer-Policy"] == "same-origin"


@pytest.mark.parametrize(
    "given", ["", "x" * 65, "a b", "a;b", "é", "a\tb", "<b>", "a,b", "a%0d%0aSet-Cookie:x"]
)
def test_any_other_request_id_is_replaced(client: FlaskClient, given: str) -> None:
    answered = client.get("/livez", headers={"X-Request-Id": given}).headers["X-Request-Id"]
    assert re.fullmatch(r"[0-9a-f]{32}", answered)


@pytest.mark.parametrize("wanted", [False, True])
def test_a_line_holds_what_happened_and_the_query_only_if_wanted(
    indexes: dict[str, Index], caplog: pytest.LogCaptureFixture, wanted: bool
) -> None:
    client = create_app(Config(server=ServerSettings(log_queries=wanted)), indexes).test_client()
    with caplog.at_level(logging.INFO, "factseek"):
        client.post(
            "/v1/arabic/search", json={"query": "secretword نهر"}, headers={"X-Request-Id": "r1"}
        ).close()
    (record,) = [record for record in caplog.records if record.name == "factseek.access"]
    line = JsonLines().format(record)
    assert "\n" not in line
    said = json.loads(line)
    assert said.pop("milliseconds") >= 0
    assert said.pop("time").endswith("+00:00")
    assert said.pop("process") > 0
    assert said.pop("message").startswith("POST /v1/<name>/search 200 ")
    expected = {
        "level": "info",
        "method": "POST",
        "route": "/v1/<name>/search",
        "status": 200,
        "request_id": "r1",
    }
    assert said == (expected | {"queries": ["secretword نهر"]} if wanted else expected)
