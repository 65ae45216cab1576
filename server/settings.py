"""The settings of the server, together with those of indexing, claims and the cluster."""

from __future__ import annotations

import re
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Self

import msgspec

from ..claims.settings import ClaimsSettings, VerdictSettings
from ..cluster.settings import ClusterSettings
from ..core.errors import ConfigError
from ..core.settings import Count, Positive, Settings, anchored_path
from ..indexer import settings as indexer

KEY_PREFIX = "fs_"
"""The beginning of every key that factseek makes."""
_HASH = re.compile(r"[0-9a-f]{64}")


class ServerSettings(Settings, frozen=True, kw_only=True):
    """The HTTP server.

    ``indexes``, ``rankers``, ``verdicts`` map names to paths, ``adapters`` protocols to indexes.
    """

    host: str = "127.0.0.1"
    port: Annotated[int, msgspec.Meta(ge=0, le=65_535)] = 8000
    workers: Positive = 2
    threads: Positive = 4
    trusted_proxies: list[str] = msgspec.field(default_factory=list)
    max_waiting: Count = 64
    max_connections: Positive = 2_000
    memory_bytes: Positive = 100_000_000
    answer_seconds: Annotated[float, msgspec.Meta(gt=0, le=86_400)] = 600.0
    search_seconds: Annotated[float, msgspec.Meta(gt=0, le=3600)] = 10.0
    stop_seconds: Annotated[float, msgspec.Meta(gt=0, le=86_400)] = 30.0
    per_minute: Count = 0
    keys: dict[str, str] = msgspec.field(default_factory=dict)
    log_queries: bool = False
    max_body_bytes: Positive = 2_000_000
    max_upload_bytes: Positive = 20_000_000
    max_batch: Positive = 1_000
    max_batch_hits: Positive = 1_000_000
    max_filter_values: Positive = 1_000
    writes: bool = False
    private: bool = False
    write_seconds: Annotated[float, msgspec.Meta(gt=0, le=3600)] = 30.0
    max_bulk: Positive = 10_000
    max_queued: Positive = 100
    keep_jobs: Positive = 1_000
    keep_job_days: Annotated[float, msgspec.Meta(gt=0, le=36_500)] = 7.0
    max_claims: Positive = 1_000
    max_claim_chars: Positive = 10_000
    indexes: dict[str, str] = msgspec.field(default_factory=dict)
    rankers: dict[str, str] = msgspec.field(default_factory=dict)
    verdicts: dict[str, str] = msgspec.field(default_factory=dict)
    adapters: dict[str, str] = msgspec.field(default_factory=dict)
    removed = MappingProxyType(
        {
            "callbacks": "use /similarity/sync/text of the adapter alegre, which answers at once",
            "cursor_seconds": "leave it out: a cursor continues in the current index",
            "comparisons": "factseek compare --html FILE writes the comparison as a page",
        }
    )

    def anchor(self, folder: Path) -> Self:
        """Resolve the paths of indexes and models relative to ``folder``."""
        anchored = {
            field: {
                name: anchored_path(path, folder) for name, path in getattr(self, field).items()
            }
            for field in ("indexes", "rankers", "verdicts")
        }
        return msgspec.structs.replace(self, **anchored)


class Config(indexer.Config, frozen=True, kw_only=True):
    """The settings of the server."""

    claims: ClaimsSettings = ClaimsSettings()
    verdict: VerdictSettings = VerdictSettings()
    server: ServerSettings = ServerSettings()
    cluster: ClusterSettings = ClusterSettings()

    def reconcile(self, place: str) -> Self:
        """Also raise ConfigError if a key is not the hash of one. The error does not contain the
        key.
        """
        for name, held in self.server.keys.items():
            if not _HASH.fullmatch(held):
                what = "is a key" if held.startswith(KEY_PREFIX) else "is not the hash of a key"
                raise ConfigError(
                    f"server.keys.{name}: {what}, but the configuration takes only hashes",
                    place=place,
                    remedy=f"factseek key {name} --hash asks for the key and prints its line",
                )
        return super().reconcile(place)
