"""Google's claim search: the parameters and the answer of its discovery document, asked by Google's
own client.
"""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from factseek.indexer.build import BuildRequest, build
from factseek.retrieval.search.index import Index
from factseek.server.app import create_app
from factseek.server.settings import ServerSettings
from factseek.settings import Config
from tests.server.served import serve

CLAIM = "nobody walked on the moon"
RECENT, RECENT_CLAIM = (
    (datetime.now(UTC).date() - timedelta(days=days)).isoformat() for days in (8, 4)
)


@pytest.fixture(scope="module")
def reviews(tmp_path_factory: pytest.TempPathFactory, examples: Path) -> Path:
    folder = tmp_path_factory.mktemp("google")
    recent = {
        "@type": "ClaimReview",
        "url": "https://www.daily.example.org/moon",
        "claimReviewed": "The moon is a balloon.",
        "datePublished": RECENT,
        "inLanguage": "en",
        "reviewRating": "Nope",
        "author": {"@type": "Organization", "name": "Daily"},
    }
    again = {  # a claim of two days ago that was reviewed long before
        "@type": "ClaimReview",
        "url": "https://daily.example.org/cheese",
        "claimReviewed": "The moon is of cheese.",
        "datePublished": "2001-02-03",
        "inLanguage": "en",
        "reviewRating": "Nope",
        "itemReviewed": {"@type": "Claim", "datePublished": RECENT_CLAIM},
        "author": {"@type": "Organization", "name": "Daily"},
    }
    undated = {
        **again,
        "url": "https://daily.example.org/undated",
        "claimReviewed": "The moon is no moon.",
    }
    for name in ("datePublished", "itemReviewed"):
        del undated[name]
    source = folder / "recent.json"
    source.write_text(json.dumps([recent, again, undated]), "utf-8")
    sources = (examples / "reviews-en.json", source)
    build(
        BuildRequest(kind="claimreview", sources=sources, folder=folder / "index", dense=False),
        Config(),
    )
    return folder / "index"


@pytest.fixture(scope="module")
def google(reviews: Path) -> Iterator[FlaskClient]:
    config = Config(server=ServerSettings(adapters={"google": "checked"}))
    with Index(reviews, config) as index:
        yield create_app(config, {"checked": index}).test_client()


def claims_of(client: FlaskClient, **parameters: Any) -> list[dict[str, Any]]:
    answer = client.get("/google/v1alpha1/claims:search", query_string=parameters)
    assert answer.status_code == 200, answer.text
    claims: list[dict[str, Any]] = answer.json.get("claims", [])
    return claims


def test_a_claim_has_the_fields_of_the_discovery_document(google: FlaskClient) -> None:
    assert claims_of(google, query=CLAIM, pageSize=1) == [
        {
            "text": "nobody ever walked on the moon, it was all filmed in a studio #MoonHoax",
            "claimReview": [
                {
                    "publisher": {"name": "Sky and Earth Facts", "site": "facts.example.net"},
                    "url": "https://facts.example.net/moon-landing-studio",
                    "title": "Twelve people walked on the moon",
                    "textualRating": "Pants on fire",
                    "languageCode": "en",
                    "reviewDate": "2024-07-20T00:00:00Z",
                }
            ],
            "claimant": "@hoax_example",
            "claimDate": "2024-07-19T00:00:00Z",
        }
    ]


def test_tokens_lead_from_page_to_page(google: FlaskClient) -> None:
    whole = claims_of(google, query="measles vaccine", pageSize=6)
    parameters, pages = {"query": "measles vaccine", "pageSize": 2}, []
    answer = google.get("/google/v1alpha1/claims:search", query_string=parameters).json
    for _ in range(3):
        pages += answer["claims"]
        token = {"pageToken": answer["nextPageToken"]}
        answer = google.get(
            "/google/v1alpha1/claims:search", query_string={**parameters, **token}
        ).json
    assert pages == whole
    other = google.get(
        "/google/v1alpha1/claims:search", query_string={"query": "moon", "pageSize": 2, **token}
    )
    assert other.json["error"]["message"].startswith("pageToken: belongs to another search")
    last = google.get("/google/v1alpha1/claims:search?query=measles&pageSize=50").json
    assert "nextPageToken" not in last


def test_filters(google: FlaskClient) -> None:
    def sites(**parameters: Any) -> set[str]:
        claims = claims_of(google, query="the moon", **parameters)
        return {claim["claimReview"][0]["publisher"]["site"] for claim in claims}

    assert sites(reviewPublisherSiteFilter="daily.example.org") == {
        "www.daily.example.org",
        "daily.example.org",
    }
    assert sites(reviewPublisherSiteFilter="facts.example.net") == {"facts.example.net"}
    assert sites(reviewPublisherSiteFilter="WWW.Facts.example.net") == {"facts.example.net"}
    assert sites(languageCode="ar-EG") == set()
    assert len(sites(languageCode="en-US")) == 3


def addresses(client: FlaskClient, **parameters: Any) -> list[str]:
    return [claim["claimReview"][0]["url"] for claim in claims_of(client, **parameters)]


