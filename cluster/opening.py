"""Opening a sharded index on a Ray cluster: its shards answer where they lie, and this process merges the answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any

from ..retrieval.config import Config
from ..retrieval.errors import FactseekError, MachineError
from ..retrieval.index import local
from ..retrieval.index.sharded_state import ShardedState
from ..retrieval.index_state import IndexState
from ..retrieval.live.snapshot import IndexEncoders
from ..retrieval.searcher import Searcher
from ..retrieval.shards import layout
from .faults import not_started
from .gathering import Gathering
from .placement import actors_of
from .ray_library import connect, ray
from .remote_state import RemoteState
from .replicas import Replicas
from .settings import ClusterSettings
from .wire import PackedSettings, ShardAnswer

START_SECONDS = 60.0
"""Within which a replica of each shard has opened its state."""
THREADS = 64
"""Calls to shards that wait at a time in this process."""


def open_index(folder: Path, config: Config, cluster: ClusterSettings, *, encoders: IndexEncoders) -> Searcher:
    """Open the sharded index in ``folder`` on the cluster at ``cluster.address``.

    Raises IndexStateError if it is missing or not sharded, or no replica of a shard can open its state; MachineError if
    no cluster answers, it has too little room, or no replica of a shard comes to be there.
    """
    return local.open_index(folder, config, encoders=encoders, opened=partial(_open_state, cluster))


def check_opens(folder: Path, config: Config, cluster: ClusterSettings) -> None:
    """Start every replica of the shards of the index in ``folder``, and have each open its state.

    Raises what :func:`open_index` raises, if any replica cannot.
    """
    shards = layout.read(folder)
    connect(cluster.address)
    _wait_for(_asked(shards, folder, config, cluster), every=True)


def _open_state(cluster: ClusterSettings, folder: Path, config: Config, encoders: IndexEncoders) -> IndexState:
    shards = layout.read(folder)
    connect(cluster.address)
    asked = _asked(shards, folder, config, cluster)
    _wait_for(asked, every=False)
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


def _asked(shards: layout.Shards, folder: Path, config: Config, cluster: ClusterSettings) -> list[Replicas]:
    """Return the replicas of each shard, started if they are not there."""
    actors = actors_of(folder, shards, config, cluster)
    return [
        Replicas(shard.path, replicas, shard.manifest, config, cluster.ask_seconds)
        for shard, replicas in zip(shards.shards, actors, strict=True)
    ]


def _wait_for(asked: Sequence[Replicas], *, every: bool) -> None:
    """Wait until one replica of each shard has opened its state, or ``every`` one has.

    Raises the error of the last one of a shard that cannot, or of any if every one counts.
    """
    opening = {answer: (replicas, number) for replicas in asked for number, answer in enumerate(replicas.begin())}
    waiting = list(opening)
    still = Counter(replicas.name for replicas, _ in opening.values())
    missing = set(still)
    until = monotonic() + START_SECONDS
    while waiting and (every or missing):
        ready, waiting = ray().wait(waiting, timeout=max(0.0, until - monotonic()))
        if not ready:
            raise _late(opening[waiting[0]][0])
        replicas, number = opening[ready[0]]
        still[replicas.name] -= 1
        error = _error(replicas, number, ready[0])
        if error is None:
            missing.discard(replicas.name)
        elif every or (replicas.name in missing and not still[replicas.name]):
            raise error


def _error(replicas: Replicas, number: int, answer: Any) -> FactseekError | None:
    """Return what kept the replica of a number from opening its state, None if it has opened it."""
    try:
        opened: ShardAnswer = ray().get(answer)
    except ray().exceptions.RayError as error:
        return not_started(replicas.name, "opened", str(error))
    raised = opened.error
    if raised is None:
        replicas.opened(number, opened)
        return None
    return type(raised)(f"{raised.what}, on node {opened.node[:12]}", place=raised.place, remedy=raised.remedy)


def _late(replicas: Replicas) -> MachineError:
    return MachineError(
        f"no node of the cluster has opened it within {START_SECONDS:g} s",
        place=replicas.name,
        remedy="look at ray status: a node must have cluster.cpus processors free",
    )
