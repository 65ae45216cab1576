"""The settings for serving from a Ray cluster."""

from __future__ import annotations

from typing import Annotated

import msgspec

from ..core.settings import Positive, Settings
from ..retrieval import config


class ClusterSettings(Settings, frozen=True, kw_only=True):
    """The address of the Ray cluster (``""``: none, this process reads the shards itself), and how
    shards use it.

    ``cpus`` are reserved for each replica of a shard. With ``require_all``, a search fails if a
    shard does not answer. Without it, the coverage of the answer names the missing shards.
    """

    address: str = ""
    replicas: Positive = 1
    cpus: Annotated[float, msgspec.Meta(gt=0, le=1024)] = 1.0
    threads: Positive = 4
    require_all: bool = False
    ask_seconds: Annotated[float, msgspec.Meta(gt=0, le=3600)] = 10.0


class Config(config.Config, frozen=True, kw_only=True):
    """The settings of programs that use a cluster."""

    cluster: ClusterSettings = ClusterSettings()
