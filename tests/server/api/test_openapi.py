"""The OpenAPI document: valid, complete, with the limits of the configuration, and true of every answer."""

from __future__ import annotations

import html
import re
import shlex
import shutil
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from flask import Flask
from flask.testing import FlaskClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from factseek.retrieval.search.index import Index
from factseek.server.api.operations import OPERATIONS, operations_of
from factseek.server.api.rankers import ServedRanker
from factseek.server.app import create_app
from factseek.server.auth import digest, new_key
from factseek.server.runtime import registry
from factseek.settings import Config
from tests.server.conftest import MAY, Writable, writable

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import schemathesis
    from openapi_spec_validator import OpenAPIV31SpecValidator
    from schemathesis.checks import positive_data_acceptance

CheckFunction = Callable[..., Any]
"""A check of schemathesis's."""
HTTP = {"get", "post", "put", "patch", "delete"}


@pytest.fixture(scope="module")
def document(app: Flask) -> dict[str, Any]:
    described: dict[str, Any] = app.test_client().get("/openapi.json").json
    return described


def test_the_document_is_valid(document: dict[str, Any]) -> None:
    assert document["openapi"] == "3.1.0"
    assert [error.message for error in OpenAPIV31SpecValidator(document).iter_errors()] == []


def test_every_route_is_described(app: Flask) -> None:
    pages = {"page", "docs"}
    routes = {rule.endpoint for rule in app.url_map.iter_rules() if rule.endpoint != "static"}
    assert {name for name in routes if name.partition(".")[0] not in pages} == set(OPERATIONS)


def test_the_document_follows_what_is_served(config: Config, indexes: dict[str, Index]) -> None:
    app = create_app(config, {"english": indexes["english"]})
    client = app.test_client()

    def named() -> list[str]:
        route = client.get("/openapi.json").json["paths"]["/v1/{index}/search"]["post"]
        found: list[str] = route["parameters"][0]["schema"]["enum"]
        return found

    assert named() == ["english"]
    with app.app_context():
        registry().publish("arabic", indexes["arabic"])
    assert named() == ["english", "arabic"]


def test_limits_are_those_of_the_configuration(document: dict[str, Any], config: Config) -> None:
    schemas = document["components"]["schemas"]

    def options(name: str, field: str) -> list[dict[str, Any]]:
        schema = schemas[name]["properties"][field]
        return [*schema.get("anyOf", []), schema]

    most = config.search.max_k
    for name, field in (("SearchRequest", "k"), ("BatchRequest", "k"), ("FusionRequest", "depth")):
        assert {"type": "integer", "minimum": 1, "maximum": most} in options(name, field)
    assert schemas["SearchRequest"]["properties"]["query"]["maxLength"] == config.search.max_query_chars
    assert "maxLength" not in schemas["BatchQuery"]["properties"]["text"]  # such a query fails alone
    assert schemas["BatchRequest"]["properties"]["queries"]["maxItems"] == config.server.max_batch
    most_values = config.server.max_filter_values
    for name, field in (("SearchRequest", "filter"), ("BatchRequest", "filter"), ("FilterRequest", "topic")):
        assert {"type": "array", "items": {"type": "string"}, "maxItems": most_values} in options(name, field)
    claims = schemas["RankRequest"]["properties"]["claims"]
    assert (claims["minItems"], claims["maxItems"]) == (1, config.server.max_claims)
    assert schemas["ClaimRequest"]["properties"]["text"]["maxLength"] == config.server.max_claim_chars
    parameters = {one["name"]: one for one in document["paths"]["/v1/{index}/search"]["get"]["parameters"]}
    assert parameters["filter"]["schema"]["maxItems"] == most_values
    assert parameters["hits"]["schema"] == {"type": "integer", "minimum": 1, "maximum": most}
    assert parameters["query"]["schema"]["maxLength"] == config.search.max_query_chars
    assert parameters["index"]["schema"]["enum"] == ["english", "arabic"]


def test_keys_and_rates_are_described_where_they_are_asked_for(config: Config, indexes: dict[str, Index]) -> None:
    key = new_key()
    asking = msgspec.structs.replace(config.server, keys={"me": digest(key)}, per_minute=60)
    client = create_app(msgspec.structs.replace(config, server=asking), indexes).test_client()
    document = client.get("/openapi.json", headers={"Authorization": f"Bearer {key}"}).json
    assert [error.message for error in OpenAPIV31SpecValidator(document).iter_errors()] == []
    assert set(document["components"]["securitySchemes"]) == {"bearer", "basic"}
    for address, methods in document["paths"].items():
        for operation in methods.values():
            open_to_all = address in ("/livez", "/readyz", "/metrics")
            assert ("security" not in operation) == open_to_all
            assert ({"401", "429"} <= operation["responses"].keys()) == (not open_to_all)


def test_without_keys_and_rates_none_are_described(document: dict[str, Any]) -> None:
    assert "securitySchemes" not in document["components"]
    for methods in document["paths"].values():
        for operation in methods.values():
            assert "security" not in operation
            assert not {"401", "429"} & operation["responses"].keys()


def test_every_parameter_and_every_answer_says_what_it_is(document: dict[str, Any]) -> None:
    for address, methods in document["paths"].items():
        for method, operation in methods.items():
            assert method in HTTP
            assert operation["summary"], address
            assert "500" in operation["responses"]
            assert {"200", "202", "204"} & operation["responses"].keys()
            assert all(response["description"] for response in operation["responses"].values())
    described = document["components"]["schemas"]
    assert all(schema["description"] for schema in described.values())


