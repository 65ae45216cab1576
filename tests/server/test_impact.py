"""Learned sparse retrieval over HTTP: searched, fused, counted, described and explained."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from factseek.indexer.build import BuildRequest, build
from factseek.retrieval.search.index import Index
from factseek.server.app import create_app
from factseek.server.settings import ServerSettings
from factseek.settings import Config, convert
from tests.small_models import small_sparse_model

TEXTS = {
    "vaccine": "Vaccination prevents measles deaths every year.",
    "nile": "The Nile is a long river on the planet.",
    "ice": "Ice sheets melt and the sea level rises.",
    "doses": "Two doses of the measles vaccine.",
}
QUERY = "vaccination prevents measles"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlaskClient]:
    folder: Path = tmp_path_factory.mktemp("impact")
    source = folder / "texts.jsonl"
    rows = (json.dumps({"docid": docid, "text": text}) + "\n" for docid, text in TEXTS.items())
    source.write_text("".join(rows), "utf-8")
    config: Config = convert({"impact": {"model": str(small_sparse_model())}}, "test")
    request = BuildRequest(
        kind="jsonl", sources=(source,), folder=folder / "ix", dense=False, views=("impacts",)
    )
    build(request, config)
    # A server needs no setting: the index names the model.
    with Index(folder / "ix", Config()) as index:
        yield create_app(Config(server=ServerSettings()), {"texts": index}).test_client()


def test_it_is_searched_and_counted(client: FlaskClient) -> None:
    body = {"query": QUERY, "retriever": "impact", "k": 2, "count": True}
    answer = client.post("/v1/texts/search", json=body).json
    assert [hit["docid"] for hit in answer["hits"]] == ["vaccine", "doses"]
    assert answer["hits"][0]["retrievers"]["impact"]["rank"] == 1
    assert answer["total"] == {"hits": 4, "of": "matching"}
    assert client.get("/v1/indexes/texts").json["index"]["retrievers"] == ["bm25", "impact"]


def test_it_explains_by_the_terms_of_the_model(client: FlaskClient) -> None:
    body = {"query": QUERY, "retriever": "impact", "k": 4, "explain": True}
    answer = client.post("/v1/texts/search", json=body).json
    for hit, explained in zip(answer["hits"], answer["explanation"]["hits"], strict=True):
        weights = {term["word"]: term["weight"] for term in explained["impacts"]["impact"]}
        assert sum(weights.values()) == pytest.approx(hit["score"], abs=0.01)
        assert list(weights.values()) == sorted(weights.values(), reverse=True)
    first = answer["explanation"]["hits"][0]
    names = {term["word"] for term in first["impacts"]["impact"]}
    assert {"vaccination", "prevents", "measles"} < names
    heaviest = first["impacts"]["impact"][0]
    assert f" from the terms {heaviest['word']} ({heaviest['weight']:.2f}), " in first["sentence"]
    assert first["sentence"].endswith(" others.")


def test_it_is_fused_by_weight_and_explained_beside_words(client: FlaskClient) -> None:
    fusion = {"kind": "minmax", "weights": {"bm25": 0.5, "impact": 0.5}}
    body = {"query": QUERY, "retriever": "hybrid", "fusion": fusion, "explain": True}
    answer = client.post("/v1/texts/search", json=body).json
    assert "explanation" in answer, answer
    explained = answer["explanation"]["hits"][0]
    assert explained["docid"] == "vaccine"
    assert set(explained["retrievers"]) == {"bm25", "impact"}
    assert set(explained["impacts"]) == {"impact"}


def test_other_rankings_have_no_such_explanation(client: FlaskClient) -> None:
    body = {"query": QUERY, "retriever": "bm25", "explain": True}
    (first, *_) = client.post("/v1/texts/search", json=body).json["explanation"]["hits"]
    assert "impacts" not in first


def test_the_page_offers_it(client: FlaskClient) -> None:
    page = client.get(f"/?index=texts&retriever=impact&query={QUERY.replace(' ', '+')}").text
    assert "the terms that a model expects" in page
    assert "Two doses of the measles vaccine." in page
