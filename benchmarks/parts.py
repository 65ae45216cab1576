"""How long each part of a measurement takes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter, process_time

from retrieval.terminal import say


@contextmanager
def part(name: str) -> Iterator[None]:
    """Say, when it is done, how many seconds passed and how many of them processors worked for it."""
    began, worked = perf_counter(), process_time()
    yield
    say(f"{name}: {perf_counter() - began:.0f} s, {process_time() - worked:.0f} s of processor time")
