"""Addresses lead where werkzeug says, whether they are remembered or not."""

from __future__ import annotations

from typing import Any

import pytest
from flask import Flask
from werkzeug.exceptions import MethodNotAllowed, NotFound
from werkzeug.routing import RequestRedirect

from factseek.server.app import Application
from factseek.server.routing import REMEMBERED

ADDRESSES = ("/v1/en/search", "/v1/ar/search", "/v1/en/documents/a//b/c", "/static/page.css", "/v1/%D8%A3/search")


def made(kind: type[Flask]) -> Flask:
    app = kind(__name__)
    app.url_map.merge_slashes = False
    app.add_url_rule("/v1/<name>/search", "search", lambda name: name, methods=["GET", "POST"])
    app.add_url_rule("/v1/<name>/documents/<path:docid>", "document", lambda name, docid: docid)
    app.add_url_rule("/pages/", "pages", lambda: "pages")
    return app


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_leads_where_flask_says_every_time(address: str) -> None:
    usual, remembering = made(Flask), made(Application)
    for _ in range(3):
        with usual.test_request_context(address) as expected, remembering.test_request_context(address) as context:
            assert (context.request.endpoint, context.request.view_args) == (
                expected.request.endpoint,
                expected.request.view_args,
            )
            assert context.request.view_args is not None
            context.request.view_args["name"] = "changed"  # by one request, which no other must see


def test_what_leads_nowhere_is_not_remembered() -> None:
    app = made(Application)
    wrong: list[tuple[str, str, Any]] = [
        ("/none", "GET", NotFound),
        ("/v1/en/search", "DELETE", MethodNotAllowed),
        ("/pages", "GET", RequestRedirect),
    ]
    for address, method, error in wrong * 2:
        with app.test_request_context(address, method=method) as context:
            assert isinstance(context.request.routing_exception, error)
    assert app.url_map.remembered == {}


def test_the_memory_of_addresses_is_bounded() -> None:
    app = made(Application)
    client = app.test_client()
    for number in range(REMEMBERED + 10):
        assert client.get(f"/v1/{number}/search").text == str(number)
    assert len(app.url_map.remembered) == 10
    assert client.get(f"/v1/{'long' * 60}/search").status_code == 200
    assert len(app.url_map.remembered) == 10


def test_an_answer_leads_back_to_the_host_that_was_asked() -> None:
    answer = made(Application).test_client().get("/pages", headers={"Host": "evidence.example:8080"})
    assert answer.location == "http://evidence.example:8080/pages/"
