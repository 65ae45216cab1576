"""Numbers of more digits than Python reads: answered, or refused as senseless, never an error of the server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from factseek.retrieval.search.index import Index
from factseek.server.api.verdicts import ServedVerdicts
from factseek.server.app import create_app
from factseek.settings import Config

DIGITS = "1" * 4_400
QUERIES = [f"measles &#{DIGITS};", f"measles &amp;#{DIGITS};", f"measles &#{'0' * 4_400}65;"]


@pytest.fixture(scope="module")
def long_client(folders: dict[str, Path], models: dict[str, ServedVerdicts]) -> Iterator[FlaskClient]:
    """A client of a server that takes queries as long as the defaults allow."""
    with Index(folders["english"], Config()) as index:
        yield create_app(Config(), {"english": index}, judged_by=models).test_client()


@pytest.mark.parametrize("query", QUERIES)
def test_a_reference_of_thousands_of_digits_is_read(long_client: FlaskClient, query: str) -> None:
    asked = {"query": query, "profile": "tweet"}
    for answer in (
        long_client.get("/v1/english/search", query_string=asked),
        long_client.post("/v1/english/search", json=asked),
    ):
        assert answer.status_code == 200, answer.text
        assert answer.json is not None
        assert answer.json["hits"][0]["docid"].startswith("measles")
    for method in ("get", "post"):
        for path, fields in (("/", asked), ("/verify", {"claim": query})):
            sent = {"query_string": fields} if method == "get" else {"data": fields}
            answer = getattr(long_client, method)(path, **sent, follow_redirects=True)
            assert answer.status_code == 200, (method, path)


@pytest.mark.parametrize(
    "address",
    [
        f"/documents/english/measles?passage={DIGITS}",
        f"/?query=measles&hits={DIGITS}",
        f"/?query=measles&offset={DIGITS}",
        f"/v1/english/search?query=measles&k={DIGITS}",
        f"/v1/english/search?query=measles&facets=topic%3D{DIGITS}",
        f"/v1/english/search?query=measles&facets=topic%3D000000001{DIGITS}",
        f"/v1/english/search?query=measles&stages=per_source%3D{DIGITS}",
        f"/v1/english/search?query=measles&as_of={DIGITS}",
    ],
)
def test_a_number_of_thousands_of_digits_is_refused(long_client: FlaskClient, address: str) -> None:
    assert long_client.get(address).status_code == 400
