"""No request, however broken, is answered with status 500; ``FACTSEEK_FUZZ=10000`` sends as many to
each route.

What was sent stands in ``bench/fuzz.json``, as for readers and parsers (``python -m
benchmarks.fuzz``).
"""

import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from flask import Flask
from flask.testing import FlaskClient

from benchmarks.fuzz import done, remember
from benchmarks.fuzz_inputs import Request, request_of, routes
from factseek.indexer.aliases import point
from factseek.retrieval.search import listings
from factseek.retrieval.search.index import Index
from factseek.server.adapters import ADAPTERS
from factseek.server.api.operations import operations_of
from factseek.server.api.rankers import ServedRanker
from factseek.server.app import create_app
from factseek.settings import Config
from tests.server.conftest import Writable, writable

COUNT = int(os.environ.get("FACTSEEK_FUZZ", "0"))
WRITING = re.compile(
    r"PUT|DELETE|POST /v1/<name>/documents$|GET /v1/jobs|POST "
    r"/alegre/(text/similarity/$|similarity/sync)"
)
QUERY = {"query": "measles vaccine"}
SEARCHES = [
    *({**QUERY, "format": name, "qid": "1"} for name in listings.KINDS),
    {
        **QUERY,
        "k": 1,
        "count": True,
        "facets": ["source=3", "language"],
        "stages": ["per_source=1"],
    },
    {
        **QUERY,
        "offset": 1,
        "group": False,
        "collapse": "near",
        "since": "2019",
        "filter": ["topic=health"],
    },
    {"query": '"measles vaccine" -moon before:2024', "syntax": "query"},
    {"like": "measles", "k": 2},
]
"""Searches of every kind that our own routes answer."""
MORE: dict[str, list[dict[str, Any]]] = {
    "api.search_simply": SEARCHES,
    "api.search": SEARCHES,
    "api.search_many": [{**QUERY, "indexes": {"english": 2, "arabic": 1}, "passages": True}],
    "api.search_batch": [
        {"queries": [{"qid": "1", "text": "moon"}, {"qid": "2", "text": "?"}], "group": True}
    ],
    "openai.openai_embeddings": [
        {"input": ["a", "b"], "encoding_format": "base64", "dimensions": 384}
    ],
    "pyserini_1.pyserini_1_search": [{"query": {"query_txt": "measles", "qid": "1"}, "hits": 2}],
    "pyserini_1.pyserini_1_indexes": [{"index_type": "tf"}, {"index_type": "faiss"}],
    "routir.routir_content": [{"collection": "english", "id": "measles"}],
    "serper.serper_search": [{"q": "measles", "num": 1, "page": 2, "gl": "us"}],
    "google.google_claims_search": [
        {
            **QUERY,
            "languageCode": "en-US",
            "maxAgeDays": 9_000,
            "offset": 1,
            "reviewPublisherSiteFilter": "x.org",
        }
    ],
    "alegre.alegre_search": [
        {
            "text": "measels",
            "model": "elasticsearch",
            "context": {"a": [1, "b"]},
            "fuzzy": True,
            "min_es_score": 0.1,
        },
        {
            "text": "moon",
            "models": ["all-MiniLM-L6-v2"],
            "per_model_threshold": {"all-MiniLM-L6-v2": 0.1},
            "limit": 1,
        },
    ],
    "writing.point_alias": [{"index": "live"}, {"index": "other"}, {"index": "current"}],
}
"""Further bodies, or parameters, that a route takes."""
REFUSED_HERE = {
    "routir.routir_score",
    "routir.routir_content",
    "cohere.cohere_rerank",
    "jina.jina_rerank",
    "openai.openai_model",
    "search_r1.search_r1_rerank",
    "tei.tei_rerank",
}
"""Routes that refuse the example of their documentation: its document is not there, or there is no
re-ranker.
"""


def bodies_of(app: Flask, route: tuple[str, str, str], cursor: str = "") -> list[dict[str, Any]]:
    """Bodies, or parameters, that the route takes; of those that go on with a list, some with its
    cursor.
    """
    operation = operations_of(app).get(route[2])
    example = dict(operation.example) if operation else {"query": "measles", "index": "english"}
    more = MORE.get(route[2], [])
    bodies = [*more, example] if example or not more else [*more]
    if cursor and route[2] in ("api.search_simply", "api.search"):
        bodies += [{**QUERY, "k": 1, "cursor": cursor}] * len(bodies)
    if cursor and route[2] == "google.google_claims_search":
        bodies += [{**QUERY, "pageSize": 1, "pageToken": cursor}] * len(bodies)
    return bodies


