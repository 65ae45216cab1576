"""The protocols of others, one file each, found by its name: its clients need another address and nothing else.

An adapter translates what its clients ask to a search, a ranking or a vector of ours, and what comes of it back. It
stands below ``/NAME/`` (``serper.py`` below ``/serper/``), is served where ``server.adapters`` names it, and offers::

    HELP: str                            whose protocol it is, in one line
    blueprint: Blueprint                 its routes, with the addresses of the original; its name is the module's
    OPERATIONS: Mapping[str, Operation]  what each view takes and answers, by the name of its function
    FAILURE: type[Answer]                the shape of an error of the original
    STATUSES: Mapping[int, int]          its status for one of ours, where they differ
    KEY_PARAMETER: str                   the parameter of a query string that carries its clients' keys; "" if none
    def failure(problem) -> Answer       an error of ours in the shape of the original

One that writes may also say ``CHANGES``, the addresses whose POST waits until an index is written: such requests have
threads of their own, and keep no search waiting.

Limits, keys, rates, metrics and the log are those of all routes. A module of this shape, put into this folder, is an
adapter everywhere: nothing else names adapters.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Protocol

from flask import Blueprint, Flask, request

from ...retrieval.errors import ConfigError
from ...retrieval.plugins import Plugins
from ...retrieval.search.evidence import Answer
from ..api import operations
from ..api.operations import Operation
from ..errors import Dialect, Problem, speak
from ..runtime import ServedIndex, index_named, registry

TAG = "Protocols"


class Adapter(Protocol):
    """What a module of this package offers."""

    HELP: str
    OPERATIONS: Mapping[str, Operation]
    FAILURE: type[Answer]
    STATUSES: Mapping[int, int]
    KEY_PARAMETER: str
    blueprint: Blueprint

    def failure(self, problem: Problem) -> Answer:
        """Return an error in the shape of the original."""
        ...


ADAPTERS = Plugins[Adapter](__name__, ConfigError, "adapter", "there are")


def check(wanted: Mapping[str, str], indexes: Collection[str]) -> None:
    """Look whether there are the adapters that the configuration names, and the indexes that they answer from.

    Raises ConfigError, naming the setting.
    """
    for name, index in wanted.items():
        if name not in ADAPTERS.names():
            raise ConfigError(
                f"there is no adapter {name[:80]!r}",
                place="server.adapters",
                remedy=f"there are {', '.join(ADAPTERS.names())}",
            )
        if index and index not in indexes:
            raise ConfigError(
                f"no index is served as {index[:80]!r}",
                place=f"server.adapters.{name}",
                remedy=f"served are {', '.join(indexes)}",
            )


def install(app: Flask, wanted: Mapping[str, str], indexes: Collection[str]) -> None:
    """Let ``app`` answer the protocols of ``wanted``, each by its name with the index that it answers from.

    Raises ConfigError, naming the setting, if there is no such adapter or index.
    """
    check(wanted, indexes)
    for name in wanted:
        adapter = ADAPTERS.load(name)
        app.register_blueprint(adapter.blueprint, url_prefix=f"/{name}")
        speak(app, name, Dialect(adapter.failure, adapter.STATUSES, adapter.KEY_PARAMETER))
        operations.add(app, dict(_described(adapter)))


def changing(wanted: Iterable[str]) -> list[str]:
    """Return the addresses of the adapters of these names whose POST waits until an index is written."""
    return [f"/{name}{address}" for name in wanted for address in getattr(ADAPTERS.load(name), "CHANGES", ())]


def _described(adapter: Adapter) -> Iterator[tuple[str, Operation]]:
    """Yield the endpoint of each operation, and the operation with what all of its adapter have in common."""
    for view, operation in adapter.OPERATIONS.items():
        whole = operation._replace(tag=TAG, failure=adapter.FAILURE, statuses=adapter.STATUSES)
        yield f"{adapter.blueprint.name}.{view}", whole


def configured_index() -> ServedIndex:
    """Return the index that the adapter of the current request answers from: the configured one, else the first.

    Raises UnknownIndexError if none is served; IndexStateError if it cannot be opened at the moment.
    """
    serving = registry()
    name = (request.blueprint or "").replace("_", "-")
    wanted = serving.config.server.adapters.get(name, "")
    return index_named(wanted or next(iter({**serving.config.server.indexes, **serving.indexes}), ""))
