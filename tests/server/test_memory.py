"""The memory of an answer while it is made: charged to the worker, refused where there is none."""

import itertools
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from flask.testing import FlaskClient

from factseek.server.memory import MEMORY, Budget, Charge, NoMemoryError, PartMemory

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


THREADS, TIMES = 8, 500


@pytest.fixture
def switching() -> Iterator[None]:
    """Let threads alternate as often as possible."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def in_threads(work: Callable[[], object]) -> None:
    def repeat() -> None:
        for _ in range(TIMES):
            work()

    threads = [threading.Thread(target=repeat) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.mark.inner
@pytest.mark.usefixtures("switching")
def test_what_threads_spend_at_the_same_time_is_charged_once_each() -> None:
    budget = Budget(THREADS * TIMES)
    charge = Charge(budget)
    memory = PartMemory(charge)
    in_threads(lambda: memory.spend(1))
    assert charge.held == budget.held == THREADS * TIMES
    with pytest.raises(NoMemoryError):
        PartMemory(Charge(budget)).spend(1)
    memory.keep(0)
    assert charge.held == budget.held == 0


@pytest.mark.inner
@pytest.mark.usefixtures("switching")
def test_threads_that_keep_a_size_never_hold_it_twice() -> None:
    budget = Budget(1_000_000)
    charge = Charge(budget)
    sizes = itertools.cycle([0, 7])
    in_threads(lambda: charge.keep(next(sizes)))
    assert budget.peak == 7


@pytest.mark.inner
def test_a_thread_that_a_request_leaves_behind_takes_nothing() -> None:
    budget = Budget(1_000)
    charge = Charge(budget)
    charge.spend(10)
    charge.close()
    with pytest.raises(NoMemoryError):
        charge.spend(10)
    assert budget.held == 0
