"""What the routes answer from: the configuration and the indexes, by the names that they are served under."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from flask import Flask, current_app

from retrieval.config import Config, RetrieverName
from retrieval.errors import ConfigError
from retrieval.index import Index
from server.errors import UnknownIndexError
from server.readiness import Readiness
from server.search import retrievers

RESERVED = ("claims", "indexes", "jobs")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_KEY = "factseek"


@dataclass(frozen=True, slots=True)
class Served:
    """An index under its name; ``retrievers`` holds those that it answers, its default first."""

    name: str
    index: Index
    manifest_id: str
    retrievers: tuple[RetrieverName, ...]


class Service(NamedTuple):
    """What the routes answer from."""

    config: Config
    indexes: Mapping[str, Served]
    readiness: Readiness


def install(app: Flask, config: Config, indexes: Mapping[str, Index]) -> None:
    """Give ``app`` the indexes that it serves.

    Raises ConfigError if an index has a name that cannot be served.
    """
    served = {checked_name(name): _served(name, index) for name, index in indexes.items()}
    app.extensions[_KEY] = Service(config, MappingProxyType(served), Readiness(indexes))


def service() -> Service:
    """Return what the current application answers from."""
    found: Service = current_app.extensions[_KEY]
    return found


def index_named(name: str) -> Served:
    """Return the index that is served under this name.

    Raises UnknownIndexError if there is none.
    """
    indexes = service().indexes
    if name not in indexes:
        names = ", ".join(indexes) or "none"
        raise UnknownIndexError(f"there is no index {name[:80]!r}; served are: {names}")
    return indexes[name]


def checked_name(name: str) -> str:
    """Return ``name`` if an index may be served under it: a name, never a path.

    Raises ConfigError if not.
    """
    if not _NAME.fullmatch(name):
        raise ConfigError(
            f"server.indexes: {name[:80]!r} cannot name an index; take up to 64 letters, digits, '.', '_' and '-', "
            "a letter or digit first"
        )
    if name in RESERVED:
        raise ConfigError(f"server.indexes: the name {name!r} is reserved; choose another")
    return name


def _served(name: str, index: Index) -> Served:
    default = index.resolved()
    others = [other for other in retrievers(index) if other != default]
    return Served(name, index, index.manifest.id, (default, *others))
