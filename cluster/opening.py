"""Opening a sharded index on a Ray cluster: its shards answer where they lie, and this process merges the answers."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path

from ..retrieval.config import Config
from ..retrieval.index import local
from ..retrieval.index.sharded_state import ShardedState
from ..retrieval.index_state import IndexState
from ..retrieval.live.snapshot import IndexEncoders
from ..retrieval.searcher import Searcher
from ..retrieval.shards import layout
from .gathering import Gathering
from .placement import actors_of
from .ray_library import connect, ray
from .remote_state import RemoteState
from .replicas import Replicas
from .settings import ClusterSettings
from .wire import PackedSettings

START_SECONDS = 120.0
"""Within which the shards of an index that is opened are there; one that is later is taken for lost until it comes."""
THREADS = 64
"""Calls to shards that wait at a time in this process."""


def open_index(folder: Path, config: Config, cluster: ClusterSettings, *, encoders: IndexEncoders) -> Searcher:
    """Open the sharded index in ``folder`` on the cluster at ``cluster.address``.

    Raises IndexStateError if it is missing or not sharded, MachineError if no cluster answers or it has too few nodes.
    """
    return local.open_index(folder, config, encoders=encoders, opened=partial(_open_state, cluster))


def _open_state(cluster: ClusterSettings, folder: Path, config: Config, encoders: IndexEncoders) -> IndexState:
    shards = layout.read(folder)
    connect(cluster.address)
    actors = actors_of(folder, shards, config, cluster)
    asked = [
        Replicas(layout.shard_path(number), replicas, shard.manifest.id, shard.manifest, cluster.ask_seconds)
        for number, (shard, replicas) in enumerate(zip(shards.shards, actors, strict=True))
    ]
    _wait_for(asked)
    settings = PackedSettings()
    states: list[IndexState] = [
        RemoteState(replicas, shard.folder(folder), shard.manifest, settings)
        for replicas, shard in zip(asked, shards.shards, strict=True)
    ]
    beside = ThreadPoolExecutor(THREADS, thread_name_prefix="shards")
    gathering = Gathering(beside, require_all=cluster.require_all)
    return ShardedState(
        folder, shards, states, config, encoders, gather=gathering, closing=partial(beside.shutdown, wait=False)
    )


def _wait_for(asked: Sequence[Replicas]) -> None:
    """Wait until the replicas of shards have opened their states.

    Raises IndexStateError if one cannot: it has no such shard, or it is damaged.
    """
    opening = [answer for replicas in asked for answer in replicas.begin()]
    ready, _ = ray().wait(opening, num_returns=len(opening), timeout=START_SECONDS)
    for answer in ready:
        with suppress(ray().exceptions.RayError):
            error = ray().get(answer).error
            if error is not None:
                raise error
