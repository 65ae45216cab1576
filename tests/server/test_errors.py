"""Every error of every route: the status, the slug and the field."""

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from msgspec.structs import replace
from werkzeug.test import TestResponse

from factseek.claims.verdicts.verdict import TrainedVerdicts
from factseek.core.errors import IndexStateError, MachineError
from factseek.retrieval.search.index import Index
from factseek.server.app import create_app
from factseek.settings import Config

PROBLEM = "application/problem+json"


def check(
    response: TestResponse, status: int, slug: str, field: str | None = None
) -> dict[str, Any]:
    assert response.status_code == status, response.text
    assert response.mimetype == PROBLEM
    problem: dict[str, Any] = json.loads(response.data)
    expected = {"error", "title", "status", "detail", "request_id"} | (
        {"field"} if field else set()
    )
    assert set(problem) == expected
    assert (problem["error"], problem["status"], problem.get("field")) == (slug, status, field)
    assert problem["request_id"] == response.headers["X-Request-Id"]
    return problem


BAD_BODIES = [
    ({}, "query", "query: is missing; give a query, or the id of a document as like"),
    ({"query": "a", "k1": 2}, "k1", "k1: there is no such field"),
    ({"q": "a"}, "q", "q: there is no such field; give the text as query"),
    ({"query": "a", "k": 51}, "k", "k: 51 is out of range: ask for 1 to 50"),
    (
        {"query": "a", "filter": {"author": "x"}},
        "filter.author",
        "filter.author: there is no such field",
    ),
    (
        {"query": "a", "since": "2020", "as_of": "2019"},
        "since",
        "since: the first day '2020' is later than the last day '2019': no day lies between them",
    ),
    ({"query": "a", "filter": ["topic=x"] * 9}, "filter", "filter: has 9 values; give at most 8"),
    (
        {"query": "a", "fusion": {"rrf_k": 10**400}},
        "fusion.rrf_k",
        "fusion.rrf_k: expected int <= 1000000",
    ),
    (
        {"query": "a", "fusion": {"dense_weight": 1}},
        "fusion.dense_weight",
        'fusion.dense_weight: is now fusion.weights: {"dense": 0.5}',
    ),
    ({"query": "a", "stages": ["per_source=" + "9" * 5000]}, "stages[0]", None),
    (
        {"query": "a", "stages": ["sort=date"], "sort": "date"},
        "stages",
        "stages: the stage sort is given twice",
    ),
]


@pytest.mark.parametrize(("body", "field", "detail"), BAD_BODIES, ids=lambda value: str(value)[:40])
def test_a_bad_body_names_its_field(
    client: FlaskClient, body: dict[str, Any], field: str, detail: str | None
) -> None:
    problem = check(client.post("/v1/english/search", json=body), 400, "bad-input", field)
    if detail:
        assert problem["detail"] == detail


@pytest.fixture(scope="module")
def staged(folders: dict[str, Path], config: Config) -> Iterator[FlaskClient]:
    """A client of two indexes with stages in their configurations; the second has a stage that no
    search can use.
    """
    search = replace(config.search, stages=("collapse=near", "sort=date"))
    broken = replace(config, search=replace(config.search, stages=("per_source=0",)))
    config = replace(config, search=search)
    with Index(folders["english"], config) as index, Index(folders["english"], broken) as other:
        yield create_app(
            config, {"english": index, "broken": other}, ranked_by={}, judged_by={}
        ).test_client()


