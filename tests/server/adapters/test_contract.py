"""The contract of every adapter: found by name, described, off unless named, its own shape for
every error.
"""

from typing import Any

import msgspec
import pytest
from flask import Flask
from flask.testing import FlaskClient

from factseek.core.errors import ConfigError
from factseek.retrieval.search.index import Index
from factseek.server.adapters import ADAPTERS, TAG, check
from factseek.server.app import create_app
from factseek.server.auth import digest, new_key
from factseek.settings import Config

NAMES = ADAPTERS.names()
SHAPED = "application/json"


def addresses(client: FlaskClient, name: str) -> list[tuple[str, str, dict[str, Any]]]:
    paths = client.get("/openapi.json").json["paths"]
    found = [
        (method, address, operation)
        for address, methods in paths.items()
        if address.startswith(f"/{name}/")
        for method, operation in methods.items()
    ]
    assert found
    return found


def filled(address: str) -> str:
    return address.replace("{index}", "english").replace("{docid}", "measles")


def is_its_own(name: str, answer: Any) -> None:
    assert answer.status_code >= 400
    assert answer.mimetype == SHAPED
    msgspec.json.decode(answer.data, type=ADAPTERS.load(name).adapter.failure)


@pytest.mark.parametrize("name", NAMES)
def test_every_route_of_it_is_described(speaking_app: Flask, name: str) -> None:
    adapter = ADAPTERS.load(name).adapter
    prefix = f"{adapter.blueprint.name}."
    own = [rule for rule in speaking_app.url_map.iter_rules() if rule.endpoint.startswith(prefix)]
    assert {rule.endpoint for rule in own} == set(adapter.operations)
    assert all(rule.rule.startswith(f"/{name}/") for rule in own)
    for _, _, operation in addresses(speaking_app.test_client(), name):
        assert operation["tags"] == [TAG]
        assert operation["summary"]


@pytest.mark.parametrize("name", NAMES)
def test_it_is_not_there_unless_it_is_named(
    client: FlaskClient, speaking_app: Flask, name: str
) -> None:
    for method, address, _ in addresses(speaking_app.test_client(), name):
        answer = client.open(filled(address), method=method)
        assert (answer.status_code, answer.mimetype) == (404, "application/problem+json")


@pytest.mark.parametrize("name", NAMES)
def test_its_examples_are_answered_as_described(asked: FlaskClient, name: str) -> None:
    described = asked.get("/openapi.json").json
    for method, address, operation in addresses(asked, name):
        if "requestBody" in operation:
            body: Any = operation["requestBody"]["content"][SHAPED]["example"]
            answer = asked.open(filled(address), method=method, json=body)
        else:
            parameters = {
                one["name"]: one["example"] for one in operation["parameters"] if "example" in one
            }
            answer = asked.open(filled(address), method=method, query_string=parameters)
        assert str(answer.status_code) in operation["responses"], (address, answer.text)
        if answer.status_code >= 400:
            is_its_own(name, answer)
        else:
            schema = operation["responses"][str(answer.status_code)]["content"][SHAPED]["schema"]
            assert_fits(answer.json, {**schema, "components": described["components"]})


def assert_fits(answer: Any, schema: dict[str, Any]) -> None:
    from jsonschema import Draft202012Validator

    assert [error.message for error in Draft202012Validator(schema).iter_errors(answer)] == []


@pytest.mark.parametrize("name", NAMES)
def test_every_error_below_its_prefix_has_its_shape(asked: FlaskClient, name: str) -> None:
    is_its_own(name, asked.get(f"/{name}/no/such/address", headers={"Accept": "text/html"}))
    for method, template, operation in addresses(asked, name):
        address = filled(template)
        is_its_own(name, asked.open(address, method="PATCH"))
        if "requestBody" in operation:
            is_its_own(
                name, asked.open(address, method=method, data=b"{", content_type="application/json")
            )
            is_its_own(
                name,
                asked.open(address, method=method, data=b"[]", content_type="application/json"),
            )
            is_its_own(
                name, asked.open(address, method=method, data=b"{}", content_type="text/plain")
            )


@pytest.mark.parametrize("name", NAMES)
def test_keys_and_rates_hold_for_it(speaking: Config, indexes: dict[str, Index], name: str) -> None:
    key = new_key()
    server = msgspec.structs.replace(speaking.server, keys={"me": digest(key)}, per_minute=1)
    client = create_app(msgspec.structs.replace(speaking, server=server), indexes).test_client()
    adapter = ADAPTERS.load(name).adapter
    refused = client.get(f"/{name}/x")
    is_its_own(name, refused)
    assert refused.status_code == adapter.statuses.get(401, 401)
    known = client.get(f"/{name}/x", headers={"X-API-Key": key})
    assert known.status_code == 404
    late = client.get(f"/{name}/x", headers={"Authorization": f"Bearer {key}"})
    is_its_own(name, late)
    assert late.status_code == adapter.statuses.get(429, 429)
    assert int(late.headers["Retry-After"]) > 0
    parameter = {adapter.key_parameter: key} if adapter.key_parameter else {"key": key}
    wanted = 429 if adapter.key_parameter else 401
    assert client.get(f"/{name}/x", query_string=parameter).status_code == adapter.statuses.get(
        wanted, wanted
    )


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"nobody": ""}, "server.adapters: there is no adapter 'nobody'; the adapters are "),
        (
            {NAMES[0]: "french"},
            (
                f"server.adapters.{NAMES[0]}: this server has no index 'french'; the indexes "
                "are english"
            ),
        ),
    ],
)
def test_what_cannot_be_spoken_is_named(wanted: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError) as error:
        check(wanted, ["english"])
    assert error.value.line.startswith(message)
