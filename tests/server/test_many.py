"""Several indexes asked at once: one ranking, over HTTP, on the command line and in Python."""

from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient
from hypothesis import given, settings
from hypothesis import strategies as st

from factseek import search_many
from factseek.core.domain import Hit
from factseek.core.errors import QueryError
from factseek.retrieval.search.federated import fuse_indexes
from factseek.retrieval.search.index import Index
from factseek.retrieval.search.options import Search
from tests.examples_tried import EXAMPLES

QUERY = "measles vaccine النيل"
RANKINGS = st.dictionaries(
    st.sampled_from(["a", "b", "c"]),
    st.lists(st.sampled_from("uvwxyz"), unique=True, max_size=6),
    min_size=1,
)


@settings(max_examples=EXAMPLES)
@given(
    docids=RANKINGS,
    weights=st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=3, max_size=3),
    k=st.integers(1, 20),
)
def test_rankings_are_fused_by_rank(
    docids: dict[str, list[str]], weights: list[float], k: int
) -> None:
    rankings = {
        name: [Hit(docid, 1.0 / (at + 1)) for at, docid in enumerate(own)]
        for name, own in docids.items()
    }
    chosen = dict(zip("abc", weights, strict=True))
    whole = fuse_indexes(rankings, chosen, 10, 100)
    assert sorted((of.name, of.hit.docid) for of in whole) == sorted(
        (n, d) for n, own in docids.items() for d in own if chosen[n]
    )
    assert fuse_indexes(rankings, chosen, 10, k) == whole[:k]
    assert fuse_indexes(dict(reversed(rankings.items())), chosen, 10, k) == whole[:k]
    keys = [(-of.score, [-ord(sign) for sign in of.hit.docid], of.name) for of in whole]
    assert keys == sorted(keys)
    for of in whole:
        assert docids[of.name][of.rank - 1] == of.hit.docid
        assert of.score == pytest.approx(chosen[of.name] / (10 + of.rank), rel=1e-6)
    # A shorter ranking of each index is enough for a shorter list.
    assert (
        fuse_indexes({name: hits[:k] for name, hits in rankings.items()}, chosen, 10, k)
        == whole[:k]
    )


def test_one_ranking_over_http(client: FlaskClient) -> None:
    body = {"query": QUERY, "k": 4}
    answer = client.post("/v1/search", json=body).json
    assert set(answer["indexes"]) == {"english", "arabic"}
    assert [answer["indexes"][name]["retriever"] for name in ("english", "arabic")] == [
        "hybrid",
        "bm25",
    ]
    alone = {
        name: client.post(f"/v1/{name}/search", json=body).json for name in ("english", "arabic")
    }
    for name, own in alone.items():
        assert answer["indexes"][name]["manifest_id"] == own["manifest_id"]
        docids = [hit["docid"] for hit in answer["hits"] if hit["index"] == name]
        assert docids == [hit["docid"] for hit in own["hits"]][: len(docids)]
    assert [hit["rank"] for hit in answer["hits"]] == [1, 2, 3, 4]
    first = answer["hits"][0]
    (same,) = [hit for hit in alone[first["index"]]["hits"] if hit["docid"] == first["docid"]]
    assert {**first, "score": 0, "rank": 0} == {
        **same,
        "score": 0,
        "rank": 0,
        "index": first["index"],
    }
    for k in (1, 2, 3):
        assert client.post("/v1/search", json={**body, "k": k}).json["hits"] == answer["hits"][:k]


def test_an_index_whose_first_hit_does_not_bear_on_the_query_counts_half(
    client: FlaskClient,
) -> None:
    for query, weights in (("نهر النيل", [0.5, 1]), ("measles vaccine", [1, 1])):
        answer = client.post("/v1/search", json={"query": query, "k": 3, "collapse": "near"}).json
        assert [answer["indexes"][name]["weight"] for name in ("english", "arabic")] == weights
        assert answer["hits"][0]["index"] == ("arabic" if weights[0] < 1 else "english")


