"""Where the replicas of shards lie: an actor each, those of one shard on different nodes, the same for every reader."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..retrieval.config import Config
from ..retrieval.errors import MachineError
from ..retrieval.shards.layout import Shards
from .ray_library import NAMESPACE, ray
from .settings import ClusterSettings
from .shard_server import ShardServer


def actors_of(folder: Path, shards: Shards, config: Config, cluster: ClusterSettings) -> list[list[Any]]:
    """Return the replicas of each shard of the index in ``folder``, started if they are not there.

    They go on when this process ends, and start again when they die. Raises MachineError if there are fewer nodes than
    replicas of a shard.
    """
    nodes = alive_nodes()
    if len(nodes) < cluster.replicas:
        raise MachineError(
            f"the cluster has {len(nodes)} node{'s' * (len(nodes) != 1)}, too few for {cluster.replicas} replicas",
            place="cluster.replicas",
            remedy="add nodes with ray start --address, or ask for fewer replicas",
        )
    return [
        [
            _actor(shard.folder(folder.resolve()), replica, nodes[(number + replica) % len(nodes)], config, cluster)
            for replica in range(cluster.replicas)
        ]
        for number, shard in enumerate(shards.shards)
    ]


def alive_nodes() -> Sequence[str]:
    """Return the ids of the nodes of the cluster, in their order."""
    return sorted(node["NodeID"] for node in ray().nodes() if node["Alive"])


def actor_name(folder: Path, replica: int) -> str:
    """Return the name by which every reader finds a replica of the shard in ``folder``."""
    place = folder.resolve()
    digest = hashlib.blake2b(str(place).encode(), digest_size=6).hexdigest()
    return f"{'/'.join(place.parts[-2:])}/{replica}/{digest}"


def _actor(folder: Path, replica: int, node: str, config: Config, cluster: ClusterSettings) -> Any:
    library = ray()
    near = library.util.scheduling_strategies.NodeAffinitySchedulingStrategy(node, soft=True)
    actor = library.remote(ShardServer).options(
        name=actor_name(folder, replica),
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
