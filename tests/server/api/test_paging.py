"""Pages of a list over HTTP, what is counted beside them, and cursors."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from factseek.indexer.deletion import delete
from factseek.retrieval.search.index import Index
from factseek.server.app import create_app
from factseek.server.runtime import registry
from factseek.settings import Config
from tests.server.conftest import ENGLISH, build_index

ADDRESS = "/v1/english/search"
ASKED: dict[str, Any] = {
    "query": "measles vaccine",
    "retriever": "hybrid",
    "k": 2,
    "stages": ["per_source=1"],
}


def post(client: FlaskClient, body: dict[str, Any], address: str = ADDRESS) -> Any:
    return client.post(address, json=body).json


@pytest.mark.parametrize("retriever", ["bm25", "dense", "hybrid"])
@pytest.mark.parametrize("stages", [[], ["per_source=1"]])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_cursors_walk_through_the_whole_list(
    client: FlaskClient, retriever: str, stages: list[str], k: int
) -> None:
    asked = {"query": "measles vaccine", "retriever": retriever, "stages": stages}
    whole = post(client, {**asked, "k": 50})
    assert "cursor" not in whole
    assert walk(client, {**asked, "k": k}) == whole["hits"]


def walk(
    client: FlaskClient, asked: dict[str, Any], address: str = ADDRESS
) -> list[dict[str, Any]]:
    answer, walked = post(client, asked, address), []
    while True:
        walked += answer["hits"]
        if "cursor" not in answer:
            return walked
        answer = post(client, {**asked, "cursor": answer["cursor"]}, address)


def test_counts_are_of_all_matches_not_of_the_page(client: FlaskClient) -> None:
    asked = {
        "query": "measles vaccine",
        "retriever": "bm25",
        "k": 1,
        "facets": {"topic": 5, "year": 5},
    }
    answer = post(client, asked)
    assert answer["total"] == {"hits": 3, "of": "matching"}
    assert answer["facets"]["topic"] == {
        "values": [{"value": "health", "count": 1}, {"value": "news", "count": 1}],
        "more": 0,
        "missing": 1,
    }
    assert [value["value"] for value in answer["facets"]["year"]["values"]] == ["2019", "2024"]
    narrowed = post(client, {**asked, "filter": {"topic": "news"}})
    assert narrowed["total"] == {"hits": 1, "of": "matching"}
    assert narrowed["facets"]["topic"] == answer["facets"]["topic"]
    assert narrowed["facets"]["year"]["values"] == [{"value": "2024", "count": 1}]
    ranked = post(client, {**asked, "retriever": "hybrid"})
    assert ranked["total"] == {"hits": len(ENGLISH), "of": "rankable"}
    by_address = client.get(
        ADDRESS, query_string={"query": "measles vaccine", "retriever": "bm25", "facets": "topic"}
    )
    assert by_address.json["facets"]["topic"] == answer["facets"]["topic"]
    assert post(client, {**asked, "facets": {}, "count": True})["total"] == answer["total"]
    assert {"total", "facets"}.isdisjoint(post(client, {"query": "measles"}))


def refused(
    client: FlaskClient, body: dict[str, Any], address: str = ADDRESS
) -> tuple[int, str, str, str]:
    response = client.post(address, json=body)
    assert response.mimetype == "application/problem+json"
    problem = response.json
    return response.status_code, problem["error"], problem.get("field", ""), problem["detail"]


OTHER = (
    "cursor: belongs to another search or index; send it with the query and options of the "
    "previous page"
)
NONE = "cursor: is not a cursor; use the cursor of an answer unchanged"
CHANGED = "the index has changed since the previous page: hits may be repeated or missing"


@pytest.mark.parametrize(
    "change", [{"query": "moon"}, {"retriever": "bm25"}, {"stages": []}, {"as_of": "2030"}]
)
def test_a_cursor_of_another_search(client: FlaskClient, change: dict[str, Any]) -> None:
    cursor = post(client, ASKED)["cursor"]
    assert refused(client, {**ASKED, **change, "cursor": cursor}) == (
        400,
        "bad-input",
        "cursor",
        OTHER,
    )


def test_a_cursor_of_another_index(client: FlaskClient) -> None:
    asked = {"query": "measles", "k": 1, "retriever": "bm25"}
    cursor = post(client, asked)["cursor"]
    assert refused(client, {**asked, "cursor": cursor}, "/v1/arabic/search") == (
        400,
        "bad-input",
        "cursor",
        OTHER,
    )


@pytest.mark.parametrize(
    "cursor", ["x", "a" * 60, "é", "====", "AAAA" * 15, " ", "A" * 27 + "\n", "A" * 27 + "="]
)
def test_what_is_no_cursor(client: FlaskClient, cursor: str) -> None:
    assert refused(client, {**ASKED, "cursor": cursor}) == (400, "bad-input", "cursor", NONE)


@pytest.fixture
def changing(tmp_path: Path, config: Config) -> Iterator[tuple[Path, Any]]:
    folder = build_index(tmp_path / "index", ENGLISH, language="en", dense=False)
    app = create_app(config, {"english": Index(folder, config)})
    yield folder, app
    for served in app.extensions["factseek"].indexes.values():
        served.index.close()


def changed(folder: Path, app: Any, docid: str) -> None:
    delete(folder, [docid])
    with app.app_context():
        registry().publish("english", Index(folder, app.extensions["factseek"].config))


def test_a_list_goes_on_in_the_changed_index_and_says_so(changing: tuple[Path, Any]) -> None:
    folder, app = changing
    client = app.test_client()
    asked = {"query": "measles vaccine", "k": 1}
    whole, first = post(client, {**asked, "k": 3}), post(client, asked)
    many = post(client, asked, "/v1/search")
    assert post(client, {**asked, "cursor": first["cursor"]})["note"] == first["note"] == ""
    changed(folder, app, whole["hits"][1]["docid"])
    second = post(client, {**asked, "cursor": first["cursor"]})
    assert second["manifest_id"] != first["manifest_id"]
    assert second["note"] == CHANGED
    assert second["hits"] == post(client, {**asked, "offset": 1})["hits"]
    assert [hit["docid"] for hit in second["hits"]] == [whole["hits"][2]["docid"]]
    by_address = client.get(
        ADDRESS, query_string={"query": "measles vaccine", "hits": 1, "cursor": first["cursor"]}
    )
    assert (by_address.json["note"], by_address.json["hits"]) == (CHANGED, second["hits"])
    assert (
        post(client, {**asked, "cursor": many["cursor"]}, "/v1/search")["indexes"]["english"][
            "note"
        ]
        == CHANGED
    )
    # From a page of the present index it goes on without a word.
    again = post(client, asked)
    assert post(client, {**asked, "cursor": again["cursor"]})["note"] == ""
