"""``factseek mcp``: the tools for one agent on standard input and output, or for many over HTTP."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from flask import Flask

from ...retrieval.errors import ConfigError
from ...retrieval.index.local import open_index
from ...retrieval.terminal import say
from ..api import rankers
from ..settings import Config
from ..upkeep.logs import log_to_stderr
from .asking import Api
from .checking import Checker
from .gate import Gate
from .tools import AgentTools

if TYPE_CHECKING:
    from mcp.server import MCPServer

    from ...retrieval.index.local import Index

Factory = Callable[..., Flask]
"""Makes the application of a configuration and open indexes, as :func:`factseek.server.app.create_app` does."""
PATH = "/mcp"
"""Where the tools are over HTTP."""


def run_stdio(config: Config, verdicts: Path | None, create_app: Factory) -> None:
    """Offer the tools on standard input and output until that ends."""
    log_to_stderr()
    with opened(config, verdicts, create_app) as (server, _):
        server.run("stdio")


def run_http(config: Config, verdicts: Path | None, create_app: Factory, listener: socket.socket, url: str) -> None:
    """Offer the tools over HTTP on a bound socket, as streamable HTTP, until a signal stops it.

    Keys and rates are those of the server; a body is as long as one of its requests, at most.
    """
    import uvicorn

    log_to_stderr()
    with opened(config, verdicts, create_app) as (server, indexes):
        settings = config.server
        app = server.streamable_http_app(
            streamable_http_path=PATH,
            json_response=True,
            stateless_http=True,
            max_request_body_size=settings.max_body_bytes,
            host=settings.host,
        )
        gate = Gate(app, create_app(config, indexes), settings.threads)
        say(f"factseek offers its tools on {url}{PATH}")
        uvicorn.Server(uvicorn.Config(gate, log_level="warning", access_log=False)).run(sockets=[listener])


@contextmanager
def opened(config: Config, verdicts: Path | None, create_app: Factory) -> Iterator[tuple[MCPServer, dict[str, Index]]]:
    """Open the indexes and the models, and give the tools over them; close them afterwards.

    Raises ConfigError if no index is named; IndexStateError, SourceError or MachineError if one cannot be opened.
    """
    if not config.server.indexes:
        raise ConfigError("there is no index to search: name one under server.indexes, or with --index NAME=DIR")
    checker = Checker(verdicts, config)
    with ExitStack() as stack:
        indexes: dict[str, Index] = {
            name: stack.enter_context(open_index(folder, config)) for name, folder in config.server.indexes.items()
        }
        pool = stack.enter_context(ThreadPoolExecutor(config.server.threads, "tools"))
        app = create_app(_trusting(config), indexes, ranked_by=rankers.opened(config))
        yield AgentTools(Api(app), indexes, checker, pool).server(), indexes


def _trusting(config: Config) -> Config:
    """Return the configuration for asking within the process: who may ask was looked at before."""
    changes: dict[str, Any] = {"keys": {}, "per_minute": 0, "writes": False, "adapters": {}}
    return msgspec.structs.replace(config, server=msgspec.structs.replace(config.server, **changes))
