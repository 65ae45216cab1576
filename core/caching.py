"""Caches: objects that are opened once, and the latest results of methods.

The caches are safe for threads.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable
from contextlib import suppress
from functools import lru_cache, partial, wraps
from pathlib import Path
from threading import Lock, RLock
from types import MethodType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, cast

from .errors import ClosedError

if TYPE_CHECKING:
    from functools import _lru_cache_wrapper


P = ParamSpec("P")
T = TypeVar("T")


class OpenedOnce:
    """Keeps one opened object per name, for all threads.

    A caller waits only for the object that it wants.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._closed: Path | None = None
        self._opening: dict[Hashable, Any] = {}
        self._open: dict[Hashable, Any] = {}

    def get(self, name: Hashable, make: Callable[[], T]) -> T:
        """Return the object ``name``, which ``make`` opens once.

        After an error, the next call tries again.

        Raises ClosedError after :meth:`end`.
        """
        with suppress(KeyError):
            return cast(T, self._open[name])
        with self._turn(name):
            if name not in self._open:
                if self._closed is not None:
                    raise ClosedError(place=self._closed)
                self._open[name] = make()
            return cast(T, self._open[name])

    def end(self, place: Path) -> dict[Any, Any]:
        """Do as :meth:`let_go`, and open nothing from now on: the index in the folder ``place`` is
        closed.

        Nobody would close what a search opens later.
        """
        with self._lock:
            self._closed = place
        return self.let_go()

    def let_go(self) -> dict[Any, Any]:
        """Wait for the objects that are being opened, then release all objects and return them by
        name.
        """
        with self._lock:
            names = list(self._opening)
        kept = {}
        for name in names:
            with self._turn(name):
                if name in self._open:
                    kept[name] = self._open.pop(name)
        return kept

    def _turn(self, name: Hashable) -> Any:
        """Return the lock for opening and releasing the object ``name``."""
        with self._lock:
            return self._opening.setdefault(name, RLock())


def opened_once(method: Callable[Concatenate[Any, P], T]) -> Callable[Concatenate[Any, P], T]:
    """Return a method that keeps one result for each combination of positional arguments in
    ``self._opened``.
    """

    @wraps(method)
    def get(self: Any, /, *args: P.args, **options: P.kwargs) -> T:
        opened: OpenedOnce = self._opened
        return opened.get((method.__name__, *args), lambda: method(self, *args, **options))

    return get


def cache_method(most: int, method: Callable[..., T]) -> _lru_cache_wrapper[T]:
    """Return a bound method with a cache of at most ``most`` results; its object must outlive the
    returned method.
    """
    bound = cast(MethodType, method)
    # A strong reference would form a cycle, and a closed index would stay in memory until garbage
    # collection.
    return lru_cache(maxsize=most)(partial(bound.__func__, weakref.proxy(bound.__self__)))
