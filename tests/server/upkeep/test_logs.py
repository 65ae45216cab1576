"""The log: JSON, one line an event, and no query in it unless it is wanted there."""

from __future__ import annotations

import json
import logging

import pytest

from factseek.retrieval.index.local import Index
from factseek.server.app import create_app
from factseek.server.settings import ServerSettings
from factseek.server.upkeep.logs import JsonLines
from factseek.settings import Config


@pytest.mark.parametrize("wanted", [False, True])
def test_a_line_holds_what_happened_and_the_query_only_if_wanted(
    indexes: dict[str, Index], caplog: pytest.LogCaptureFixture, wanted: bool
) -> None:
    client = create_app(Config(server=ServerSettings(log_queries=wanted)), indexes).test_client()
    with caplog.at_level(logging.INFO, "factseek"):
        client.post("/v1/arabic/search", json={"query": "secretword نهر"}, headers={"X-Request-Id": "r1"}).close()
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


def test_an_error_keeps_its_trace_on_the_line() -> None:
    try:
        raise ValueError("two\nlines")
    except ValueError:
        record = logging.getLogger("x").makeRecord(
            "x", logging.ERROR, "f", 1, "failed", (), __import__("sys").exc_info()
        )
    line = JsonLines().format(record)
    assert "\n" not in line
    assert "ValueError: two\nlines" in json.loads(line)["trace"]


@pytest.mark.parametrize(
    "address", ["/v1/arabic/search?like={0}", "/?index=arabic&like={0}", "/export?like={0}&index=arabic&format=csv"]
)
def test_a_search_for_more_like_a_document_is_logged_by_its_docid(
    indexes: dict[str, Index], caplog: pytest.LogCaptureFixture, address: str
) -> None:
    client = create_app(Config(server=ServerSettings(log_queries=True)), indexes).test_client()
    with caplog.at_level(logging.INFO, "factseek"):
        answer = client.get(address.format("amazon"))
        answer.close()
    assert answer.status_code == 200
    (record,) = [record for record in caplog.records if record.name == "factseek.access"]
    assert json.loads(JsonLines().format(record))["queries"] == [{"like": "amazon"}]


def test_a_value_that_json_lacks_is_written_as_its_text() -> None:
    record = logging.getLogger("x").makeRecord("x", logging.INFO, "f", 1, "said", (), None)
    record.fields = {"value": 1 + 2j}
    assert json.loads(JsonLines().format(record))["value"] == "(1+2j)"
