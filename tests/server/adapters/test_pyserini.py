"""Pyserini's REST routes, of version 1.6.0 and of version 2, as their own sources have them."""

from typing import Any

import pytest
from flask.testing import FlaskClient

QUERY = "measles vaccine doses"


def ours(client: FlaskClient, **options: Any) -> list[tuple[str, float]]:
    hits = client.post("/v1/english/search", json={"query": QUERY, **options}).json["hits"]
    return [(hit["docid"], hit["score"]) for hit in hits]


def test_version_1_tells_of_documents_and_indexes(asked: FlaskClient) -> None:
    document = asked.get("/pyserini-1/v1/indexes/english/documents/measles").json
    assert document["id"] == "measles"
    assert document["contents"].startswith("Measles vaccine\nTwo doses")
    assert all(isinstance(value, str) for value in document.values())
    status = asked.get("/pyserini-1/v1/indexes/english/status").json
    assert status["downloaded"] is True
    assert int(status["size_bytes"]) > 0
    assert asked.get("/pyserini-1/v1/indexes/?index_type=tf").json == ["english", "arabic"]
    assert asked.get("/pyserini-1/v1/indexes/?index_type=faiss").json == ["english"]
    assert asked.get("/pyserini-1/v1/indexes/?index_type=impact").json == []


@pytest.mark.parametrize(
    ("body", "loc"),
    [
        ({}, ["body", "query"]),
        ({"query": {"text": QUERY}}, ["body", "query"]),
        ({"query": QUERY, "hits": 51}, ["body", "hits"]),
    ],
)
def test_version_1_refuses_as_fastapi_does(asked: FlaskClient, body: Any, loc: list[str]) -> None:
    answer = asked.post("/pyserini-1/v1/indexes/english/search", json=body)
    assert answer.status_code == 422
    assert [(fault["loc"], bool(fault["msg"])) for fault in answer.json["detail"]] == [(loc, True)]


def test_version_2_ranks_by_bm25_with_its_own_parameters(asked: FlaskClient) -> None:
    def scores(**parameters: Any) -> list[float]:
        asked_for = {"query": QUERY, "hits": 3, **parameters}
        answer = asked.get("/pyserini-2/v1/english/search", query_string=asked_for).json
        return [hit["score"] for hit in answer["candidates"]]

    as_configured = [score for _, score in ours(asked, k=3, retriever="bm25")]
    assert scores(k1=0.9, b=0.4) == as_configured
    assert scores(k1=0.1, b=0.4) != as_configured


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({}, "query: is missing"),
        ({"query": QUERY, "hits": "many"}, "hits: expected `int`, got `str`"),
        ({"query": QUERY, "hits": 0}, "hits: expected `int` >= 1"),
        ({"query": QUERY, "k1": 0.9}, "b: BM25 parameters k1 and b must be set together"),
        (
            {"query": QUERY, "max_doc_length": 5, "parse": "false"},
            "max_doc_length: requires parse=true",
        ),
    ],
)
def test_version_2_refuses_with_one_word(asked: FlaskClient, parameters: Any, message: str) -> None:
    answer = asked.get("/pyserini-2/v1/english/search", query_string=parameters)
    assert (answer.status_code, answer.json) == (400, {"error": message.replace("`", "")})
