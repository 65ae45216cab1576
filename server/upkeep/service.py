"""Service: the configuration and the indexes, by the names that they are served under, for the routes."""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from flask import Flask, current_app, request

from ...retrieval.errors import ConfigError, IndexStateError
from ...retrieval.languages import written_in
from ..contract.errors import UnknownIndexError
from ..settings import Config
from .readiness import Readiness
from .writers import Writers

if TYPE_CHECKING:
    from ...retrieval.index.local import Index

RESERVED = ("aliases", "claims", "indexes", "jobs")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_KEY = "factseek"
_HELD = "factseek.served"


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Served:
    """A snapshot of an index under its name; ``retrievers`` holds those that it answers, its default first.

    A request holds on to it as long as it answers from the index.
    """

    name: str
    index: Index
    manifest_id: str
    retrievers: tuple[str, ...]


class Service:
    """The configuration and the served indexes."""

    def __init__(self, config: Config, indexes: Mapping[str, Index]) -> None:
        self.config = config
        self._served: dict[str, Served] = {}
        self.indexes: Mapping[str, Served] = MappingProxyType(self._served)
        """The served indexes by name; a value changes when a new manifest is published."""
        self.retire: Callable[[Index], object] = _keep
        """Is handed an index that nobody answers from any more."""
        self.refresh: Callable[[str], object] = _keep_all
        """Returns when the newest state of the index of this name is served."""
        self.writers: Writers | None = None
        """Starts what writes the indexes, where that is allowed."""
        self.failed: dict[str, bool] = {}
        """The names of indexes that could not answer a request."""
        self.readiness = Readiness(indexes)
        for name, index in indexes.items():
            self.publish(checked_name(name), index)

    def publish(self, name: str, index: Index) -> None:
        """Answer from this snapshot from now on; requests that began before keep theirs."""
        served = _served(name, index)
        weakref.finalize(served, self._retired, index)
        self._served[name] = served

    def _retired(self, index: Index) -> None:
        self.retire(index)


def install(app: Flask, config: Config, indexes: Mapping[str, Index]) -> None:
    """Give ``app`` the indexes that it serves.

    Raises ConfigError if an index has a name that cannot be served.
    """
    app.extensions[_KEY] = Service(config, indexes)


def service() -> Service:
    """Return the service of the current application."""
    serving: Service = current_app.extensions[_KEY]
    return serving


def index_named(name: str) -> Served:
    """Return the index that is served under this name, for as long as the current request lasts.

    Raises UnknownIndexError if there is none; IndexStateError if it cannot be opened at the moment.
    """
    serving = service()
    served = serving.indexes.get(name)
    if served is not None:
        request.environ.setdefault(_HELD, []).append(served)
        return served
    if name in serving.config.server.indexes:
        raise IndexStateError(f"{name} is not open")
    names = ", ".join(serving.indexes) or "none"
    raise UnknownIndexError(f"there is no index {name[:80]!r}; served are: {names}")


def suited_indexes(served: Served, query: str) -> list[str]:
    """Name the other served indexes whose language is written as ``query`` is, if that of this one is not."""
    if written_in(query, served.index.info.language):
        return []
    others = (other for other in service().indexes.values() if other.name != served.name)
    return [other.name for other in others if written_in(query, other.index.info.language)]


def mark_failed() -> None:
    """Note that the index of the current request could not answer it."""
    for served in request.environ.get(_HELD, ()):
        service().failed[served.name] = True


def checked_name(name: str) -> str:
    """Return ``name`` if an index may be served under it: a name, never a path.

    Raises ConfigError if not.
    """
    if not _NAME.fullmatch(name):
        raise ConfigError(
            f"{name[:80]!r} cannot name an index",
            place="server.indexes",
            remedy="take up to 64 letters, digits, '.', '_' and '-', a letter or digit first",
        )
    if name in RESERVED:
        raise ConfigError(f"the name {name!r} is reserved", place="server.indexes", remedy="choose another")
    return name


def _served(name: str, index: Index) -> Served:
    default = index.resolve().retriever
    others = [other for other in index.info.retrievers if other != default]
    return Served(name, index, index.info.id, (default, *others))


def _keep(_: Index) -> None:
    """Leave an index to whoever opened it."""


def _keep_all(_: str) -> None:
    """Serve what was opened."""