@pytest.mark.parametrize("more", [{}, {"fusion": "rrf"}, {"filter": {"language": ["en"]}}])
@pytest.mark.parametrize(("field", "value"), [("collapse", "near"), ("sort", "date")])
@pytest.mark.parametrize(
    "address", ["/v1/english/search", "/v1/english/search/batch", "/v1/search"]
)
def test_a_stage_of_the_configuration_that_is_asked_for_again_is_named(
    staged: FlaskClient, address: str, field: str, value: str, more: dict[str, Any]
) -> None:
    asked: dict[str, Any] = (
        {"queries": [{"qid": "1", "text": "a"}]} if "batch" in address else {"query": "a"}
    )
    if address == "/v1/search":
        asked["indexes"] = ["english"]
    problem = check(
        staged.post(address, json={**asked, **more, field: value}), 400, "bad-input", field
    )
    assert (
        f"{field} {value}: search.stages of the configuration has the stage {field} too"
        in problem["detail"]
    )
    assert (
        staged.post(address, json={**asked, **more, field: value, "stages": []}).status_code == 200
    )


def test_a_wrong_stage_of_the_configuration_is_no_fault_of_the_query(staged: FlaskClient) -> None:
    check(staged.post("/v1/broken/search", json={"query": "a"}), 400, "bad-input", "stages")


BAD_TEXTS: list[tuple[bytes, str]] = [
    (b"", "body: is not JSON: Input data was truncated"),
    (b"{'query': 1}", "body: is not JSON: JSON is malformed: object keys must be strings (byte 1)"),
    (b'{"query": NaN}', "body: is not JSON: JSON is malformed: invalid character (byte 10)"),
    (b"[]", "body: expected object, got array"),
]


@pytest.mark.parametrize(("text", "detail"), BAD_TEXTS, ids=lambda value: str(value)[:30])
def test_what_is_no_json_object_is_refused(client: FlaskClient, text: bytes, detail: str) -> None:
    response = client.post("/v1/english/search", data=text, content_type="application/json")
    assert check(response, 400, "bad-input", "body")["detail"] == detail


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_a_body_must_claim_to_be_json(client: FlaskClient, kind: str) -> None:
    response = client.post("/v1/english/search", data=b'{"query": "a"}', content_type=kind)
    assert (
        check(response, 415, "unsupported-media-type")["detail"]
        == "send the body as application/json"
    )


@pytest.mark.parametrize("address", ["/v1/english/search", "/v1/english/search/batch"])
def test_a_large_body_is_refused(client: FlaskClient, address: str) -> None:
    body = json.dumps({"query": "a" * 20_000})
    check(client.post(address, data=body, content_type="application/json"), 413, "too-large")


BAD_PARAMETERS = [
    ("query=a&query=b", "query", "query: is given 2 times"),
    ("query=a&hits=ten", "hits", "hits: expected int | null, got str"),
    ("query=a&highlight=perhaps", "highlight", "highlight: expected bool, got str"),
    (
        "query=a&filter=author=x",
        "filter",
        (
            "filter: filter 'author=x': there is no field 'author'; the fields are topic, "
            "source, language, kind"
        ),
    ),
]


@pytest.mark.parametrize(("parameters", "field", "detail"), BAD_PARAMETERS)
def test_a_bad_parameter_is_named(
    client: FlaskClient, parameters: str, field: str, detail: str
) -> None:
    problem = check(client.get(f"/v1/english/search?{parameters}"), 400, "bad-input", field)
    assert problem["detail"] == detail


@pytest.mark.parametrize(
    ("method", "address"),
    [
        ("GET", "/v1/indexes/none"),
        ("GET", "/v1/none/search?query=a"),
        ("POST", "/v1/none/search"),
        ("POST", "/v1/none/search/batch"),
        ("GET", "/v1/..%5C../search?query=a"),
    ],
)
def test_an_unknown_index_is_not_found(client: FlaskClient, method: str, address: str) -> None:
    problem = check(
        client.open(address, method=method, json={} if method == "POST" else None),
        404,
        "unknown-index",
    )
    assert problem["detail"].endswith("; the indexes are english, arabic")


@pytest.mark.parametrize(
    "docid",
    [
        "none",
        "measles/",
        "/measles",
        "Measles",
        "../../english/manifest.json",
        "%00",
        "two%20words",
        "%20",
    ],
)
@pytest.mark.parametrize("route", ["documents", "doc"])
def test_an_unknown_document_is_not_found(client: FlaskClient, route: str, docid: str) -> None:
    check(client.get(f"/v1/english/{route}/{docid}"), 404, "unknown-document")


