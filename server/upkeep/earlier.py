"""The earlier states of indexes: what an index was before it changed, held for those who are paging through it."""

from __future__ import annotations

import threading
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakSet

if TYPE_CHECKING:
    from .service import Served


class _Held(NamedTuple):
    """A state that was replaced, and until when it is held."""

    served: Served
    until: float


class EarlierStates:
    """Holds, of each index, the state before the present one for a while, if somebody may go on with it."""

    def __init__(self, seconds: float) -> None:
        """Hold a state for so many seconds after it was replaced."""
        self._seconds = seconds
        self._lock = threading.Lock()
        self._paged: WeakSet[Served] = WeakSet()
        self._held: dict[str, _Held] = {}

    def paged(self, served: Served) -> None:
        """Note that somebody may go on with a state."""
        if served not in self._paged:
            with self._lock:
                self._paged.add(served)

    def replaced(self, served: Served) -> None:
        """Hold a state that was replaced just now, if somebody may go on with it; the one before it is let go."""
        with self._lock:
            if served in self._paged and self._seconds:
                self._held[served.name] = _Held(served, monotonic() + self._seconds)

    def state(self, name: str, manifest_id: str) -> Served | None:
        """Return the state of this id, or None if it is not held."""
        with self._lock:
            held = self._held.get(name)
        if held is None or held.served.manifest_id != manifest_id or held.until < monotonic():
            return None
        return held.served

    def let_go(self) -> None:
        """Let go of what was held long enough."""
        with self._lock:
            for name in [name for name, held in self._held.items() if held.until < monotonic()]:
                del self._held[name]

    def let_go_of_all(self) -> None:
        """Let go of everything."""
        with self._lock:
            self._held.clear()
