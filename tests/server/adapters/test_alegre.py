"""Alegre's text similarity: golden requests and answers, thresholds, contexts, and texts stored and
deleted.
"""

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from flask.testing import FlaskClient

from factseek.indexer.build import BuildRequest, build
from factseek.retrieval.config import IndexSettings
from factseek.retrieval.search.index import Index
from factseek.settings import Config
from tests.server.conftest import writable

SYNC, ASYNC = "/alegre/similarity/sync/text", "/alegre/similarity/async/text"
SEARCH, STORE, BULK = (
    "/alegre/text/similarity/search/",
    "/alegre/text/similarity/",
    "/alegre/text/bulk_similarity/",
)
MODEL = "all-MiniLM-L6-v2"
CLAIM = "The measles vaccine is effective"
TEXTS = [
    {"docid": "1", "text": "this is a test"},
    {
        "docid": "2",
        "text": "this is another test about rivers",
        "contexts": [{"team": 2, "app": "x"}],
        "team": 2,
    },
    {"docid": "3", "text": "something different", "contexts": "no list", "created_at": 3},
]


def similar(client: FlaskClient, text: str, **fields: Any) -> list[dict[str, Any]]:
    answer = client.post(SEARCH, json={"text": text, **fields})
    assert answer.status_code == 200, answer.text
    texts: list[dict[str, Any]] = answer.json["result"]
    return texts


def ids(client: FlaskClient, text: str, **fields: Any) -> list[str]:
    return [text["id"] for text in similar(client, text, **fields)]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlaskClient]:
    folder = tmp_path_factory.mktemp("alegre")
    source = folder / "texts.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in TEXTS), "utf-8")
    request = BuildRequest(
        kind="jsonl", sources=(source,), folder=folder / "live", language="en", dense=False
    )
    build(request, Config(index=IndexSettings(filter_fields=("team",))))
    with writable(folder / "live", adapters={"alegre": ""}) as made:
        yield made.client()


def test_a_similar_text_has_the_fields_of_the_original(asked: FlaskClient) -> None:
    (text,) = similar(asked, "two doses of the measles vaccine are effective", limit=1)
    assert text.pop("score") == text.pop("_score") > 0
    assert text == {
        "content": (
            "Two doses of the measles vaccine are about 97 percent effective against measles."
        ),
        "context": {},
        "contexts": [],
        "created_at": "",
        "language": "en",
        "title": "Measles vaccine",
        "url": "https://who.example.org/measles",
        "model": "elasticsearch",
        "_id": "measles",
        "id": "measles",
        "index": "english",
    }


def test_the_threshold_of_words_is_a_share_of_them(asked: FlaskClient) -> None:
    query = "measles vaccine refused yesterday"
    assert ids(asked, query, threshold=1) == []
    # Three of four, rounded down.
    assert ids(asked, query) == ids(asked, query, threshold=0.75) == ["measles-later"]
    assert ids(asked, query, threshold=0.74) == ids(asked, query, threshold=0.5)
    everything = similar(asked, query, threshold=0)
    assert {text["id"] for text in everything} == {"measles", "measles-later", "measles-undated"}
    scores = [text["score"] for text in everything]
    assert scores == sorted(scores, reverse=True)
    assert (
        ids(asked, query, threshold=0, min_es_score=scores[1]) == ids(asked, query, threshold=0)[:1]
    )
    assert ids(asked, query, threshold=0, limit=1) == ids(asked, query, threshold=0)[:1]
    assert ids(asked, query, threshold=1, per_model_threshold={"elasticsearch": 0.75}) == [
        "measles-later"
    ]
    assert ids(
        asked, query, threshold=1, per_model_threshold=[{"model": "elasticsearch", "value": 0.75}]
    ) == ["measles-later"]


def test_a_text_is_similar_however_it_is_written(asked: FlaskClient) -> None:
    written = "\uff4deasles vac\u00adcine refused\u200b yesterday"
    assert (
        ids(asked, written) == ids(asked, "measles vaccine refused yesterday") == ["measles-later"]
    )


