"""Adapters for other protocols.

The name of an adapter is the name of its file. A client needs only the new address.

An adapter translates a client's request into a search, a ranking or an encoding, and the result
back. Its routes are below ``/NAME/``. It is served if ``server.adapters`` names it. Its module
defines an :class:`Adapter` as ``adapter``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any

from flask import Flask, request

from ...core.errors import ConfigError
from ...core.plugins import Plugins
from ..api.operations import Routes, Tag
from ..errors import DIALECTS, Failure
from ..runtime import ServedIndex, index_named, registry

TAG: Tag = "Protocols"


class Adapter(Routes):
    """A protocol: the shape of its errors, and its routes with the addresses of the original
    server.

    The names of its types and views begin with the protocol's name, because the API's description
    lists all protocols together.
    """

    failure: type[Failure]

    def __init__(
        self,
        module: str,
        failure: type[Failure],
        statuses: Mapping[int, int] = MappingProxyType({}),
        key_parameter: str = "",
    ) -> None:
        """Take the name of the module, which becomes the name of the protocol.

        ``statuses`` maps factseek's statuses to those of the original server if they differ.
        ``key_parameter`` is the query parameter with the client's key, or ``""``.
        """
        super().__init__(module.rpartition(".")[2], module, TAG, failure, statuses)
        self.key_parameter = key_parameter

    def index_name(self, values: Mapping[str, str]) -> str:
        """Return the name of the index in the address, else of the adapter's configured index."""
        return values["name"] if "name" in values else configured_index().name


ADAPTERS = Plugins[Any](__name__, ConfigError, "adapter", "the adapters are")


def check(wanted: Mapping[str, str], indexes: Collection[str]) -> None:
    """Raise ConfigError, with the setting, if an adapter does not exist, or its index is not
    served.
    """
    for name, index in wanted.items():
        if name not in ADAPTERS.names():
            remedy = f"the adapters are {', '.join(ADAPTERS.names())}"
            raise ConfigError(
                f"there is no adapter {name[:80]!r}", place="server.adapters", remedy=remedy
            )
        if index and index not in indexes:
            place, remedy = f"server.adapters.{name}", f"the indexes are {', '.join(indexes)}"
            raise ConfigError(
                f"this server has no index {index[:80]!r}", place=place, remedy=remedy
            )


def install(app: Flask, wanted: Mapping[str, str], indexes: Collection[str]) -> None:
    """Let ``app`` serve these adapters, each with its index; raise ConfigError as :func:`check`
    does.
    """
    check(wanted, indexes)
    for name in wanted:
        adapter: Adapter = ADAPTERS.load(name).adapter
        adapter.install(app, f"/{name}")
        app.extensions.setdefault(DIALECTS, {})[name] = adapter


def configured_index() -> ServedIndex:
    """Return the index configured for the request's adapter, else the first; raise what
    :func:`index_named` raises.
    """
    serving = registry()
    wanted = serving.config.server.adapters.get((request.blueprint or "").replace("_", "-"), "")
    return index_named(
        wanted or next(iter({**serving.config.server.indexes, **serving.indexes}), "")
    )
