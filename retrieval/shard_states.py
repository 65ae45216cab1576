"""The states of the shards of an index that other processes answer for, as their reader last found them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple


class ReplicaState(NamedTuple):
    """A replica of a shard: the node that it is on, ``""`` if nobody knows, and whether it answered when last asked."""

    node: str
    state: Literal["answers", "lost", "unasked"]


class ShardState(NamedTuple):
    """A shard: its name, the id of the generation that is read, and its replicas."""

    name: str
    generation: str
    replicas: Sequence[ReplicaState]
