"""Asking several shards side by side, and noting which did not answer."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from time import monotonic
from typing import TypeVar

from .replicas import ShardLostError

T = TypeVar("T")
MOST_NOTED = 10_000
"""Failures that are remembered; a request looks for those of its own time."""


class Gathering:
    """Makes calls to shards side by side. Safe for threads."""

    elsewhere = True

    def __init__(self, beside: Executor, *, require_all: bool) -> None:
        """Call in threads of ``beside``; with ``require_all`` a shard that does not answer fails the whole."""
        self._beside = beside
        self._require_all = require_all
        self._lost: deque[tuple[float, str]] = deque(maxlen=MOST_NOTED)
        self._noting = threading.Lock()

    def __call__(self, calls: Sequence[Callable[[], T]], *, every: bool) -> list[T]:
        """Return the results of the calls, in their order; those of lost shards are left out unless ``every`` counts.

        Raises ShardLostError if no shard answers, or one does not whose answer is needed.
        """
        begun = [self._beside.submit(call) for call in calls[1:]]
        results: list[T] = []
        lost: dict[str, str] = {}
        for result in (calls[0], *(each.result for each in begun)) if calls else ():
            try:
                results.append(result())
            except ShardLostError as error:  # it is not kept: its frames would hold what this thread works with
                lost[error.place] = error.what
        self._note(lost)
        for name, what in lost.items():
            if every or self._require_all or not results:
                raise ShardLostError(what, place=name)
        return results

    def lost_since(self, moment: float) -> list[str]:
        """Return the names of the shards that did not answer since a moment of :func:`time.monotonic`."""
        with self._noting:
            return sorted({name for at, name in self._lost if at >= moment})

    def _note(self, lost: Iterable[str]) -> None:
        now = monotonic()
        with self._noting:
            self._lost.extend((now, name) for name in lost)
