"""Calls made beside: all of them, in order, until one fails or they are stopped."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from factseek.retrieval.errors import MachineError
from factseek.retrieval.java import start
from factseek.retrieval.java_worker import JavaWorker
from factseek.retrieval.lucene import PassageSearcher, PassageWriter

LONG = 60.0


@pytest.fixture
def worker() -> Iterator[JavaWorker]:
    worker = JavaWorker("test", 2)
    yield worker
    worker.stop()


def test_calls_are_made_in_order_in_one_other_thread(worker: JavaWorker) -> None:
    made: list[tuple[int, int]] = []
    for number in range(50):
        worker.ask(lambda number=number: made.append((number, threading.get_ident())))
    worker.end()
    assert [number for number, _ in made] == list(range(50))
    assert len({thread for _, thread in made} | {threading.get_ident()}) == 2


def test_an_error_ends_the_calls_and_is_raised_to_whoever_asks(worker: JavaWorker) -> None:
    made: list[int] = []
    worker.ask(partial(made.append, 1))
    worker.ask(_failing(MachineError("the disk is full")))
    with pytest.raises(MachineError, match=r"^the disk is full$"):
        _ask_until_refused(worker, partial(made.append, 2))
    with pytest.raises(MachineError, match=r"^the disk is full$"):
        worker.end()
    assert made == [1]


def test_what_waits_is_not_done_once_it_is_stopped(worker: JavaWorker) -> None:
    begun, go_on, made = threading.Event(), threading.Event(), list[int]()

    def wait() -> None:
        begun.set()
        go_on.wait(LONG)

    worker.ask(wait)
    assert begun.wait(LONG)
    worker.ask(partial(made.append, 1))
    threading.Timer(0.05, go_on.set).start()
    worker.stop()
    assert not made
    worker.stop()


def test_no_more_than_a_few_calls_wait(worker: JavaWorker) -> None:
    go_on, asked = threading.Event(), list[int]()

    def ask() -> None:
        for number in range(6):
            worker.ask(partial(go_on.wait, LONG))
            asked.append(number)

    asking = threading.Thread(target=ask)
    asking.start()
    asking.join(0.2)
    assert len(asked) <= 3
    go_on.set()
    asking.join(LONG)
    assert asked == list(range(6))
    worker.end()


def test_passages_that_another_thread_adds_are_found(worker: JavaWorker, tmp_path: Path) -> None:
    start()
    folder = tmp_path / "000000" / "lucene"
    writer = PassageWriter(folder, "english", "flat")
    for number in range(500):
        worker.ask(partial(writer.add, "", f"word{number} dose", f"id=000000:{number}"))
    worker.ask(writer.finish)
    worker.end()
    searcher = PassageSearcher([folder], "english", "flat")
    try:
        assert [searcher.search(f"word{number}", 2)[1] for number in (0, 250, 499)] == [[0], [250], [499]]
    finally:
        searcher.close()


def _failing(error: Exception) -> Callable[[], object]:
    def fail() -> None:
        raise error

    return fail


def _ask_until_refused(worker: JavaWorker, call: Callable[[], object]) -> None:
    for _ in range(10):
        worker.ask(call)