@pytest.mark.parametrize(
    "address",
    [
        *("/nothing", "/v1", "/v1/english", "/v1/english/documents/", "/v2/english/search"),
        *(
            "/v1/..%2Fenglish/search?query=a",
            "/v1/indexes/..%2Fenglish",
            "/v1/a%2Fenglish/documents/measles",
        ),
        *("/static/..%2Fapp.py", "/v1/jobs/..%2F..%2Fmanifest"),
    ],
)
def test_an_unknown_address_is_not_found(client: FlaskClient, address: str) -> None:
    check(client.get(address), 404, "not-found")


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
@pytest.mark.parametrize("docid", ["\xff", "a\xc3", "\xed\xa0\x80"])
def test_an_address_that_is_no_text_means_no_document(
    client: FlaskClient, method: str, docid: str
) -> None:
    # As WSGI has it: a character a byte. Read with replaced characters, many addresses would mean
    # one document.
    path = f"/v1/english/documents/{docid}"
    check(
        client.open("/", method=method, json={"text": "x"}, environ_overrides={"PATH_INFO": path}),
        404,
        "not-found",
    )


@pytest.mark.parametrize(
    ("method", "address", "allowed"),
    [
        ("DELETE", "/v1/english/doc/measles", {"GET", "HEAD", "OPTIONS"}),
        ("PUT", "/v1/english/search", {"GET", "HEAD", "OPTIONS", "POST"}),
        ("GET", "/v1/english/search/batch", {"OPTIONS", "POST"}),
        ("PUT", "/", {"GET", "HEAD", "OPTIONS", "POST"}),
    ],
)
def test_another_method_is_not_allowed(
    client: FlaskClient, method: str, address: str, allowed: set[str]
) -> None:
    response = client.open(address, method=method)
    check(response, 405, "method-not-allowed")
    assert set(response.headers["Allow"].split(", ")) == allowed


@pytest.mark.parametrize(
    ("error", "status", "slug"),
    [
        (IndexStateError("/secret/path: is damaged"), 503, "unavailable"),
        (MachineError("/secret/path: no room"), 503, "unavailable"),
        (RuntimeError("/secret/path: a secret"), 500, "internal"),
    ],
)
def test_a_servers_error_tells_no_details_but_logs_them(
    config: Config, error: Exception, status: int, slug: str, caplog: pytest.LogCaptureFixture
) -> None:
    app: Flask = create_app(config, {})

    def fail() -> str:
        raise error

    app.add_url_rule("/v1/fail", view_func=fail)
    with caplog.at_level(logging.ERROR, "factseek.server"):
        response = app.test_client().get("/v1/fail")
    problem = check(response, status, slug)
    assert response.headers.get("Retry-After") == ("5" if status == 503 else None)
    assert "secret" not in response.text
    assert problem["request_id"] in caplog.text
    assert "/secret/path" in caplog.text


def test_a_browser_reads_a_page(client: FlaskClient) -> None:
    response = client.get("/?query=a&index=<script>", headers={"Accept": "text/html,*/*;q=0.8"})
    assert response.status_code == 404
    assert response.mimetype == "text/html"
    assert "<h1>No such index</h1>" in response.text
    assert "&lt;script&gt;" in response.text
    assert "<script>" not in response.text


@pytest.mark.parametrize("host", ["..", "a" * 64, "a..b"])
@pytest.mark.parametrize(
    "address", ["/", "/nowhere", "/v1/indexes", "/documents/english/a", "/docs"]
)
def test_a_bad_host_is_a_bad_request_for_programs_and_for_browsers(
    client: FlaskClient, caplog: pytest.LogCaptureFixture, host: str, address: str
) -> None:
    check(client.get(address, headers={"Host": host}), 400, "bad-input")
    page = client.get(address, headers={"Host": host, "Accept": "text/html"})
    if address.startswith("/v1/"):
        check(page, 400, "bad-input")
    else:
        assert (page.status_code, page.mimetype) == (400, "text/html")
        assert 'href="/static/style.css"' in page.text
        assert 'href="/"' in page.text
    assert not caplog.records