def test_the_threshold_of_a_model_is_a_cosine(
    asked: FlaskClient, indexes: dict[str, Index]
) -> None:
    index = indexes["english"]
    query = index.encoder.encode_query([CLAIM])[0]
    texts = similar(asked, CLAIM, model=MODEL, threshold=-1)
    assert len(texts) == 5
    for text in texts:
        passages = index.encoder.encode_document(
            [passage.text for passage in index.passages(text["id"])]
        )
        titled = index.encoder.encode_document([f"{text['title']}\n{text['content']}"])
        cosines = np.concatenate([passages, titled]) @ query
        assert np.abs(cosines + 1 - text["score"]).min() < 1e-3
    cosine = texts[1]["score"] - 1
    assert ids(asked, CLAIM, model=MODEL, threshold=cosine - 1e-6) == [
        text["id"] for text in texts[:2]
    ]
    assert ids(asked, CLAIM, model=MODEL, threshold=cosine + 1e-6) == [texts[0]["id"]]
    assert ids(asked, CLAIM, model=MODEL) == []


def test_a_vector_stands_for_the_one_that_would_be_made(
    asked: FlaskClient, indexes: dict[str, Index]
) -> None:
    vector = indexes["english"].encoder.encode_query([CLAIM])[0].astype(float)
    by_text = similar(asked, CLAIM, model=MODEL, threshold=-1)
    for length in (1, 250):
        by_vector = similar(
            asked, "other words", model=MODEL, threshold=-1, vector=list(length * vector)
        )
        assert [text["id"] for text in by_vector] == [text["id"] for text in by_text]
        assert [text["score"] for text in by_vector] == pytest.approx(
            [text["score"] for text in by_text], abs=1e-6
        )
    assert similar(asked, "", model=MODEL, threshold=-1, vector=list(vector)) == []
    by_words = similar(asked, CLAIM, threshold=0.5)
    assert similar(asked, CLAIM, threshold=0.5, vector=[1.0]) == by_words


def test_misspelt_words_are_put_right_where_that_is_asked(asked: FlaskClient) -> None:
    assert ids(asked, "measels vaccine", threshold=1) == []
    assert (
        ids(asked, "measels vaccine", threshold=1, fuzzy=True)
        == ids(asked, "measles vaccine", threshold=1)
        != []
    )


BAD = [
    (SEARCH, {"text": "x", "limit": 51}, {"limit": "51 is out of range: ask for 1 to 50"}),
    (
        SEARCH,
        {"text": "x", "model": "ada"},
        {"model": f"there is no model 'ada'; the models are elasticsearch, {MODEL}"},
    ),
    (
        SEARCH,
        {"text": "x", "model": MODEL, "vector": [1.0, 2.0]},
        {"vector": f"has 2 numbers, but vectors of {MODEL} have 384"},
    ),
    (
        SEARCH,
        {"text": "x", "model": MODEL, "vector": [1e308] * 384},
        {"vector": "has no direction: all of its numbers are 0, or they are too large"},
    ),
]


@pytest.mark.parametrize(("address", "body", "errors"), BAD)
def test_what_makes_no_sense_is_refused_as_alegre_does(
    asked: FlaskClient, address: str, body: dict[str, Any], errors: dict[str, str]
) -> None:
    answer = asked.post(address, json=body)
    assert answer.status_code == 400
    assert answer.json == {"message": "Input payload validation failed", "errors": errors}


BAD_CHANGES = [
    ("POST", STORE, {"doc_id": "1"}, {"text": "is missing"}),
    ("DELETE", STORE, {}, {"doc_id": "is missing"}),
    (
        "POST",
        SYNC,
        {"text": "x", "limit": 10_001},
        {"limit": "10001 is out of range: ask for 1 to 10000"},
    ),
]


@pytest.mark.parametrize(("method", "address", "body", "errors"), BAD_CHANGES)
def test_a_change_that_makes_no_sense_is_refused(
    client: FlaskClient, method: str, address: str, body: dict[str, Any], errors: dict[str, str]
) -> None:
    answer = client.open(address, method=method, json=body)
    assert answer.status_code == 400, answer.text
    assert answer.json == {"message": "Input payload validation failed", "errors": errors}