BALLOON, CHEESE, UNDATED = (
    "https://www.daily.example.org/moon",
    "https://daily.example.org/cheese",
    "https://daily.example.org/undated",
)


def test_age_counts_from_the_newer_of_review_and_claim(
    google: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("factseek.server.adapters.google._FIRST_SLICE", 1)
    everything = [
        address for address in addresses(google, query="the moon") if address in (BALLOON, CHEESE)
    ]
    assert len(everything) == 2
    assert addresses(google, query="the moon", maxAgeDays=30) == everything
    assert addresses(google, query="the moon", maxAgeDays=6) == [CHEESE]
    assert addresses(google, query="the moon", maxAgeDays=2) == []
    assert (
        addresses(google, query="the moon", maxAgeDays=30, pageSize=1, offset=1) == everything[1:]
    )
    first = google.get(
        "/google/v1alpha1/claims:search?query=the+moon&maxAgeDays=30&pageSize=1"
    ).json
    token = {
        "query": "the moon",
        "maxAgeDays": 30,
        "pageSize": 1,
        "pageToken": first["nextPageToken"],
    }
    assert addresses(google, **token) == everything[1:]
    other = google.get("/google/v1alpha1/claims:search", query_string={**token, "maxAgeDays": 29})
    assert other.json["error"]["message"].startswith("pageToken: belongs to another search")


def test_without_a_query_a_publishers_newest_reviews_are_listed(google: FlaskClient) -> None:
    daily = {"reviewPublisherSiteFilter": "daily.example.org"}
    assert addresses(google, **daily) == [CHEESE, BALLOON, UNDATED]
    assert addresses(google, **daily, pageSize=1, offset=1) == [BALLOON]
    assert addresses(google, **daily, maxAgeDays=30) == [CHEESE, BALLOON]
    assert addresses(google, **daily, maxAgeDays=6) == [CHEESE]
    assert addresses(google, **daily, languageCode="ar") == []
    pages: list[str] = []
    answer = google.get(
        "/google/v1alpha1/claims:search", query_string={**daily, "pageSize": 2}
    ).json
    pages += [claim["claimReview"][0]["url"] for claim in answer["claims"]]
    token = {**daily, "pageSize": 2, "pageToken": answer["nextPageToken"]}
    last = google.get("/google/v1alpha1/claims:search", query_string=token).json
    pages += [claim["claimReview"][0]["url"] for claim in last["claims"]]
    assert (pages, "nextPageToken" in last) == ([CHEESE, BALLOON, UNDATED], False)
    days = [
        claim["claimReview"][0]["reviewDate"]
        for claim in claims_of(google, reviewPublisherSiteFilter="facts.example.net")
    ]
    assert days == sorted(days, reverse=True)
    assert len(days) > 1
    assert "reviewDate" not in claims_of(google, **daily)[2]["claimReview"][0]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({}, "query: is required without reviewPublisherSiteFilter"),
        ({"query": "moon", "pageSize": "many"}, "pageSize: expected int, got str"),
        (
            {"query": "moon", "pageSize": 10_001},
            "pageSize: 10001 is out of range: ask for 1 to 10000",
        ),
        (
            {"query": "moon", "pageToken": "x"},
            "pageToken: belongs to another search; send it with the parameters of that search",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_as_google_does(
    google: FlaskClient, parameters: Any, message: str
) -> None:
    answer = google.get("/google/v1alpha1/claims:search", query_string=parameters)
    assert answer.status_code == 400
    assert answer.json == {"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}}


def test_googles_own_client(reviews: Path, tmp_path: Path) -> None:
    discovery = pytest.importorskip("googleapiclient.discovery")
    errors = pytest.importorskip("googleapiclient.errors")
    with serve(
        {}, tmp_path / "server", "workers: 1, adapters: {google: checked}", checked=reviews
    ) as server:
        options = {"api_endpoint": f"http://127.0.0.1:{server.port}/google/"}
        service = discovery.build(
            "factchecktools",
            "v1alpha1",
            developerKey="any",
            client_options=options,
            static_discovery=True,
        )
        with service:
            parameters = {
                "query": CLAIM,
                "languageCode": "en-US",
                "pageSize": 1,
                "fields": "claims,nextPageToken",
            }
            answer = service.claims().search(**parameters).execute()
            assert answer["claims"][0]["claimReview"][0]["textualRating"] == "Pants on fire"
            following = service.claims().search(
                query=CLAIM, languageCode="en-US", pageSize=1, pageToken=answer["nextPageToken"]
            )
            assert following.execute()["claims"][0] != answer["claims"][0]
            newest = (
                service.claims()
                .search(reviewPublisherSiteFilter="daily.example.org", maxAgeDays=6)
                .execute()
            )
            assert [claim["text"] for claim in newest["claims"]] == ["The moon is of cheese."]
            with pytest.raises(errors.HttpError) as error:
                service.claims().search(maxAgeDays=6).execute()
    assert (error.value.status_code, "query: is required" in error.value.reason) == (400, True)