def test_the_page_shows_every_route_and_type(client: FlaskClient, document: dict[str, Any]) -> None:
    text = client.get("/docs").text
    for address, methods in document["paths"].items():
        assert f"<code>{address}</code>" in text
        assert all(f'id="{operation["operationId"]}"' in text for operation in methods.values())
    for name in document["components"]["schemas"]:
        assert f'id="{name}"' in text
    assert set(re.findall(r"<script[^>]*>", text)) <= {'<script src="/static/desk.js" defer>'}


def test_the_examples_of_the_page_are_answered(client: FlaskClient) -> None:
    commands = [
        html.unescape(found) for found in re.findall(r"<pre[^>]*><code>(curl .*?)</code>", client.get("/docs").text)
    ]
    assert len(commands) > 5
    for command in commands:
        words = shlex.split(command)
        assert words[:2] == ["curl", "-s"]
        address = words[2].removeprefix("http://localhost")
        if "-d" in words:
            body = words[words.index("-d") + 1]
            response = client.post(address, data=body, headers=[words[words.index("-H") + 1].split(": ", 1)])
        else:
            response = client.get(address)
        assert response.status_code == 200, command


@schemathesis.serializer("application/x-ndjson")
def as_lines(_: Any, value: Any) -> bytes:
    # What is no text has no lines: it is sent as a line that holds no object.
    return value.encode("utf-8", "replace") if isinstance(value, str) else b"0"


BOTH = [schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE]
KNOWN = {"index": "english", "docid": "measles"}


def held(case: schemathesis.Case, headers: dict[str, str], excluded: Sequence[CheckFunction] = ()) -> int:
    """Ask, hold the answer to the document, and return its status."""
    # A query without words has the right type and is refused all the same.
    return case.call_and_validate(headers=headers, excluded_checks=[positive_data_acceptance, *excluded]).status_code


@pytest.fixture(scope="module")
def roomy(config: Config, indexes: dict[str, Index], rankers: dict[str, ServedRanker]) -> Flask:
    """The application, reading bodies of any size that is asked here: 413 would hide what it says of their content."""
    server = msgspec.structs.replace(config.server, max_body_bytes=1_000_000)
    return create_app(msgspec.structs.replace(config, server=server), indexes, ranked_by=rankers)


ALIAS = "writing.point_alias"
WRITING = [name for name in OPERATIONS if name.startswith("writing.") and name != ALIAS]


@pytest.fixture(scope="module")
def changing(folders: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Writable]:
    """An application that takes changes, and as many bulks as it is sent."""
    folder = Path(shutil.copytree(folders["arabic"], tmp_path_factory.mktemp("changing") / "live"))
    with writable(folder, max_queued=100_000) as made:
        yield made


@pytest.mark.real
@pytest.mark.parametrize("endpoint", [name for name in OPERATIONS if name not in {*WRITING, ALIAS}])
def test_every_answer_is_as_described(roomy: Flask, endpoint: str) -> None:
    """Ask what the document allows and what it forbids, at every limit and at random."""
    check(roomy, endpoint, KNOWN, {}, 25)


@pytest.mark.real
@pytest.mark.parametrize("endpoint", WRITING)
def test_every_answer_to_a_change_is_as_described(changing: Writable, endpoint: str) -> None:
    """Fewer of them: each is published."""
    job = changing.client().post("/v1/live/documents", json=[{"docid": "amazon", "text": "A river."}]).json
    check(changing.app, endpoint, {"index": "live", "docid": "amazon", "job": (job or {})["id"]}, MAY, 8)


@pytest.mark.real
def test_every_answer_to_an_alias_is_as_described(folders: dict[str, Path], tmp_path: Path) -> None:
    """There are two indexes, of which one is an alias: it is pointed to the other."""
    folder = Path(shutil.copytree(folders["arabic"], tmp_path / "live"))
    (tmp_path / "current").symlink_to("live")
    with writable(folder) as made:
        made.app.extensions["factseek"].config.server.indexes["current"] = str(tmp_path / "current")
        time.sleep(1.5)
        described = schemathesis.openapi.from_wsgi("/openapi.json", made.app, headers=MAY)
        operation = described.find_operation_by_id("point_alias")
        generation = described.config.generation_for(operation=operation)
        for case in described.iter_coverage_cases(operation, generation_modes=BOTH, generation_config=generation):
            held(case, MAY)
        body = {"index": "live"}
        case = operation.Case(path_parameters={"index": "current"}, body=body, media_type="application/json")
        assert held(case, MAY) == 200


def check(
    app: Flask,
    endpoint: str,
    known: dict[str, str],
    headers: dict[str, str],
    examples: int,
    *,
    excluded: Sequence[CheckFunction] = (),
) -> None:
    """Hold an application to its document; ``known`` is what is there."""
    described = schemathesis.openapi.from_wsgi("/openapi.json", app, headers=headers)
    operation = described.find_operation_by_id(endpoint.rpartition(".")[2])
    documented = operations_of(app)[endpoint]
    generation = described.config.generation_for(operation=operation)
    seen = set()
    for case in described.iter_coverage_cases(operation, generation_modes=BOTH, generation_config=generation):
        status = held(case, headers, excluded)
        # Other methods are asked for too, of which OPTIONS is answered.
        seen.add(status if case.method.upper() == operation.method.upper() else 405)

    @settings(max_examples=examples, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    @given(case=st.one_of(operation.as_strategy(mode) for mode in BOTH))
    def ask(case: schemathesis.Case) -> None:
        seen.add(held(case, headers, excluded))
        if {"docid", "job"} & (case.path_parameters or {}).keys():
            case.path_parameters |= {name: known[name] for name in case.path_parameters}
            seen.add(held(case, headers, excluded))

    ask()
    assert documented.status in seen
    assert seen <= {int(status) for status in operation.definition.raw["responses"]} | {405}
