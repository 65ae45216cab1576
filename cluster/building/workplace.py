"""The cluster as the place where the shards of an index are built: a process for each, spread over the nodes."""

from __future__ import annotations

from functools import partial
from typing import Any

from ...indexer.works import PartWork, WorkOrder
from ..placement import check_room
from ..ray_library import connect, ray
from ..settings import ClusterSettings
from .remote_work import RemoteWork
from .shard_builder import ShardBuilder


class ClusterWorkplace:
    """Begins works in processes of a cluster. They end with this process."""

    def __init__(self, cluster: ClusterSettings) -> None:
        """Connect to the cluster at ``cluster.address``. Raises MachineError if none answers."""
        self._cluster = cluster
        connect(cluster.address)

    def __call__(self, order: WorkOrder) -> PartWork:
        """Begin a work. Raises MachineError if there are too few processors for the works of all shards."""
        if order.number == 0:
            builders = f"builder{'s' * (order.parts != 1)} of shards that reserve"
            check_room(order.parts, builders, self._cluster.cpus)
        return RemoteWork(order, partial(_started, self._cluster.cpus))


def _started(cpus: float) -> Any:
    actor = ray().remote(ShardBuilder).options(num_cpus=cpus, max_restarts=0, scheduling_strategy="SPREAD")
    return actor.remote(cpus)