@pytest.mark.parametrize(
    ("body", "status", "detail"),
    [
        (
            {"query": "x", "indexes": ["nothing"]},
            404,
            "there is no index 'nothing'; the indexes are english, arabic",
        ),
        (
            {"query": "x", "indexes": ["english", "english"]},
            400,
            "indexes: an index is given twice",
        ),
        (
            {"query": "x", "indexes": {"english": 0}},
            400,
            "indexes: all weights are 0: no index would count",
        ),
        ({"query": "?!"}, 400, "query: english: the query '?!' contains no words to search for"),
        ({"query": "x", "k": 51}, 400, "k: english: 51 is out of range: ask for 1 to 50"),
    ],
)
def test_bad_input(
    client: FlaskClient, body: dict[str, object], status: int, detail: str | None
) -> None:
    refused = client.post("/v1/search", json=body)
    assert refused.status_code == status
    assert detail is None or refused.json["detail"] == detail


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize(
    "options", [{}, {"sort": "date"}, {"stages": ["per_source=1"]}, {"collapse": "near"}]
)
def test_cursors_walk_through_the_whole_list(
    client: FlaskClient, k: int, options: dict[str, Any]
) -> None:
    asked = {"query": QUERY, "indexes": {"arabic": 2, "english": 1}, **options}
    whole = client.post("/v1/search", json={**asked, "k": 40}).json
    assert ("cursor" in whole, [hit["rank"] for hit in whole["hits"]]) == (
        False,
        [*range(1, len(whole["hits"]) + 1)],
    )
    answer, walked = client.post("/v1/search", json={**asked, "k": k}).json, []
    while True:
        walked += answer["hits"]
        same = {**asked, "k": k, "offset": len(walked) - len(answer["hits"])}
        assert client.post("/v1/search", json=same).json["hits"] == answer["hits"]
        if "cursor" not in answer:
            break
        answer = client.post("/v1/search", json={**asked, "k": k, "cursor": answer["cursor"]}).json
    assert walked == whole["hits"]
    if options.get("sort"):
        dates = [hit["date"] for hit in walked]
        assert dates == [
            "2024-01",
            "2021-01-01",
            "2020",
            "2019-05-02",
            "1972-12-14",
            *[""] * (len(dates) - 5),
        ]


def test_counts_of_each_index_and_of_all(client: FlaskClient) -> None:
    body = {
        "query": QUERY,
        "retriever": "bm25",
        "facets": {"index": 5, "topic": 1, "language": 5},
        "k": 1,
    }
    answer = client.post("/v1/search", json=body).json
    each = {
        name: client.post(
            f"/v1/{name}/search", json={**body, "facets": ["topic=1", "language=5"]}
        ).json
        for name in ("english", "arabic")
    }
    for name, own in each.items():
        assert answer["indexes"][name]["total"] == own["total"]
        assert answer["indexes"][name]["facets"] == own["facets"]
    hits = {name: own["total"]["hits"] for name, own in each.items()}
    assert answer["total"] == {"hits": sum(hits.values()), "of": "matching"}
    assert {value["value"]: value["count"] for value in answer["facets"]["index"]["values"]} == hits
    assert answer["facets"]["topic"] == {
        "values": [{"value": "health", "count": 1}],
        "more": 1,
        "missing": 2,
    }
    assert [value["value"] for value in answer["facets"]["language"]["values"]] == ["en", "ar"]
    narrowed = client.post("/v1/search", json={**body, "filter": {"topic": "news"}}).json
    assert [value["value"] for value in narrowed["facets"]["topic"]["values"]] == ["health", "news"]
    of_passages = client.post("/v1/search", json={**body, "group": False}).json
    assert of_passages["facets"]["index"] == answer["facets"]["index"]
    assert (
        client.post("/v1/search", json={**body, "retriever": None}).json["total"]["of"]
        == "rankable"
    )
    assert "facets" not in client.post("/v1/search", json={"query": QUERY, "count": True}).json


def test_in_python(folders: dict[str, Path]) -> None:
    with Index(folders["english"]) as english, Index(folders["arabic"]) as arabic:
        indexes = {"en": english, "ar": arabic}
        hits = search_many(indexes, QUERY, Search(k=5), weights={"ar": 2})
        assert {hit.index for hit in hits} == {"en", "ar"}
        assert (hits[0].rank, hits[0].index) == (1, "ar")
        assert search_many(indexes, QUERY, Search(k=2), weights={"ar": 2}) == hits[:2]
        with pytest.raises(
            QueryError, match=r"^fr has a weight, but is not searched; the indexes are en, ar$"
        ):
            search_many(indexes, QUERY, weights={"fr": 1})
        for search, fault in (
            (Search(k=0), "k 0"),
            (Search(k=3, offset=-1), "offset -1"),
            (Search(k=10_001), "k 10001"),
        ):
            with pytest.raises(QueryError, match=rf"^{fault} is out of range"):
                search_many(indexes, QUERY, search)
        with pytest.raises(QueryError, match=r"^give an index to search$"):
            search_many({}, QUERY)
