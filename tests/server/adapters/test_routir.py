"""RoutIR's services, asked by RoutIR's own client."""

from typing import Any

import pytest
from flask.testing import FlaskClient

QUERY = "measles vaccine doses"


@pytest.mark.parametrize(
    ("address", "body", "message"),
    [
        ("search", {"query": QUERY}, "service: is missing"),
        (
            "search",
            {"service": "english", "query": QUERY, "limit": 99},
            "limit: 99 is out of range: ask for 1 to 50",
        ),
        (
            "content",
            {"collection": "english", "id": "no"},
            "there is no document 'no' in this index",
        ),
        (
            "score",
            {"service": "english", "query": QUERY, "passages": ["a"]},
            "service: 'english' does not score passages; 'rerank' does",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_as_by_it(
    asked: FlaskClient, address: str, body: Any, message: str
) -> None:
    answer = asked.post(f"/routir/{address}", json=body)
    assert (answer.status_code, answer.json) == (400, {"error": message})


def test_routirs_own_client(base: str) -> None:
    routir = pytest.importorskip("routir.client")
    client = routir.Client(f"{base}/routir", transport="rest")
    try:
        assert client.ping() == {"status": "pong"}
        assert "en" in client.avail()["search"]
        scores = client.search("en/bm25", QUERY, limit=2)["scores"]
        assert next(iter(scores)) == "measles"
        assert client.content("en", "measles")["text"].startswith("Measles vaccine\nTwo doses")
        batch = client.search_batch(
            [{"service": "en", "query": QUERY}, {"service": "en/bm25", "query": "moon"}]
        )
        assert [next(iter(answer["scores"])) for answer in batch] == ["measles", "moon"]
        with pytest.raises(routir.RoutirClientError, match=r"HTTP 400 .*does not score passages"):
            client.score("en", QUERY, ["a"])
    finally:
        client.close()
