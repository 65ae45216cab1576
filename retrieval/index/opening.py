"""Opening the state of an index: that of its folder, or those of its shards as one."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path

from ..config import Config
from ..index_state import IndexState
from ..live.snapshot import IndexEncoders, Snapshot
from ..shards import layout
from .local_state import LocalState
from .sharded_state import ShardedState

Opening = Callable[[Path, Config, IndexEncoders], IndexState]
"""Whoever opens the state of the index in a folder, with what opens its encoders."""


def open_state(folder: Path, config: Config, encoders: IndexEncoders) -> IndexState:
    """Open the state that was last published of the index in ``folder``.

    Raises IndexStateError if it, or a shard of it, is missing, half-built, damaged, or of another layout.
    """

    def read_it(sharded: bool) -> IndexState:
        return _of_shards(folder, config, encoders) if sharded else LocalState(Snapshot(folder, config, encoders))

    return layout.as_it_is(folder, read_it)


def _of_shards(folder: Path, config: Config, encoders: IndexEncoders) -> ShardedState:
    shards, lease = layout.open_leased(folder)
    with closing(lease), ExitStack() as opened:
        states: list[IndexState] = []
        for shard in shards.shards:
            snapshot = Snapshot(shard.folder(folder), config, encoders, manifest=shard.manifest)
            states.append(LocalState(snapshot))
            opened.callback(snapshot.close)
        opened.pop_all()
    return ShardedState(folder, shards, states, config, encoders)
