"""What was made once and is kept: things that are opened, and answers to what was asked last. Safe for threads."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable
from contextlib import suppress
from functools import lru_cache, partial
from threading import Lock, RLock
from types import MethodType
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from functools import _lru_cache_wrapper


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


def remembered(most: int, method: Callable[..., T]) -> _lru_cache_wrapper[T]:
    """Return a bound method that remembers its ``most`` latest results; its object is to hold what is returned.

    The cache knows the object weakly: a circle would keep what a closed index held until it is collected.
    """
    bound = cast(MethodType, method)
    return lru_cache(maxsize=most)(partial(bound.__func__, weakref.proxy(bound.__self__)))
