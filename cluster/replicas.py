"""The replicas of one shard: the one with less to do is asked, and another one if it is gone."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from time import monotonic
from typing import Any

from ..retrieval.config import Config
from ..retrieval.errors import PartMissingError
from ..retrieval.manifest import Manifest
from ..retrieval.shard_states import ReplicaState
from .connections import Connections
from .ray_library import ray
from .wire import ShardAnswer, packed, unpacked

REST_SECONDS = 0.5
"""Seconds that a replica which did not answer is not asked, while there is another one."""


class ShardLostError(PartMissingError):
    """No replica of a shard answers."""


class ShardFaultError(Exception):
    """A shard raised what is no error of factseek; another replica would raise it, too."""


class _Replica:
    """A replica of a shard in one generation. Safe for threads."""

    def __init__(self, actor: Any, manifest: Manifest, config: Config) -> None:
        self._actor = actor
        self._generation = manifest.id
        self._manifest = manifest
        self._config = config
        self._connections: Connections | None = None
        self._node = ""
        self._opening: Any = None
        self._answers: bool | None = None
        self.busy = 0
        self.resting = 0.0

    def begin(self) -> Any:
        """Have it open its state; return what Ray answers when it has."""
        return self._actor.open.remote(self._generation, self._manifest, self._config)

    def ask(self, method: str, arguments: bytes, until: float, *, patient: bool) -> ShardAnswer:
        """Return what it answers, after it opened its state if it had not; only if ``patient`` that is waited for.

        Raises OSError, EOFError or an error of Ray if it is not there, or not in time.
        """
        question = packed((self._generation, method, arguments))
        answer = self._answer(question, until) if self._connections else None
        if answer is None or answer.unopened:
            opened = self._begun(until if patient else monotonic())
            if opened.error is not None:
                return opened
            self.opened(opened)
            answer = self._answer(question, until)
        if answer is None or answer.unopened:
            raise TimeoutError("it started again meanwhile")
        self._answers = True
        return answer

    def opened(self, opened: ShardAnswer) -> None:
        """Ask from now on where it says, which has opened its state."""
        self._node = opened.node
        self._connect(Connections(opened.value))

    @property
    def state(self) -> ReplicaState:
        """Where it is, and whether it answered when it was last asked."""
        return ReplicaState(self._node, "unasked" if self._answers is None else "answers" if self._answers else "lost")

    def rest(self) -> None:
        """Take note that it did not answer: for a while it is asked only if there is no other one."""
        self._answers = False
        self.resting = monotonic() + REST_SECONDS

    def _begun(self, until: float) -> ShardAnswer:
        """Return what it answers to opening its state, which goes on if it has not answered in time."""
        opening = self._opening = self._opening or self.begin()
        try:
            opened: ShardAnswer = ray().get(opening, timeout=max(0.001, until - monotonic()))
        except ray().exceptions.GetTimeoutError:
            raise
        except ray().exceptions.RayError:
            self._opening = None
            raise
        self._opening = None
        return opened

    def close(self) -> None:
        """Close its connections."""
        if self._connections is not None:
            self._connections.close()

    def _connect(self, connections: Connections) -> None:
        before, self._connections = self._connections, connections
        if before is not None:
            before.close()

    def _answer(self, question: bytes, until: float) -> ShardAnswer | None:
        """Return what it answers, or None if the process at the other end of the connections is gone."""
        connections = self._connections
        if connections is None:
            return None
        try:
            answer: ShardAnswer = unpacked(connections.ask(question, until))
        except TimeoutError:
            raise
        except (OSError, EOFError):
            return None
        return answer


class Replicas:
    """Asks the replicas of a shard, in one generation. Safe for threads."""

    def __init__(self, name: str, actors: Sequence[Any], manifest: Manifest, config: Config, seconds: float) -> None:
        """Ask ``actors``, which open the state of ``manifest`` with these settings when they are first asked for it."""
        self.name = name
        self._replicas = [_Replica(actor, manifest, config) for actor in actors]
        self._seconds = seconds
        self._choosing = threading.Lock()

    def begin(self) -> list[Any]:
        """Have every replica open its state; return what Ray answers when they have."""
        return [replica.begin() for replica in self._replicas]

    def opened(self, number: int, opened: ShardAnswer) -> None:
        """Take note that the replica of a number, in the order of :meth:`begin`, has opened its state."""
        self._replicas[number].opened(opened)

    def states(self) -> list[ReplicaState]:
        """Return where the replicas are, and whether they answered when they were last asked."""
        return [replica.state for replica in self._replicas]

    def ask(self, method: str, *arguments: Any, seconds: float | None = None) -> Any:
        """Return what a method of :class:`factseek.cluster.shard_server.ShardServer` returns.

        Raises ShardLostError if no replica answers in time, and what the shard raised.
        """
        until = monotonic() + (self._seconds if seconds is None else seconds)
        reason, packed_arguments = "no replica is there", packed(arguments)
        tried: list[_Replica] = []
        for attempt in range(2 * len(self._replicas)):
            chosen = self._chosen(tried)
            tried.append(chosen)
            # While others may be there nobody waits for one that starts again.
            patient = attempt >= len(self._replicas) - 1
            try:
                answer = chosen.ask(method, packed_arguments, until, patient=patient)
            except (ray().exceptions.RayError, OSError, EOFError) as error:
                reason = str(error).strip().split("\n", 1)[0] or type(error).__name__
                chosen.rest()
                if monotonic() >= until:
                    break
                continue
            finally:
                chosen.busy -= 1
            if answer.fault:
                raise ShardFaultError(f"{self.name}: {answer.fault}")
            if answer.error is not None:
                raise answer.error
            return answer.value
        raise ShardLostError(f"does not answer ({reason[:200]})", place=self.name)

    def close(self) -> None:
        """Close the connections to the replicas, which go on."""
        for replica in self._replicas:
            replica.close()

    def _chosen(self, tried: Sequence[_Replica]) -> _Replica:
        """Return the replica that is asked next, rather none that was ``tried``; it counts as busy from now on."""
        now = monotonic()
        with self._choosing:
            chosen = min(
                self._replicas, key=lambda replica: (tried.count(replica), replica.resting > now, replica.busy)
            )
            chosen.busy += 1
            return chosen
