"""The time that each part of a measurement takes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

from factseek.retrieval.terminal import say


@contextmanager
def part(name: str) -> Iterator[None]:
    """Print, at the end of the block, the seconds that passed and the processor seconds used."""
    began, worked = perf_counter(), _worked()
    yield
    say(f"{name}: {perf_counter() - began:.0f} s, {_worked() - worked:.0f} s of processor time")


def _worked() -> float:
    """Return the processor seconds of this process and of its ended children."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system
