"""Batches: the same hits as one by one, in three formats, a bad query failing alone."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flask.testing import FlaskClient

from factseek.core.records.runs import read_run

TEXTS = {"a": "measles vaccine", "نص": "walked on the moon", "c": "sea level"}
QUERIES = [{"qid": qid, "text": text} for qid, text in TEXTS.items()]
BAD = [QUERIES[0], {"qid": "bad", "text": "?!"}, {"qid": "a", "text": "moon"}, QUERIES[1]]


def post(client: FlaskClient, accept: str = "", **body: Any) -> Any:
    headers = {"Accept": accept} if accept else {}
    return client.post("/v1/english/search/batch", json=body, headers=headers)


def test_a_bad_query_fails_alone(client: FlaskClient) -> None:
    results = json.loads(post(client, queries=BAD).data)["results"]
    assert [result.get("error") for result in results] == [None, "bad-input", "bad-input", None]
    assert results[1] == {
        "qid": "bad",
        "error": "bad-input",
        "detail": "text: the query '?!' contains no words to search for",
        "field": "text",
    }
    assert results[2]["detail"] == "qid: another query has the same qid"


def test_a_run_holds_the_same(client: FlaskClient, tmp_path: Path) -> None:
    response = post(
        client, "text/plain", queries=[*BAD, {"qid": "two words", "text": "moon"}], run_id="mine"
    )
    assert response.mimetype == "text/plain"
    assert response.headers["X-Failed-Queries"] == "3"
    assert {line.split()[-1] for line in response.text.splitlines()} == {"mine"}
    path = tmp_path / "run"
    path.write_bytes(response.data)
    results = json.loads(post(client, queries=BAD).data)["results"]
    assert {
        qid: [(hit.docid, np.float32(hit.score)) for hit in hits]
        for qid, hits in read_run(path).items()
    } == {
        result["qid"]: [(hit["docid"], np.float32(hit["score"])) for hit in result["hits"]]
        for result in results
        if "hits" in result
    }


@pytest.mark.parametrize(
    ("body", "field", "detail"),
    [
        ({}, "queries", "queries: is missing"),
        ({"queries": []}, "queries", "queries: the batch contains 0 queries; send 1 to 5"),
        ({"queries": [{"qid": "a"}]}, "queries[0].text", "queries[0].text: is missing"),
        (
            {"queries": [*QUERIES, {"qid": 1, "text": "a"}]},
            "queries[3].qid",
            "queries[3].qid: expected str, got int",
        ),
        (
            {"queries": [{"qid": "a", "text": "a", "k": 1}]},
            "queries[0].k",
            "queries[0].k: there is no such field",
        ),
        ({"queries": QUERIES, "as_of": "x"}, "as_of", None),
        ({"queries": QUERIES, "run_id": "two words"}, "run_id", None),
    ],
)
def test_a_bad_batch_is_refused(
    client: FlaskClient, body: dict[str, Any], field: str, detail: str | None
) -> None:
    response = post(client, **body)
    assert response.status_code == 400
    problem = json.loads(response.data)
    assert (problem["error"], problem["field"]) == ("bad-input", field)
    if detail:
        assert problem["detail"] == detail
