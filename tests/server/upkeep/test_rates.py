"""Rates: what a caller may ask at once, regains with time, and shares over processes."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factseek.server.upkeep.rates import Rates


def test_a_caller_may_ask_so_often_and_waits_as_long_as_it_is_told() -> None:
    rates = Rates()
    assert [rates.wait("a", 3, now=10.0) for _ in range(3)] == [0.0] * 3
    wait = rates.wait("a", 3, now=10.0)
    assert wait == pytest.approx(20.0)
    assert rates.wait("a", 3, now=10.0 + wait - 0.1) > 0
    assert rates.wait("a", 3, now=10.0 + wait) == 0.0
    assert rates.wait("a", 3, now=10.0 + wait) > 0


def test_what_was_not_asked_is_not_saved_up() -> None:
    rates = Rates()
    assert rates.wait("a", 3, now=1.0) == 0.0
    hour = 3_601.0
    assert [rates.wait("a", 3, now=hour) for _ in range(4)] == [0.0, 0.0, 0.0, pytest.approx(20.0)]


def test_callers_do_not_share() -> None:
    rates = Rates()
    assert rates.wait("a", 1, now=1.0) == 0.0
    assert rates.wait("a", 1, now=1.0) > 0.0
    assert rates.wait("b", 1, now=1.0) == 0.0


@given(st.integers(1, 600), st.lists(st.floats(0, 30), max_size=60))
def test_in_no_minute_more_than_twice_the_rate_is_answered(per_minute: int, pauses: list[float]) -> None:
    rates, now, answered = Rates(), 1.0, []
    for pause in pauses:
        now += pause
        if not rates.wait("a", per_minute, now):
            answered.append(now)
    for begin in answered:
        assert sum(begin <= moment < begin + 60 for moment in answered) <= 2 * per_minute


THREADS_AND_PROCESSES = """
import multiprocessing
from concurrent.futures import ThreadPoolExecutor

from factseek.server.upkeep.rates import Rates


def answered(asked):
    return sum(rates.wait("a", 100, now=1.0) == 0.0 for _ in range(asked))


rates = Rates()
fork = multiprocessing.get_context("fork")
pipes = [fork.Pipe(duplex=False) for _ in range(2)]
workers = [fork.Process(target=lambda end=end: end.send(answered(60)), daemon=True) for _, end in pipes]
for worker in workers:
    worker.start()
with ThreadPoolExecutor(4) as threads:
    here = sum(threads.map(answered, [30] * 4))
print(here + sum(end.recv() for end, _ in pipes))
"""
"""Forks before it has threads, as the server does: a lock that another thread holds stays locked in a child."""


def test_a_rate_holds_over_threads_and_processes() -> None:
    command = [sys.executable, "-c", THREADS_AND_PROCESSES]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "100\n"


def test_the_memory_is_bounded_and_the_oldest_gives_way() -> None:
    rates = Rates()
    for number in range(20_000):
        assert rates.wait(f"address {number}", 1, now=1.0 + number) == 0.0
    assert rates.wait("address 19999", 1, now=20_000.0) > 0.0
