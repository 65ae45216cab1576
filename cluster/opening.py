"""Open the published state of an index in shards, in this process or on a cluster."""

from __future__ import annotations

from contextlib import ExitStack, closing
from pathlib import Path

from ..retrieval.config import Config
from ..retrieval.search.index_state import IndexState, ShardState
from ..retrieval.search.snapshot import IndexEncoders, Snapshot
from ..retrieval.store.index_folder import Lease
from ..retrieval.store.manifest import Manifest
from . import layout
from .coordinator import Gathering, ShardedState
from .settings import ClusterSettings


def open_state(folder: Path, config: Config, encoders: IndexEncoders) -> IndexState:
    """Open the published state of the sharded index in ``folder``: on a cluster if one is
    configured, else here.

    Raises IndexStateError if the index or one of its shards is missing or damaged, and what the
    cluster raises.
    """
    cluster: ClusterSettings | None = getattr(config, "cluster", None)
    if cluster is not None and cluster.address:
        from .actors import open_state as open_on_cluster  # it imports Ray

        return open_on_cluster(folder, config, cluster, encoders)
    shards, lease = layout.open_leased(folder)
    with closing(lease), ExitStack() as opened:
        states: list[ShardState] = []
        for shard in shards.shards:
            state = Snapshot(shard.folder(folder), config, encoders, manifest=shard.manifest)
            states.append(state)
            opened.callback(state.close)
        opened.pop_all()
    return ShardedState(folder, shards, states, config, encoders, gather=Gathering())


def read_published(folder: Path) -> Manifest:
    """Return the published state of the sharded index in ``folder`` as one manifest."""
    return layout.read(folder).merged


def lease_segments(folder: Path) -> tuple[list[tuple[Path, Manifest]], Lease]:
    """Return the folder and the manifest of each shard in ``folder``, and a lease that keeps their
    segments.
    """
    shards, lease = layout.open_leased(folder)
    return [(shard.folder(folder), shard.manifest) for shard in shards.shards], lease
