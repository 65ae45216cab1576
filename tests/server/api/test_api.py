"""Every route of the JSON API."""

import argparse
import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from flask.testing import FlaskClient

from factseek import list_hits
from factseek.core.terminal import run
from factseek.retrieval.search import cli, listings
from factseek.retrieval.search.evidence import Evidence
from factseek.retrieval.search.index import Index
from factseek.server.app import create_app
from factseek.settings import Config

MEASLES = "two doses of the measles vaccine"


class RawHits(msgspec.Struct):
    hits: msgspec.Raw


def search(client: FlaskClient, index: str = "english", **body: Any) -> dict[str, Any]:
    response = client.post(f"/v1/{index}/search", json=body)
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json
    return answer


def docids(answer: dict[str, Any]) -> list[str]:
    return [hit["docid"] for hit in answer["hits"]]


@pytest.mark.parametrize("retriever", ["bm25", "dense", "hybrid"])
def test_hits_are_byte_equal_to_the_command_lines(
    client: FlaskClient,
    folders: dict[str, Path],
    capsys: pytest.CaptureFixture[str],
    retriever: str,
) -> None:
    body = {"query": MEASLES, "retriever": retriever, "k": 2}
    served = msgspec.json.decode(
        client.post("/v1/english/search", json=body).data, type=RawHits
    ).hits
    parser = argparse.ArgumentParser()
    parser.set_defaults(config_type=Config)
    cli.register(parser.add_subparsers())
    capsys.readouterr()
    command = [
        "search",
        MEASLES,
        "--index",
        str(folders["english"]),
        "--retriever",
        retriever,
        "-k",
        "2",
        "--json",
    ]
    assert run(parser, command) == 0
    printed = msgspec.json.format(capsys.readouterr().out.encode(), indent=-1)
    assert bytes(served) == bytes(msgspec.json.decode(printed, type=RawHits).hits)
    assert len(json.loads(bytes(served))) == 2


def test_an_answer_says_what_it_is(client: FlaskClient, indexes: dict[str, Index]) -> None:
    response = client.post(
        "/v1/english/search", json={"query": MEASLES}, headers={"X-Request-Id": "a.b-c_9"}
    )
    answer = response.json
    assert answer["request_id"] == response.headers["X-Request-Id"] == "a.b-c_9"
    assert answer["index"] == "english"
    assert answer["manifest_id"] == indexes["english"].info.id
    assert answer["retriever"] == "hybrid"
    assert answer["note"] == ""
    assert set(answer["took_ms"]) == {"retrieve", "evidence"}
    assert all(value >= 0 for value in answer["took_ms"].values())


def test_a_note_warns_of_a_language_that_the_encoder_does_not_know(client: FlaskClient) -> None:
    arabic = "نهر النيل"
    assert (
        "the query looks like Arabic, the documents are in en, and the vectors of this index are "
        "for en" in search(client, query=arabic)["note"]
    )
    assert search(client, query=arabic, retriever="bm25")["note"] == ""
    assert search(client, "arabic", query=arabic)["note"] == ""


def test_a_simple_search_takes_the_options_of_a_body(client: FlaskClient) -> None:
    parameters = [
        ("query", "measles vaccine doses"),
        ("hits", "3"),
        ("retriever", "bm25"),
        ("filter", "topic=health"),
        ("filter", "topic=news"),
        ("as_of", "2024-02"),
        ("since", "2024"),
        ("undated", "keep"),
        ("fusion", "zscore"),
        ("profile", "tweet"),
        ("highlight", "false"),
        ("group", "true"),
    ]
    answer = client.get("/v1/english/search", query_string=parameters).json
    assert docids(answer) == ["measles-later"]
    assert answer["hits"][0]["passage"]["highlights"] == []


def test_a_query_of_another_script_is_offered_the_index_of_its_language(
    client: FlaskClient,
) -> None:
    arabic = "نهر النيل"
    for retriever in ("bm25", "hybrid"):
        assert search(client, query=arabic, retriever=retriever)["suited_indexes"] == ["arabic"]
    assert search(client, "arabic", query="measles vaccine")["suited_indexes"] == ["english"]
    for name, query in (
        ("arabic", arabic),
        ("english", "measles vaccine"),
        ("english", "1969"),
        ("english", "naïve"),
    ):
        assert "suited_indexes" not in search(client, name, query=query)
    simple = client.get("/v1/english/search", query_string={"query": arabic}).json
    assert simple["suited_indexes"] == ["arabic"]
    page = client.get("/", query_string={"index": "english", "query": arabic}).text
    assert "This index is in another language. Search <a href=" in page
    assert (
        "of another language"
        not in client.get("/", query_string={"index": "arabic", "query": arabic}).text
    )


@pytest.mark.parametrize("name", listings.KINDS)
def test_over_http(client: FlaskClient, name: str) -> None:
    body = {"query": "measles vaccine", "k": 2}
    kind = listings.kind(name)
    evidence = msgspec.convert(
        client.post("/v1/english/search", json=body).json["hits"], list[Evidence]
    )
    answer = client.post("/v1/english/search", json={**body, "format": name})
    assert (answer.mimetype, answer.text) == (kind.media, list_hits(evidence, name))
    file = rf"measles vaccine \d{{4}}-\d\d-\d\d\.{kind.suffix}"
    disposition = answer.headers["Content-Disposition"]
    assert re.fullmatch(f'attachment; filename="{file}"', disposition), disposition
    accepted = client.post("/v1/english/search", json=body, headers={"Accept": kind.media})
    assert (accepted.mimetype, accepted.text) == (kind.media, answer.text)
    simple = client.get(
        "/v1/english/search", query_string={"query": body["query"], "hits": 2, "format": name}
    )
    assert simple.text == answer.text
    wins = client.post(
        "/v1/english/search", json={**body, "format": "json"}, headers={"Accept": kind.media}
    )
    assert wins.mimetype == "application/json"


@pytest.mark.parametrize("name", sorted(listings.CITING))
def test_a_citation_of_example_data_says_so(indexes: dict[str, Index], name: str) -> None:
    client = create_app(Config(), {"example-english": indexes["english"]}).test_client()
    cited = client.post(
        "/v1/example-english/search", json={"query": "measles vaccine", "format": name}
    ).text
    assert "example data of factseek" in cited
    assert "who.example.org" not in cited
