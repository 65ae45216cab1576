"""The hits of a search as files, over HTTP and on the command line."""

from __future__ import annotations

import msgspec
import pytest
from flask.testing import FlaskClient

from factseek import list_hits
from factseek.retrieval.search import listings
from factseek.retrieval.search.evidence import Evidence


@pytest.mark.parametrize("name", listings.KINDS)
def test_over_http(client: FlaskClient, name: str) -> None:
    body = {"query": "measles vaccine", "k": 2}
    kind = listings.kind(name)
    evidence = msgspec.convert(client.post("/v1/english/search", json=body).json["hits"], list[Evidence])
    answer = client.post("/v1/english/search", json={**body, "format": name})
    assert (answer.mimetype, answer.text) == (kind.media, list_hits(evidence, name))
    assert answer.headers["Content-Disposition"] == f'attachment; filename="evidence.{kind.suffix}"'
    accepted = client.post("/v1/english/search", json=body, headers={"Accept": kind.media})
    assert (accepted.mimetype, accepted.text) == (kind.media, answer.text)
    simple = client.get("/v1/english/search", query_string={"query": body["query"], "hits": 2, "format": name})
    assert simple.text == answer.text
    wins = client.post("/v1/english/search", json={**body, "format": "json"}, headers={"Accept": kind.media})
    assert wins.mimetype == "application/json"