@pytest.mark.parametrize("query", ["query=na%EFve", "query=%FF%FEa", "query=measles&as_of=%A0"])
@pytest.mark.parametrize("address", ["/v1/english/search", "/"])
def test_a_query_string_that_is_not_utf8_is_refused(
    client: FlaskClient, address: str, query: str
) -> None:
    answer = client.get(f"{address}?{query}")
    field = "as_of" if "as_of" in query else "query"
    problem = check(answer, 400, "bad-input", field)
    assert problem["detail"] == f"{field}: is not UTF-8; percent-encode text as UTF-8"


@pytest.mark.parametrize("encoding", ["gzip", "br", "zstd", "deflate, gzip"])
def test_an_encoded_body_is_refused_by_its_encoding(client: FlaskClient, encoding: str) -> None:
    body, headers = (
        b"\x1f\x8b\x08nothing",
        {"Content-Type": "application/json", "Content-Encoding": encoding},
    )
    problem = check(
        client.post("/v1/english/search", data=body, headers=headers), 415, "unsupported-media-type"
    )
    assert (
        problem["detail"]
        == f"a body with Content-Encoding: {encoding} is not accepted; send it unencoded"
    )
    headers["Content-Encoding"] = "identity"
    assert (
        client.post("/v1/english/search", data=b'{"query": "moon"}', headers=headers).status_code
        == 200
    )


@pytest.mark.parametrize(
    "body",
    [
        b'\xef\xbb\xbf{"query": "moon", "k": 2}',
        b'{"query": "moon \\ud83c", "k": 2}',
        b'{"query": "moon \\uDF0d", "k": 2}',
        b'{"query": "moon \\ud83c \\\\ud83c\\ud83c\\udf0d", "k": 2}',
    ],
)
def test_marks_and_halves_of_characters_do_no_harm(client: FlaskClient, body: bytes) -> None:
    answer = client.post("/v1/english/search", data=body, content_type="application/json")
    assert answer.status_code == 200, answer.text
    expected = client.post("/v1/english/search", json={"query": "moon", "k": 2}).json["hits"]
    assert [hit["docid"] for hit in answer.json["hits"]][:1] == [hit["docid"] for hit in expected][
        :1
    ]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ('{"query": "moon", "k": 1, "query": "measles"}', "query"),
        ('{"query": "moon", "k": 1, "k": 1}', "k"),
        ('{"query": "moon", "fusion": {"depth": 5, "depth": 6}}', "depth"),
    ],
)
def test_what_is_given_twice_is_refused(client: FlaskClient, body: str, field: str) -> None:
    answer = client.post("/v1/english/search", data=body, content_type="application/json")
    assert check(answer, 400, "bad-input", field)["detail"] == f"{field}: is given 2 times"


DIGITS = "1" * 4_400


@pytest.fixture(scope="module")
def long_client(
    folders: dict[str, Path], models: dict[str, TrainedVerdicts]
) -> Iterator[FlaskClient]:
    with Index(folders["english"], Config()) as index:
        yield create_app(Config(), {"english": index}, judged_by=models).test_client()


@pytest.mark.parametrize(
    "address",
    [
        f"/documents/english/measles?passage={DIGITS}",
        f"/?query=measles&hits={DIGITS}",
        f"/v1/english/search?query=measles&k={DIGITS}",
        f"/v1/english/search?query=measles&facets=topic%3D{DIGITS}",
        f"/v1/english/search?query=measles&stages=per_source%3D{DIGITS}",
        f"/v1/english/search?query=measles&as_of={DIGITS}",
    ],
)
def test_a_number_of_thousands_of_digits_is_refused(long_client: FlaskClient, address: str) -> None:
    assert long_client.get(address).status_code == 400
