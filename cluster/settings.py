"""The settings of serving from a Ray cluster."""

from __future__ import annotations

from typing import Annotated

import msgspec

from ..retrieval import config
from ..retrieval.config import Positive, Settings


class ClusterSettings(Settings, frozen=True, kw_only=True):
    """Where the Ray cluster is (``""``: none; this process reads the shards itself), and how shards lie on it.

    ``cpus`` are reserved for each replica of a shard. With ``require_all`` a search fails that a shard did not answer;
    without, its answer says in its coverage which shard is missing.
    """

    address: str = ""
    replicas: Positive = 1
    cpus: Annotated[float, msgspec.Meta(gt=0, le=1024)] = 1.0
    threads: Positive = 4
    require_all: bool = False
    ask_seconds: Annotated[float, msgspec.Meta(gt=0, le=3600)] = 10.0


class Config(config.Config, frozen=True, kw_only=True):
    """The settings of whoever looks at a cluster."""

    cluster: ClusterSettings = ClusterSettings()
