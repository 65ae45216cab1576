"""The hits of a search as files, over HTTP and on the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from flask.testing import FlaskClient

from factseek import list_hits
from factseek.retrieval.search import listings
from factseek.retrieval.search.evidence import Evidence
from factseek.server.api.operations import LISTINGS
from factseek.server.schemas import SearchRequest


@pytest.mark.parametrize("name", listings.KINDS)
def test_over_http(client: FlaskClient, name: str) -> None:
    body = {"query": "measles vaccine", "k": 2}
    kind = listings.kind(name)
    evidence = msgspec.convert(client.post("/v1/english/search", json=body).json["hits"], list[Evidence])
    answer = client.post("/v1/english/search", json={**body, "format": name})
    assert (answer.mimetype, answer.text) == (kind.media, list_hits(evidence, name))
    assert answer.headers["Content-Disposition"] == f'attachment; filename="evidence.{kind.suffix}"'
    accepted = client.post("/v1/english/search", json=body, headers={"Accept": kind.media})
    assert (accepted.mimetype, accepted.text) == (kind.media, answer.text)
    simple = client.get("/v1/english/search", query_string={"query": body["query"], "hits": 2, "format": name})
    assert simple.text == answer.text
    wins = client.post("/v1/english/search", json={**body, "format": "json"}, headers={"Accept": kind.media})
    assert wins.mimetype == "application/json"


def test_what_a_format_has_no_place_for(client: FlaskClient) -> None:
    body = {"query": "measles vaccine", "explain": True, "format": "ris"}
    detail = "format: ris has no place for explain, passages, count or facets; leave them out, or ask for json"
    assert client.post("/v1/english/search", json=body).json["detail"] == detail
    counting = {"query": "measles vaccine", "facets": ["source"], "format": "ris"}
    assert client.post("/v1/english/search", json=counting).json["detail"] == detail
    refused = client.post("/v1/english/search", json={"query": "measles vaccine", "format": "xls"})
    assert (refused.status_code, refused.json["detail"]) == (400, "format: invalid enum value 'xls'")
    odd = client.post("/v1/english/search", json={"query": "sea level", "k": 1, "qid": "a b", "format": "trec"})
    assert (odd.status_code, odd.json["field"]) == (400, "format")


def test_the_formats_of_requests_are_those_there_are() -> None:
    schema = msgspec.json.schema(SearchRequest)["$defs"]["SearchRequest"]["properties"]["format"]
    assert {value for option in schema["anyOf"] for value in option.get("enum", ())} == {"json", *listings.KINDS}
    assert set(LISTINGS) == {listings.kind(name).media for name in listings.KINDS}


def test_on_the_command_line(folders: dict[str, Path], command: Callable[..., tuple[int, str, str]]) -> None:
    asked = ["search", "measles vaccine", "--index", folders["english"], "-k", "2"]
    code, printed, _ = command(*asked, "--format", "json")
    evidence = msgspec.convert(json.loads(printed)["hits"], list[Evidence])
    for name in listings.KINDS:
        code, printed, _ = command(*asked, "--format", name)
        assert (code, printed) == (0, list_hits(evidence, name))
    code, _, said = command(*asked, "--format", "ris", "--json")
    assert (code, said) == (2, "factseek: --json and --format ris are two formats; give one of them\n")
    code, _, said = command(*asked, "--format", "ris", "--count")
    counts = "--format ris has no place for counts; leave out --count and --facet, or give --json"
    assert (code, said) == (2, f"factseek: {counts}\n")