@pytest.mark.parametrize(
    ("address", "body", "message"),
    [
        (
            ASYNC,
            {"text": "x"},
            "there are no callbacks: use POST /similarity/sync/text, which returns similar texts",
        ),
        (
            BULK,
            {"documents": [{"text": "x"}]},
            "texts are not stored in bulk: use POST /text/similarity/ for each",
        ),
    ],
)
def test_what_is_not_offered_names_it(
    client: FlaskClient, address: str, body: dict[str, Any], message: str
) -> None:
    answer = client.post(address, json=body)
    assert (answer.status_code, answer.json) == (404, {"message": message})


def test_a_text_is_stored_found_and_deleted(client: FlaskClient) -> None:
    first = {
        "text": "how to slice a banana",
        "doc_id": "123456",
        "context": {"team": 54, "has_custom_id": True},
    }
    assert client.post(STORE, json=first).json == {"success": True}
    (text,) = similar(client, "how to slice a banana")
    assert text["contexts"] == [text["context"]] == [{"team": 54, "has_custom_id": True}]
    assert text["created_at"].endswith("Z")
    second = {
        **first,
        "text": "how to slice a pizza",
        "context": {"team": 55},
        "created_at": "2024-05-01",
    }
    assert client.post(STORE, json=second).json == {"success": True}
    assert ids(client, "how to slice a banana", threshold=1) == []
    (text,) = similar(client, "how to slice a pizza")
    assert text["contexts"] == [{"team": 55}, {"team": 54, "has_custom_id": True}]
    assert (text["context"], text["created_at"]) == ({"team": 55}, "2024-05-01")
    removed = {"_index": "live", "_id": "123456"}
    one = client.delete(STORE, json={"doc_id": "123456", "context": {"team": 55}})
    assert one.json == {**removed, "result": "updated"}
    (text,) = similar(client, "how to slice a pizza")
    assert text["contexts"] == [{"team": 54, "has_custom_id": True}]
    last = client.delete(STORE, json={"doc_id": "123456", "context": {"team": 54}})
    assert last.json == {**removed, "result": "deleted"}
    assert ids(client, "how to slice a pizza") == []
    gone = client.delete(STORE, json={"doc_id": "123456"})
    said = "Doc Not Found for id 123456! No Deletion Occurred"
    assert (gone.status_code, gone.json) == (404, {"message": f"{said}."})
    quiet = client.delete(STORE, json={"doc_id": "123456", "quiet": True})
    assert quiet.json == {"failed": f"{said} - quiet failure requested, so 200 code returned."}


def test_a_text_is_stored_and_what_is_similar_to_it_answered(client: FlaskClient) -> None:
    stored = {
        "text": "kookaburras laugh",
        "doc_id": "k1",
        "context": {"team": 9},
        "threshold": 0.5,
        "language": "en",
    }
    answer = client.post(SYNC, json=stored)
    assert [text["id"] for text in answer.json["result"]] == ["k1"]
    again = client.post(
        SYNC, json={**stored, "text": "kookaburras cry", "doc_id": "k2", "limit": 5}
    )
    assert [text["id"] for text in again.json["result"]] == ["k2", "k1"]
    other = client.post(
        SYNC, json={**stored, "doc_id": "k1", "context": {"team": 10}, "created_at": "2024-05-01"}
    )
    (text,) = other.json["result"]
    assert (text["contexts"], text["created_at"]) == ([{"team": 10}, {"team": 9}], "2024-05-01")


CONTEXTS = [
    ({}, ["1", "2"]),
    ({"team": 2}, ["2"]),
    ({"team": [2, 3]}, ["2"]),
    ({"team": 2, "app": "x"}, ["2"]),
    ({"team": 2, "app": "y"}, []),
    ({"team": 2, "field": "title", "project_media_id": 9, "has_custom_id": True}, ["2"]),
]


@pytest.mark.parametrize(("context", "expected"), CONTEXTS)
def test_a_context_admits_the_texts_in_it(
    client: FlaskClient, context: dict[str, Any], expected: list[str]
) -> None:
    assert sorted(ids(client, "a test", context=context)) == expected
