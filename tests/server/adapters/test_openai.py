"""OpenAI's embeddings from the served encoder, asked by OpenAI's own client."""

from typing import Any

import numpy as np
import pytest
from flask.testing import FlaskClient

from factseek.retrieval.config import EncoderSettings
from factseek.retrieval.encoders.opening import open_encoder
from factseek.retrieval.search.index import Index

MODEL = "all-MiniLM-L6-v2"
TEXTS = ["Two doses of the measles vaccine.", "The moon landing"]


def vectors(client: FlaskClient, **body: Any) -> list[Any]:
    answer = client.post("/openai/v1/embeddings", json=body)
    assert answer.status_code == 200, answer.text
    assert [entry["index"] for entry in answer.json["data"]] == list(
        range(len(answer.json["data"]))
    )
    return [entry["embedding"] for entry in answer.json["data"]]


def test_the_vectors_are_the_encoders(asked: FlaskClient, indexes: dict[str, Index]) -> None:
    expected = indexes["english"].encoder.encode_document(TEXTS)
    np.testing.assert_array_equal(
        np.array(vectors(asked, input=TEXTS, model=MODEL), dtype=np.float32), expected
    )
    np.testing.assert_array_equal(
        np.array(vectors(asked, input=TEXTS[0]), dtype=np.float32), expected[:1]
    )
    queries = indexes["english"].encoder.encode_query(TEXTS)
    as_queries = vectors(asked, input=TEXTS, model=f"{MODEL}:query", dimensions=384)
    np.testing.assert_array_equal(np.array(as_queries, dtype=np.float32), queries)


@pytest.mark.parametrize(
    ("body", "status", "param", "message"),
    [
        ({}, 400, "input", "input: is missing"),
        ({"input": ["a"] * 6}, 400, "input", "input: 1 to 5 texts can be encoded at once, not 6"),
        ({"input": ["a", " "]}, 400, "input[1]", "input[1]: is empty"),
        ({"input": "a", "dimensions": 8}, 400, "dimensions", "dimensions: this model has only 384"),
        (
            {"input": "a", "model": "text-embedding-3-small"},
            404,
            None,
            f"there is no model 'text-embedding-3-small'; the models are {MODEL} and {MODEL}:query",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_as_openai_does(
    asked: FlaskClient, body: Any, status: int, param: str | None, message: str
) -> None:
    answer = asked.post("/openai/v1/embeddings", json=body)
    error = answer.json["error"]
    assert (answer.status_code, error["message"], error["param"]) == (status, message, param)
    assert error["type"] == "invalid_request_error"


def test_a_listed_model_is_found_by_its_name(asked: FlaskClient) -> None:
    listed = asked.get("/openai/v1/models").json["data"]
    assert [asked.get(f"/openai/v1/models/{model['id']}").json for model in listed] == listed
    assert asked.get(f"/openai/v1/models/{MODEL}%3Aquery").json == listed[1]
    for other in ("x", "x/y", f"{MODEL}/", f"{MODEL.lower()}:query"):
        answer = asked.get(f"/openai/v1/models/{other}")
        message = f"there is no model {other!r}; the models are {MODEL} and {MODEL}:query"
        error = {
            "message": message,
            "type": "invalid_request_error",
            "param": None,
            "code": "model_not_found",
        }
        assert (answer.status_code, answer.json) == (404, {"error": error})


def test_openais_own_client(base: str) -> None:
    openai = pytest.importorskip("openai")
    with openai.OpenAI(base_url=f"{base}/openai/v1", api_key="any", max_retries=0) as client:
        # As base64, which the client unpacks.
        answer = client.embeddings.create(model=MODEL, input=TEXTS)
        plain = client.embeddings.create(model=MODEL, input=TEXTS, encoding_format="float")
        assert [entry.embedding for entry in answer.data] == [
            pytest.approx(entry.embedding) for entry in plain.data
        ]
        assert abs(np.linalg.norm(answer.data[0].embedding) - 1) < 1e-5
        assert [model.id for model in client.models.list()] == [MODEL, f"{MODEL}:query"]
        assert [client.models.retrieve(model.id) for model in client.models.list()] == list(
            client.models.list()
        )
        for other in ("text-embedding-3-small", "a/b c?", f"{MODEL}:QUERY"):
            with pytest.raises(openai.NotFoundError) as unknown:
                client.models.retrieve(other)
            assert (unknown.value.code, unknown.value.type) == (
                "model_not_found",
                "invalid_request_error",
            )
        with pytest.raises(openai.NotFoundError) as error:
            client.embeddings.create(model="text-embedding-3-small", input="a")
        assert error.value.code == "model_not_found"


def test_factseek_reads_what_openais_client_reads(base: str) -> None:
    openai = pytest.importorskip("openai")
    address = f"{base}/openai/v1"
    with openai.OpenAI(base_url=address, api_key="any", max_retries=0) as client:
        answer = client.embeddings.create(model=MODEL, input=TEXTS, encoding_format="float")
    encoder = open_encoder(EncoderSettings(model=f"{address}#{MODEL}"))
    expected = np.array([entry.embedding for entry in answer.data], dtype=np.float32)
    np.testing.assert_allclose(encoder.encode_document(TEXTS), expected, atol=1e-6)
    assert (encoder.dimension, encoder.name) == (384, f"{address}#{MODEL}")
    encoder.close()
