"""The replicas of the shards of an index on a cluster, asked one by one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ..retrieval.shards import layout
from .placement import actor_name
from .ray_library import NAMESPACE, connect, ray
from .settings import ClusterSettings


class ReplicaStatus(NamedTuple):
    """A replica of a shard; of one that does not answer only its name is known."""

    shard: str
    replica: int
    alive: bool
    node: str = ""
    pid: int = 0
    generations: tuple[str, ...] = ()
    answered: int = 0


def replicas_of(folder: Path, cluster: ClusterSettings) -> list[ReplicaStatus]:
    """Return the replicas of the shards of the index in ``folder``, in the order of the shards.

    Raises IndexStateError if there is no sharded index, MachineError if no cluster answers.
    """
    return [_status(shard, replica, actor, cluster) for shard, replica, actor in _actors(folder, cluster)]


def stop(folder: Path, cluster: ClusterSettings) -> int:
    """End the replicas of the shards of the index in ``folder``; return how many there were.

    Raises what :func:`replicas_of` raises.
    """
    actors = [actor for _, _, actor in _actors(folder, cluster) if actor is not None]
    for actor in actors:
        ray().kill(actor, no_restart=True)
    return len(actors)


def _actors(folder: Path, cluster: ClusterSettings) -> Iterator[tuple[str, int, Any]]:
    """Yield each replica by shard and number with its actor, None where there is none."""
    shards = layout.read(folder)
    connect(cluster.address)
    for shard in shards.shards:
        for replica in range(cluster.replicas):
            try:
                actor = ray().get_actor(actor_name(folder, shard.path, replica), NAMESPACE)
            except ValueError:
                actor = None
            yield shard.path, replica, actor


def _status(shard: str, replica: int, actor: Any, cluster: ClusterSettings) -> ReplicaStatus:
    if actor is None:
        return ReplicaStatus(shard, replica, alive=False)
    try:
        status = ray().get(actor.status.remote(), timeout=cluster.ask_seconds)
    except (ray().exceptions.RayError, TimeoutError):
        return ReplicaStatus(shard, replica, alive=False)
    return ReplicaStatus(
        shard, replica, True, status["node"], status["pid"], tuple(status["generations"]), status["answered"]
    )
