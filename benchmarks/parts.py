"""How long each part of a measurement takes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

from factseek.retrieval.terminal import say


@contextmanager
def part(name: str) -> Iterator[None]:
    """Say, when it is done, how many seconds passed and how many of them processors worked for it."""
    began, worked = perf_counter(), _worked()
    yield
    say(f"{name}: {perf_counter() - began:.0f} s, {_worked() - worked:.0f} s of processor time")


def _worked() -> float:
    """Return the seconds that processors worked for this process and for those that it started and that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system
