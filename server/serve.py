"""Serve with gunicorn and its workers.

Before gunicorn forks the workers, check everything that the user can fix.

Each worker opens the indexes itself, because neither Java nor SQLite survives a fork.
"""

from __future__ import annotations

import math
import mimetypes
import os
import resource
import socket
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from gunicorn.app.base import BaseApplication

from ..cluster.ray_cluster import check as check_cluster
from ..core.errors import ConfigError
from ..core.terminal import say
from ..retrieval.encoders.endpoint import EndpointError
from ..retrieval.encoders.opening import SharedEncoders
from ..retrieval.lucene.jvm import anserini_jar, java_home
from ..retrieval.search.index import open_index
from ..retrieval.search.opening import published_file, read_published
from ..retrieval.store.manifest import SHARDS
from . import adapters
from .accepting import ConnectionCounts, Turns
from .api import rankers
from .app import create_app
from .auth import Rates
from .gateway import WSGI, Gateway
from .logs import log_to_stderr
from .metrics import Counts
from .routing import networks_of
from .runtime import REGISTRY, IndexRegistry, IndexReloader, Writers, checked_name
from .settings import Config, ServerSettings
from .worker import BACKLOG, STOP_MARGIN, EventWorker, HttpServer, server_of

_RESERVED_DESCRIPTORS = 256  # kept for indexes, templates and writers, but at most a quarter of all


def serve(config: Config) -> None:
    """Check the configured indexes and serve them until a signal, then exit with gunicorn's exit
    code.
    """
    check(config)
    listener = listen(config.server.host, config.server.port)
    FactseekServer(config, listener).run()


def check(config: Config) -> None:
    """Open and close everything once, so that an error appears before the workers start; raise this
    error.
    """
    if not config.server.indexes:
        raise ConfigError(
            "there is no index to serve: add one under server.indexes, or give --index NAME=DIR"
        )
    if config.server.writes and not config.server.keys:
        what = (
            "changes to an index need a key: create one with factseek key NAME, and add it "
            "under server.keys"
        )
        raise ConfigError(what, place="server.writes")
    adapters.check(config.server.adapters, config.server.indexes)
    networks_of(config.server.trusted_proxies)
    java_home()
    anserini_jar()
    encoders = SharedEncoders(config.encoder, only_configured=True)
    if config.cluster.address:
        check_cluster(config.cluster.address)
    for name, path in config.server.indexes.items():
        checked_name(name)
        folder = Path(path)
        if config.cluster.address and published_file(folder).name == SHARDS:
            from ..cluster.actors import try_to_open

            try_to_open(folder, config, config.cluster)
            manifest = read_published(folder)
        else:
            with open_index(folder, config) as index:
                manifest = index.info.published
        for made_by in manifest.encoders.values():
            # If necessary, this exports the model once, so that no worker has to. Words can be
            # searched without an endpoint.
            with suppress(EndpointError):
                encoders(made_by, folder)
    rankers.open_rankers(config, strict=True)
    rankers.open_verdicts(config, strict=True)


def listen(host: str, port: int) -> socket.socket:
    """Bind the address; port 0 takes a free port. Raise ConfigError if that fails."""
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, address = addresses[0]
        return socket.create_server(address, family=family, backlog=BACKLOG)
    except socket.gaierror:
        raise ConfigError(
            f"{host!r} is not an address of this machine", place="server.host"
        ) from None
    except OSError as error:
        reason = os.strerror(error.errno or 0).lower()
        what = f"cannot listen on {host} port {port}: {reason}"
        raise ConfigError(what, remedy="choose another --host or --port") from None


class FactseekServer(BaseApplication):  # type: ignore[misc]  # gunicorn has no types
    """gunicorn, configured only by factseek, with a socket that is already bound."""

    def __init__(self, config: Config, listener: socket.socket) -> None:
        self._config = config
        self._most_connections = most_connections(config.server)
        self._rates, self._counts = Rates(len(config.server.keys)), Counts()
        self._connections = ConnectionCounts(config.server.workers)
        # When this pipe closes, the writers know that the master and the workers have ended.
        self._lifeline = os.pipe() if config.server.writes else None
        self._url = url_of(listener)
        self._descriptor = listener.detach()
        super().__init__()

    def load_config(self) -> None:
        """Set gunicorn's settings."""
        settings = {
            "bind": f"fd://{self._descriptor}",
            "workers": self._config.server.workers,
            "worker_class": EventWorker,
            "threads": self._config.server.threads,
            "backlog": BACKLOG,
            "timeout": 120,
            "graceful_timeout": math.ceil(self._config.server.stop_seconds + STOP_MARGIN),
            "loglevel": "warning",
            "control_socket_disable": True,
            # A heartbeat, not data.
            "worker_tmp_dir": "/dev/shm" if takes_files("/dev/shm") else None,  # noqa: S108
            "post_worker_init": self._announce,
            "pre_fork": self._give_place,
            "child_exit": self._take_place,
        }
        for name, value in settings.items():
            self.cfg.set(name, value)

    def _give_place(self, arbiter: Any, worker: EventWorker) -> None:
        """Give a new worker a place among the connection counts that no living worker has."""
        taken = {other.place for other in arbiter.WORKERS.values()}
        free = (place for place in range(self._connections.places) if place not in taken)
        worker.place = next(free, 0)

    def _take_place(self, _: Any, worker: EventWorker) -> None:
        self._connections.end(worker.place)

    def _announce(self, worker: Any) -> None:
        if worker.age == 1:  # the first worker can answer
            say(f"factseek serves {', '.join(self._config.server.indexes)} on {self._url}")

    def load(self) -> Any:
        """Load the rankers, open the indexes and make the application. gunicorn calls this in each
        worker.
        """
        log_to_stderr()
        config = self._config
        app = create_app(
            config,
            {},
            self._rates,
            counts=self._counts,
            ranked_by=rankers.open_rankers(config),
            judged_by=rankers.open_verdicts(config),
        )
        registry: IndexRegistry = app.extensions[REGISTRY]
        if self._lifeline is not None:
            registry.writers = Writers(config, self._lifeline[0])
        self.reloader = IndexReloader(registry, config)
        self.reloader.start()
        # Read MIME types and templates before clients connect: connections take file descriptors.
        mimetypes.init()
        for name in app.jinja_env.list_templates():
            app.jinja_env.get_template(name)
        return app

    def server(
        self, application: WSGI, notify: Callable[[], object], place: int
    ) -> tuple[Gateway, HttpServer]:
        """Return the gateway to the application that :meth:`load` made, and the HTTP server of the
        worker at a place among the connection counts.
        """
        settings = self._config.server
        chosen = {name: adapters.ADAPTERS.load(name).adapter for name in settings.adapters}
        changing = (
            f"/{name}{address}" for name, adapter in chosen.items() for address in adapter.changes
        )
        gateway = Gateway(application, settings, changing)
        gateway.refused = lambda status: self._counts.add((("refused_total", status), 1))
        turns = Turns(self._connections, place) if settings.workers > 1 else None
        return gateway, server_of(gateway, self._most_connections, notify, turns=turns)


def most_connections(settings: ServerSettings) -> int:
    """Return how many connections a process may accept, after it allowed itself as many open files
    as possible.
    """
    most, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        most = hard
    if most == resource.RLIM_INFINITY:
        return settings.max_connections
    return min(settings.max_connections, most - min(_RESERVED_DESCRIPTORS, most // 4))


def takes_files(folder: str) -> bool:
    """Return whether a folder is writable."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def url_of(listener: socket.socket) -> str:
    """Return the URL of a bound socket, for a browser."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
