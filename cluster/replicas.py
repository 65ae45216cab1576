"""The replicas of one shard: the one with less to do is asked, and another one if it is gone."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from time import monotonic
from typing import Any

from ..retrieval.errors import MachineError
from ..retrieval.manifest import Manifest
from .ray_library import ray
from .shard_server import ShardAnswer

REST_SECONDS = 0.5
"""Seconds that a replica which did not answer is not asked, while there is another one."""


class ShardLostError(MachineError):
    """No replica of a shard answers."""


class Replicas:
    """Asks the replicas of a shard, in one generation. Safe for threads."""

    def __init__(self, name: str, actors: Sequence[Any], generation: str, manifest: Manifest, seconds: float) -> None:
        """Ask ``actors``, which open the state of ``manifest`` when they are first asked for ``generation``."""
        self.name = name
        self._actors = actors
        self._generation = generation
        self._manifest = manifest
        self._seconds = seconds
        self._busy = [0] * len(actors)
        self._resting = [0.0] * len(actors)
        self._choosing = threading.Lock()

    def begin(self) -> list[Any]:
        """Have every replica open its state; return what Ray answers when they have."""
        return [actor.open.remote(self._generation, self._manifest) for actor in self._actors]

    def ask(self, method: str, *arguments: Any, seconds: float | None = None) -> Any:
        """Return what a method of :class:`factseek.cluster.shard_server.ShardServer` returns.

        Raises ShardLostError if no replica answers in time, and what the shard raised.
        """
        until = monotonic() + (self._seconds if seconds is None else seconds)
        reason = "no replica is there"
        for _ in range(2 * len(self._actors)):
            chosen = self._chosen()
            try:
                answer = self._asked(self._actors[chosen], method, arguments, until)
            except ray().exceptions.RayTaskError:
                raise  # the replica is there, and has a fault: another one would have it, too
            except (ray().exceptions.RayError, TimeoutError) as error:
                reason = str(error).strip().split("\n", 1)[0] or type(error).__name__
                self._resting[chosen] = monotonic() + REST_SECONDS
                if monotonic() >= until:
                    break
                continue
            finally:
                self._busy[chosen] -= 1
            if answer.error is not None:
                raise answer.error
            return answer.value
        raise ShardLostError(f"does not answer ({reason[:200]})", place=self.name)

    def _asked(self, actor: Any, method: str, arguments: Sequence[Any], until: float) -> ShardAnswer:
        get, left = ray().get, max(0.001, until - monotonic())
        answer: ShardAnswer = get(getattr(actor, method).remote(self._generation, *arguments), timeout=left)
        if not answer.unopened:
            return answer
        opened: ShardAnswer = get(actor.open.remote(self._generation, self._manifest), timeout=left)
        if opened.error is not None:
            return opened
        left = max(0.001, until - monotonic())
        again: ShardAnswer = get(getattr(actor, method).remote(self._generation, *arguments), timeout=left)
        if again.unopened:
            raise TimeoutError("it started again meanwhile")
        return again

    def _chosen(self) -> int:
        """Return the replica that is asked next, which counts as busy from now on."""
        now = monotonic()
        with self._choosing:
            chosen = min(range(len(self._actors)), key=lambda at: (self._resting[at] > now, self._busy[at], at))
            self._busy[chosen] += 1
            return chosen