def sent(client: FlaskClient, request: Request) -> int:
    with client.open(
        request.path, method=request.method, headers=request.headers, data=request.body
    ) as answer:
        answer.get_data()
        return answer.status_code


def assert_route_holds(
    client: FlaskClient,
    route: tuple[str, str, str],
    numbers: range,
    names: list[str],
    cursor: str = "",
) -> None:
    bodies = bodies_of(client.application, route, cursor)
    for number in numbers:
        request = request_of(route, number, names, bodies)
        status = sent(client, request)
        assert status != 500, f"request {number} to {route[:2]}: {request}"


@contextmanager
def counted(name: str, few: int, most: int) -> Iterator[range]:
    """Say which requests are to be sent; when they were, remember that."""
    if not COUNT:
        yield range(few)
        return
    known = done().get(name) or {"done": 0, "finds": [], "megabytes": 0.0, "seconds": 0.0}
    began, numbers = time.monotonic(), range(known["done"], min(COUNT, most))
    try:
        yield numbers
    except AssertionError as error:
        known["finds"].append({"input": known["done"], "error": str(error)[:300]})
        remember(name, known)
        raise
    known.update(
        done=max(known["done"], numbers.stop), seconds=known["seconds"] + time.monotonic() - began
    )
    remember(name, known)


@pytest.fixture
def speaking(config: Config, indexes: dict[str, Index], rankers: dict[str, ServedRanker]) -> Flask:
    server = msgspec.structs.replace(config.server, adapters=dict.fromkeys(ADAPTERS.names(), ""))
    named = {**indexes, "example-en": indexes["english"]}
    return create_app(msgspec.structs.replace(config, server=server), named, ranked_by=rankers)


def test_every_route_answers(speaking: Flask) -> None:
    speaking.config["PROPAGATE_EXCEPTIONS"] = False
    client = speaking.test_client()
    cursor = client.post("/v1/english/search", json={**QUERY, "k": 1}).json["cursor"]
    for route in routes(speaking):
        name = f"{route[0]} {route[1]}"
        if not WRITING.match(name):
            with counted(name, 12, 10_000) as numbers:
                assert_route_holds(
                    client, route, numbers, ["english", "arabic", "example-en"], cursor
                )


def test_the_bodies_that_are_broken_are_right(speaking: Flask) -> None:
    client = speaking.test_client()
    cursor = client.post("/v1/english/search", json={**QUERY, "k": 1}).json["cursor"]
    token = client.get(
        "/google/v1alpha1/claims:search", query_string={**QUERY, "pageSize": 1}
    ).json["nextPageToken"]
    refused = set()
    for route in routes(speaking):
        method, rule, endpoint = route
        path = rule.replace("<name>", "english").replace("<docid:docid>", "measles")
        if endpoint in operations_of(speaking) and not WRITING.match(f"{method} {rule}"):
            for body in bodies_of(
                speaking, route, token if endpoint.startswith("google") else cursor
            ):
                sent_as = {"query_string": body} if method == "GET" else {"json": body}
                with client.open(path, method=method, **sent_as) as answer:
                    if answer.status_code != 200:
                        refused.add((endpoint, answer.text))
    assert {endpoint for endpoint, _ in refused} <= REFUSED_HERE, refused


@pytest.mark.deep
def test_every_route_that_writes_answers_and_leaves_nothing_behind(live: Path) -> None:
    other = Path(shutil.copytree(live, live.with_name("other")))
    point(live.with_name("current"), live)
    beside = {"other": str(other), "current": str(live.with_name("current"))}
    with writable(live, beside=beside, adapters={"alegre": "live"}) as served:
        served.app.config["PROPAGATE_EXCEPTIONS"] = False
        for route in routes(served.app):
            name = f"{route[0]} {route[1]}"
            if WRITING.match(name):
                with counted(f"{name} (allowed)", 30, 2_000) as numbers:
                    names = ["current", "live", "other"] if "aliases" in name else ["live"]
                    assert_route_holds(served.client(), route, numbers, names)
        wait_for_jobs(served)
    left = [
        path.name
        for path in live.parent.rglob("*")
        if path.suffix == ".tmp" or path.name.startswith(".")
    ]
    assert left == []


def wait_for_jobs(served: Writable) -> None:
    for _ in range(600):
        if not any(served.folder.glob("jobs/*.jsonl")):
            return
        time.sleep(0.1)
