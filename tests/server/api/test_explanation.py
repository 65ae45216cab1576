"""The additions to a search that are asked for: how scores came about, and the other passages of a
document.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flask.testing import FlaskClient

from factseek.indexer.build import BuildRequest, build
from factseek.indexer.settings import PassageSettings
from factseek.retrieval.search.index import Index
from factseek.server.app import create_app
from factseek.settings import Config

MEASLES = "two doses of the measles vaccine"
LONG = (
    "The Moon goes around the Earth in a month. Nothing else is said of it here. "
    "Bread is made of flour and water. It is baked until it is brown. "
    "The tides are made by the Moon, and by the Sun. That is all there is."
)


def search(client: FlaskClient, **body: Any) -> dict[str, Any]:
    answer: dict[str, Any] = client.post("/v1/english/search", json=body).json
    return answer


@pytest.mark.parametrize(
    "fusion",
    [
        "auto",
        "rrf",
        "minmax",
        "zscore",
        {"kind": "rrf", "rrf_k": 60, "weights": {"bm25": 0.5, "dense": 2}},
    ],
)
def test_votes_add_up_to_the_score(client: FlaskClient, fusion: Any) -> None:
    answer = search(client, query=MEASLES, fusion=fusion, explain=True)
    explained = answer["explanation"]
    assert [(one["rank"], one["docid"], one["score"]) for one in explained["hits"]] == [
        (hit["rank"], hit["docid"], hit["score"]) for hit in answer["hits"]
    ]
    for one, hit in zip(explained["hits"], answer["hits"], strict=True):
        assert one["score"] == float(
            np.float32(sum(part["vote"] for part in one["retrievers"].values()))
        )
        assert one["passage"] == hit["passage"]["number"]
        ranked = {
            name: {"rank": part["rank"], "score": part["score"]}
            for name, part in one["retrievers"].items()
        }
        assert ranked == hit["retrievers"]
    kind = fusion if isinstance(fusion, str) else fusion["kind"]
    kind = "minmax" if kind == "auto" else kind  # the query is in the language of the index
    assert (explained["fusion"]["kind"], explained["fusion"]["depth"]) == (kind, 100)


def test_reciprocal_ranks_are_explained_by_hand(client: FlaskClient) -> None:
    first = search(
        client,
        query=MEASLES,
        fusion={"rrf_k": 1, "weights": {"bm25": 0.25, "dense": 0.5}},
        explain=True,
    )["explanation"]["hits"][0]
    assert {name: part["vote"] for name, part in first["retrievers"].items()} == {
        "bm25": 0.125,
        "dense": 0.25,
    }


@pytest.fixture(scope="module")
def long_client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlaskClient]:
    folder = tmp_path_factory.mktemp("long")
    source = folder / "long.jsonl"
    source.write_text(
        json.dumps({"docid": "moon", "text": LONG})
        + "\n"
        + json.dumps({"docid": "x/é", "text": "Sun."})
    )
    config = Config(passages=PassageSettings(words=15, overlap_sentences=0, split={"jsonl": True}))
    build(
        BuildRequest(
            kind="jsonl",
            sources=(Path(source),),
            folder=folder / "index",
            language="en",
            dense=False,
        ),
        config,
    )
    with Index(folder / "index", config) as index:
        yield create_app(config, {"long": index}).test_client()


def test_a_hit_brings_the_passages_that_hold_a_word_of_the_query(long_client: FlaskClient) -> None:
    whole = long_client.get("/v1/long/documents/moon").json
    assert len(whole["passages"]) == 5
    hits = long_client.post("/v1/long/search", json={"query": "the moon", "passages": True}).json[
        "hits"
    ]
    assert [hit["docid"] for hit in hits] == ["moon"]
    assert [one["number"] for one in hits[0]["passages"]] == [0, 3]
    assert hits[0]["passage"] in hits[0]["passages"]
    for one in hits[0]["passages"]:
        text = whole["document"]["text"][one["start"] : one["end"]]
        assert text == one["text"]
        assert {text[start:end] for start, end in one["highlights"]} == {"Moon"}


@pytest.mark.parametrize("route", ["documents", "doc"])
def test_a_document_that_the_client_has_is_not_sent_again(client: FlaskClient, route: str) -> None:
    first = client.get(f"/v1/english/{route}/measles")
    name = first.headers["ETag"]
    assert name.startswith('W/"')
    assert first.headers["Cache-Control"] == "no-cache"
    for known in (name, f'"other", {name}', "*"):
        again = client.get(f"/v1/english/{route}/measles", headers={"If-None-Match": known})
        assert (again.status_code, again.data, again.headers["ETag"]) == (304, b"", name)
    assert (
        client.get(f"/v1/english/{route}/measles", headers={"If-None-Match": '"other"'}).status_code
        == 200
    )
    assert client.get(f"/v1/english/{route}/measles").headers["ETag"] == name
    assert client.get(f"/v1/english/{route}/moon").headers["ETag"] != name
    assert client.head(f"/v1/english/{route}/measles").headers["ETag"] == name
