"""The OpenAPI document: valid, complete, with the limits of the configuration, and true of every
answer.
"""

import html
import re
import shlex
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest
from flask import Flask
from flask.testing import FlaskClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from factseek.retrieval.search.index import Index
from factseek.server import writing
from factseek.server.api import rankers as ranking
from factseek.server.api import routes
from factseek.server.api.operations import operations_of
from factseek.server.api.rankers import ServedRanker
from factseek.server.app import create_app
from factseek.server.runtime import registry
from factseek.settings import Config

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import schemathesis
    from schemathesis.checks import positive_data_acceptance

CheckFunction = Callable[..., Any]
"""A check of schemathesis's."""


@pytest.fixture(scope="module")
def document(app: Flask) -> dict[str, Any]:
    described: dict[str, Any] = app.test_client().get("/openapi.json").json
    return described


def test_every_route_is_described(app: Flask) -> None:
    pages = {"page", "docs"}
    served = {rule.endpoint for rule in app.url_map.iter_rules() if rule.endpoint != "static"}
    assert {name for name in served if name.partition(".")[0] not in pages} == set(OPERATIONS)


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
    answer = client.get("/openapi.json").json["paths"]["/v1/{index}/search"]["post"]["responses"][
        "200"
    ]["content"]
    kinds = {
        media: answer[media]["schema"]["type"] for media in ("application/ld+json", "text/csv")
    }
    assert kinds == {"application/ld+json": "object", "text/csv": "string"}


def test_the_examples_of_the_page_are_answered(client: FlaskClient) -> None:
    commands = [
        html.unescape(found)
        for found in re.findall(r"<pre[^>]*><code>(curl .*?)</code>", client.get("/docs").text)
    ]
    assert len(commands) > 5
    for command in commands:
        words = shlex.split(command)
        assert words[:2] == ["curl", "-s"]
        address = words[2].removeprefix("http://localhost")
        if "-d" in words:
            body = words[words.index("-d") + 1]
            response = client.post(
                address, data=body, headers=[words[words.index("-H") + 1].split(": ", 1)]
            )
        else:
            response = client.get(address)
        assert response.status_code == 200, command


@schemathesis.serializer("application/x-ndjson")
def as_lines(_: Any, value: Any) -> bytes:
    # What is no text has no lines: it is sent as a line that holds no object.
    return value.encode("utf-8", "replace") if isinstance(value, str) else b"0"


BOTH = [schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE]
OPERATIONS = [
    endpoint for module in (routes, ranking, writing) for endpoint in module.api.operations
]
KNOWN = {"index": "english", "docid": "measles"}


def held(
    case: schemathesis.Case, headers: dict[str, str], excluded: Sequence[CheckFunction] = ()
) -> int:
    # A query without words has the right type and is refused all the same.
    return case.call_and_validate(
        headers=headers, excluded_checks=[positive_data_acceptance, *excluded]
    ).status_code


@pytest.fixture(scope="module")
def roomy(config: Config, indexes: dict[str, Index], rankers: dict[str, ServedRanker]) -> Flask:
    """The application, reading bodies of any size that is asked here: 413 would hide what it says
    of their content.
    """
    server = msgspec.structs.replace(config.server, max_body_bytes=1_000_000)
    return create_app(msgspec.structs.replace(config, server=server), indexes, ranked_by=rankers)


ALIAS = "writing.point_alias"
WRITING = [name for name in OPERATIONS if name.startswith("writing.") and name != ALIAS]


@pytest.mark.real
@pytest.mark.parametrize("endpoint", [name for name in OPERATIONS if name not in {*WRITING, ALIAS}])
def test_every_answer_is_as_described(roomy: Flask, endpoint: str) -> None:
    check(roomy, endpoint, KNOWN, {}, 3)


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
    for case in described.iter_coverage_cases(
        operation, generation_modes=BOTH, generation_config=generation
    ):
        status = held(case, headers, excluded)
        # Other methods are asked for too, of which OPTIONS is answered.
        seen.add(status if case.method.upper() == operation.method.upper() else 405)

    @settings(
        max_examples=examples,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=st.one_of(operation.as_strategy(mode) for mode in BOTH))
    def ask(case: schemathesis.Case) -> None:
        seen.add(held(case, headers, excluded))
        if {"docid", "job"} & (case.path_parameters or {}).keys():
            case.path_parameters |= {name: known[name] for name in case.path_parameters}
            seen.add(held(case, headers, excluded))

    ask()
    assert documented.status in seen
    assert seen <= {int(status) for status in operation.definition.raw["responses"]} | {405}
