"""Which index a request may change."""

from __future__ import annotations

from pathlib import Path

from ..retrieval.store.manifest import SHARDS
from .auth import check_key
from .errors import RefusedError
from .runtime import ServedIndex, index_named, registry


def writable(name: str) -> ServedIndex:
    """Return the index if the caller may change it; raise RefusedError if not, or what
    :func:`index_named` raises.
    """
    settings = registry().config.server
    # Without keys anybody could write. factseek serve refuses to start then, and other servers must
    # not write either.
    if not settings.writes or not settings.keys:
        reason = (
            "this server is read-only; start it with --allow-writes, or set server.writes: true"
        )
        raise RefusedError(reason, 403, "writes-off")
    check_key()
    served = index_named(name)
    if (folder_of(served) / SHARDS).is_file():
        reason = f"the index {name} has shards and accepts no changes over HTTP"
        raise RefusedError(
            f"{reason}; change it with factseek index --update or factseek delete",
            403,
            "has-shards",
        )
    return served


def is_writable(served: ServedIndex) -> bool:
    """Return whether a caller with a key may change the index."""
    settings = registry().config.server
    is_whole = not (folder_of(served) / SHARDS).is_file()
    return settings.writes and bool(settings.keys) and is_whole


def folder_of(served: ServedIndex) -> Path:
    """Return the directory of an index."""
    return served.index.info.place.resolve()
