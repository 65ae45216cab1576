"""The state of an index that a search reads: one folder, or shards that answer together.

:class:`factseek.retrieval.search.index.Index` resolves searches and composes answers. It uses this state for everything
that needs the index files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from ..domain import Document, Filter, Span
from .options import ResolvedSearch

if TYPE_CHECKING:
    from .snapshot import Snapshot

ReadNote = Callable[[Document, Span], object]  # a callback that receives each passage as it is read


class CountQuery(NamedTuple):
    """A request to count, its text after the profile; ``typed`` is the part of the filter that comes from the query."""

    text: str
    resolved: ResolvedSearch
    where: Filter | None
    typed: Filter | None = None


IndexState: TypeAlias = "Snapshot"
"""The state of an index in one folder; a sharded index has the same methods."""


class ReplicaState(NamedTuple):
    """A replica of a shard: its node, ``""`` if unknown, and whether it answered the last request."""

    node: str
    state: Literal["answers", "lost", "unasked"]


class ShardState(NamedTuple):
    """A shard: its name, the id of the generation in use, and its replicas."""

    name: str
    generation: str
    replicas: Sequence[ReplicaState]
