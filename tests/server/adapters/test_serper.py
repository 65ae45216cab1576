"""Serper's search: golden requests and answers written from its published examples, and Haystack's
client of it.
"""

from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from factseek.retrieval.search.index import Index
from factseek.server.app import create_app
from factseek.server.settings import ServerSettings
from factseek.settings import Config
from tests.server.conftest import build_index

QUERY = "measles vaccine doses"


def test_a_search_answers_the_fields_of_serper(asked: FlaskClient) -> None:
    body = {
        "q": QUERY,
        "gl": "us",
        "hl": "en",
        "location": "Bonn",
        "tbs": "qdr:y",
        "num": 1,
        "autocorrect": False,
    }
    answer = asked.post("/serper/search", json=body, headers={"X-API-KEY": "any"}).json
    assert answer == {
        "searchParameters": {**body, "type": "search", "page": 1},
        "organic": [
            {
                "title": "Measles vaccine",
                "link": "https://who.example.org/measles",
                "snippet": (
                    "Two doses of the measles vaccine are about 97 percent effective against "
                    "measles."
                ),
                "position": 1,
                "date": "May 2, 2019",
            }
        ],
    }


def test_a_hit_without_an_address_is_linked_to_its_document(asked: FlaskClient) -> None:
    hits = asked.post("/serper/search", json={"q": "sea level rises every year", "num": 1}).json[
        "organic"
    ]
    link = hits[0]["link"]
    assert link.startswith("http://localhost/v1/english/documents/")
    document = asked.get(link.removeprefix("http://localhost")).json["document"]
    assert document["title"] == "Odd id"
    assert "date" in hits[0]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "q: is missing"),
        ({"q": QUERY, "num": 51}, "num: 51 is out of range: ask for 1 to 50"),
        ({"q": QUERY, "num": 10, "page": 6}, "page: 6 is out of range: ask for 1 to 5"),
    ],
)
def test_what_makes_no_sense_is_refused_as_serper_does(
    asked: FlaskClient, body: Any, message: str
) -> None:
    answer = asked.post("/serper/search", json=body)
    assert (answer.status_code, answer.json) == (400, {"message": message, "statusCode": 400})


@pytest.mark.real
def test_haystacks_client(base: str, asked: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    websearch = pytest.importorskip(
        "haystack_integrations.components.websearch.serperdev.websearch"
    )
    secret = pytest.importorskip("haystack.utils").Secret
    # No argument of it says where.
    monkeypatch.setattr(websearch, "SERPERDEV_BASE_URL", f"{base}/serper/search")
    client = websearch.SerperDevWebSearch(api_key=secret.from_token("any"), top_k=2)
    answer = client.run(QUERY)
    expected = asked.post("/serper/search", json={"q": QUERY}).json["organic"][:2]
    assert answer["links"] == [hit["link"] for hit in expected]
    assert [document.content for document in answer["documents"]] == [
        hit["snippet"] for hit in expected
    ]
    with pytest.raises(
        websearch.SerperDevError, match="q: the query '' contains no words to search for"
    ):
        client.run("")


def test_the_title_of_a_fact_check_says_that_it_rates_a_claim(tmp_path: Path) -> None:
    review = {
        "docid": "1",
        "title": "No",
        "text": "Masks kill runners.",
        "rating": "False",
        "verdict": "false",
    }
    folder = build_index(tmp_path / "checks", [review], language="en", dense=False)
    config = Config(server=ServerSettings(adapters={"serper": "", "search-r1": ""}))
    with Index(folder, config) as index:
        client = create_app(config, {"checks": index}).test_client()
        found = client.post("/serper/search", json={"q": "masks"}).json["organic"][0]
        ((document,),) = client.post(
            "/search-r1/retrieve", json={"queries": ["masks"], "topk": 1}
        ).json["result"]
    title = "Fact check (False): “Masks kill runners.”"
    assert (found["title"], found["snippet"]) == (title, "Masks kill runners.")
    assert document["contents"] == f'"{title}"\nMasks kill runners.'
