"""The memory of an answer while it is made: charged to the worker, refused where there is none."""

from __future__ import annotations

from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from factseek.server.memory import MEMORY, Budget, Charge, NoMemoryError

DETAIL = "requests and answers fill the memory that this server has for them; try again"
BATCH = {"queries": [{"qid": "1", "text": "measles"}, {"qid": "2", "text": "moon"}], "retriever": "bm25", "k": 2}
SEARCH = {"query": "measles vaccine moon", "retriever": "bm25", "k": 3}


def asked(client: FlaskClient, charge: Charge, path: str, body: dict[str, Any] | None = None) -> Any:
    method = "POST" if body else "GET"
    return client.open(path, method=method, json=body, environ_overrides={MEMORY: charge})


@pytest.fixture
def others() -> Charge:
    """What others hold of a budget: all but a hundred bytes."""
    charge = Charge(Budget(100_000))
    charge.spend(99_900)
    return charge


@pytest.fixture
def crowded(others: Charge) -> Budget:
    """That budget."""
    return others._budget


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
def test_an_answer_for_which_there_is_no_memory_is_refused(
    client: FlaskClient, crowded: Budget, path: str, body: dict[str, Any] | None
) -> None:
    refused = asked(client, Charge(crowded), path, body)
    assert (refused.status_code, refused.headers["Retry-After"]) == (503, "1")
    assert (refused.json["error"], refused.json["detail"]) == ("overloaded", DETAIL)
    alone = Charge(Budget(1))
    assert asked(client, alone, path, body).status_code == 200
    assert alone.held > 1  # the engine gives it back when the answer is written


def test_a_batch_waits_for_memory_and_gives_it_back(app: Flask, crowded: Budget, others: Charge) -> None:
    for accept in ("application/json", "application/x-ndjson"):
        charge = Charge(crowded)
        with app.test_request_context(
            "/v1/english/search/batch",
            method="POST",
            json=BATCH,
            headers={"Accept": accept},
            environ_overrides={MEMORY: charge},
        ):
            pieces = iter(app.full_dispatch_request().response)
            assert [next(pieces) for _ in range(3)][-2:] == [b"", b""]
            assert crowded.held == others.held == 99_900
            others.keep(0)
            rest = b"".join(pieces)
            assert rest.count(b'"docid":"measles"') == 1
            assert b"overloaded" not in rest
            assert (charge.held, crowded.held) == (0, 0)
            others.spend(99_900)


def test_who_has_held_something_for_the_longest_is_never_refused() -> None:
    budget = Budget(10)
    first, second, third = Charge(budget), Charge(budget), Charge(budget)

    def refused(charge: Charge, size: int) -> bool:
        try:
            charge.spend(size)
        except NoMemoryError:
            return True
        return False

    assert not refused(first, 5)
    assert not refused(second, 5)
    assert refused(second, 1)
    assert not refused(first, 100)
    first.give_back(1)
    assert refused(third, 5)
    first.keep(0)
    assert not refused(third, 5)
    assert not refused(third, 100)
    assert refused(second, 1)
