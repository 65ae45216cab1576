"""The memory of an answer while it is made: charged to the worker, refused where there is none."""

from typing import Any

import pytest
from flask.testing import FlaskClient

from factseek.server.memory import MEMORY, Budget, Charge

DETAIL = "requests and answers fill the memory that this server has for them; try again"
SEARCH = {"query": "measles vaccine moon", "retriever": "bm25", "k": 3}


def asked(
    client: FlaskClient, charge: Charge, path: str, body: dict[str, Any] | None = None
) -> Any:
    method = "POST" if body else "GET"
    return client.open(path, method=method, json=body, environ_overrides={MEMORY: charge})


@pytest.fixture
def crowded() -> Budget:
    budget = Budget(100_000)
    Charge(budget).spend(99_900)
    return budget


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/english/search", SEARCH),
        ("/v1/english/search", {**SEARCH, "passages": True}),
        ("/v1/english/search?query=measles&hits=3", None),
        ("/v1/search", {"query": "measles", "indexes": ["english"], "k": 3}),
        ("/v1/english/documents/measles", None),
        ("/v1/english/doc/measles", None),
    ],
)
def test_no_memory_no_answer(
    client: FlaskClient, crowded: Budget, path: str, body: dict[str, Any] | None
) -> None:
    refused = asked(client, Charge(crowded), path, body)
    assert (refused.status_code, refused.headers["Retry-After"]) == (503, "1")
    assert (refused.json["error"], refused.json["detail"]) == ("overloaded", DETAIL)
    alone = Charge(Budget(1))
    assert asked(client, alone, path, body).status_code == 200
    assert alone.held > 1  # the engine gives it back when the answer is written
