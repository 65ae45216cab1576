"""Where the replicas of shards lie: an actor each, those of one shard on different nodes, the same for every reader."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from ..retrieval.config import Config
from ..retrieval.errors import MachineError
from ..retrieval.shards.layout import Shards
from .ray_library import NAMESPACE, ray
from .settings import ClusterSettings
from .shard_server import ShardServer

FREED_SECONDS = 5.0
"""Within which Ray knows that processors are free which a process had that has ended."""
_ADD_NODES = "add nodes with ray start --address"


def actors_of(folder: Path, shards: Shards, config: Config, cluster: ClusterSettings) -> list[list[Any]]:
    """Return the replicas of each shard of the index in ``folder``, started if they are not there.

    They go on when this process ends, and start again when they die. Those of shards that the index has no more end
    when nobody asks them. Raises MachineError if there are fewer nodes than replicas of a shard, or too few processors.
    """
    nodes = alive_nodes()
    if len(nodes) < cluster.replicas:
        raise MachineError(
            f"the cluster has {len(nodes)} node{'s' * (len(nodes) != 1)}, too few for {cluster.replicas} replicas",
            place="cluster.replicas",
            remedy=f"{_ADD_NODES}, or ask for fewer replicas",
        )
    names = [
        [actor_name(folder, shard.path, replica) for replica in range(cluster.replicas)] for shard in shards.shards
    ]
    there = set(running(folder))
    wanted = {name for of_shard in names for name in of_shard}
    missing = len(wanted - there)
    check_room(missing, f"replica{'s' * (missing != 1)} of shards that reserve", cluster.cpus)
    for name in there - wanted:
        ray().get_actor(name, NAMESPACE).end_when_idle.remote()
    return [
        [
            _actor(shard.folder(folder.resolve()), name, nodes[(number + replica) % len(nodes)], config, cluster)
            for replica, name in enumerate(names[number])
        ]
        for number, shard in enumerate(shards.shards)
    ]


def alive_nodes() -> Sequence[str]:
    """Return the ids of the nodes of the cluster, in their order."""
    return sorted(node["NodeID"] for node in ray().nodes() if node["Alive"])


def actor_name(folder: Path, shard: str, replica: int) -> str:
    """Return the name by which every reader finds a replica of a shard of the index in ``folder``."""
    return f"{_index_name(folder)}{shard}/{replica}"


def _index_name(folder: Path) -> str:
    """Return how the names of the replicas of all shards of an index begin."""
    place = folder.resolve()
    digest = hashlib.blake2b(str(place).encode(errors="surrogatepass"), digest_size=6).hexdigest()
    return f"{digest}/{place.name}/"


def running(folder: Path) -> list[str]:
    """Return the names of the replicas of all shards, also former ones, of the index in ``folder``."""
    beginning = _index_name(folder)
    actors = ray().util.list_named_actors(all_namespaces=True)
    names: list[str] = [actor["name"] for actor in actors if actor["namespace"] == NAMESPACE]
    return [name for name in names if name.startswith(beginning)]


def check_room(started: int, what: str, cpus: float) -> None:
    """Check that so many processes more, ``what`` reserves ``cpus`` each, have room; wait a little until they have.

    Raises MachineError if the free processors of the cluster are too few, or no node has enough for one of them.
    """
    until = monotonic() + FREED_SECONDS
    while started and (free := ray().available_resources().get("CPU", 0.0)) < started * cpus - 1e-6:
        if monotonic() > until:
            raise MachineError(
                f"{free:g} processors of the cluster are free, too few for {started} {what} {cpus:g} each",
                place="cluster.cpus",
                remedy=f"{_ADD_NODES}, or reserve fewer",
            )
        sleep(0.2)
    largest = max((node["Resources"].get("CPU", 0.0) for node in ray().nodes() if node["Alive"]), default=0.0)
    if started and largest < cpus:
        raise MachineError(
            f"no node has room for any of {started} {what} {cpus:g} processors each; the largest has {largest:g}",
            place="cluster.cpus",
            remedy="add a larger node with ray start --address, or reserve fewer",
        )


def _actor(folder: Path, name: str, node: str, config: Config, cluster: ClusterSettings) -> Any:
    library = ray()
    near = library.util.scheduling_strategies.NodeAffinitySchedulingStrategy(node, soft=True)
    actor = library.remote(ShardServer).options(
        name=name,
        namespace=NAMESPACE,
        get_if_exists=True,
        lifetime="detached",
        max_restarts=-1,
        max_task_retries=0,
        max_concurrency=cluster.threads,
        num_cpus=cluster.cpus,
        scheduling_strategy=near,
    )
    return actor.remote(str(folder.absolute()), config, cluster.threads, cluster.cpus)
