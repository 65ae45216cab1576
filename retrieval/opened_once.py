"""Things that are opened when they are first asked for, each once for all threads."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextlib import suppress
from threading import Lock, RLock
from typing import Any, TypeVar, cast

T = TypeVar("T")


class OpenedOnce:
    """Keeps what was opened under each name. Safe for threads.

    What is open is returned without waiting, and whoever waits, waits for the very thing that is being opened.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._opening: dict[Hashable, Any] = {}
        self._open: dict[Hashable, Any] = {}

    def get(self, name: Hashable, make: Callable[[], T]) -> T:
        """Return what ``make`` returned the first time; if it raises, the next who asks tries again."""
        with suppress(KeyError):
            return cast(T, self._open[name])
        with self._turn(name):
            if name not in self._open:
                self._open[name] = make()
            return cast(T, self._open[name])

    def let_go(self) -> dict[Hashable, Any]:
        """Keep nothing any more, and return what was open by its name; what is being opened is waited for."""
        with self._lock:
            names = list(self._opening)
        kept = {}
        for name in names:
            with self._turn(name):
                if name in self._open:
                    kept[name] = self._open.pop(name)
        return kept

    def _turn(self, name: Hashable) -> Any:
        """Return the lock under which one thing is opened, and closed."""
        with self._lock:
            return self._opening.setdefault(name, RLock())
