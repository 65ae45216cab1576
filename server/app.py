"""The application factory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from flask import Flask, Request
from werkzeug.routing import MapAdapter

from . import adapters, auth, errors, hooks, metrics, page, schemas, writing
from .api import openapi, rankers, routes
from .api.rankers import RANKERS, ServedRanker
from .api.verdicts import VERDICTS, ServedVerdicts
from .auth import Rates
from .routing import DocidConverter, RememberingMap, behind
from .runtime import REGISTRY, IndexRegistry
from .search import BESIDE
from .settings import Config

if TYPE_CHECKING:
    from ..retrieval.search.index import Index


class Application(Flask):
    """Flask without coroutine views: checking whether a view is a coroutine takes longer than calling it."""

    url_map_class = RememberingMap
    url_map: RememberingMap

    def create_url_adapter(self, request: Request | None) -> MapAdapter | None:
        """Return the routes bound to a request, or None without a request, because then no host is known."""
        return None if request is None else self.url_map.bind_routes(request)

    def ensure_sync(self, func: Callable[..., Any]) -> Callable[..., Any]:
        """Return ``func`` unchanged."""
        return func


def create_app(
    config: Config,
    indexes: Mapping[str, Index],
    rates: Rates | None = None,
    *,
    ranked_by: Mapping[str, ServedRanker] = MappingProxyType({}),
    judged_by: Mapping[str, ServedVerdicts] = MappingProxyType({}),
) -> Flask:
    """Return the application that serves ``indexes``; raise ConfigError if an index name, adapter or proxy is wrong."""
    app = Application(page.__name__)
    app.extensions[REGISTRY] = IndexRegistry(config, indexes)
    app.extensions[RANKERS] = ranked_by
    app.extensions[VERDICTS] = judged_by
    app.extensions[BESIDE] = ThreadPoolExecutor(config.server.threads, "search")
    app.config["MAX_CONTENT_LENGTH"] = config.server.max_body_bytes
    app.config["MAX_FORM_MEMORY_SIZE"] = config.server.max_body_bytes
    app.config["SEND_FILE_MAX_AGE_DEFAULT"] = 3600
    app.jinja_env.trim_blocks = app.jinja_env.lstrip_blocks = True
    # A docid may contain any characters, also two slashes in a row.
    app.url_map.merge_slashes = False
    app.url_map.converters["docid"] = DocidConverter
    errors.register(app, page.problem_page)
    hooks.register(app, config.server)
    metrics.register(app)
    auth.register(app, config.server, rates)
    for module in (routes, rankers, writing, openapi, page):
        app.register_blueprint(module.blueprint)
    app.register_blueprint(routes.many)
    adapters.install(app, config.server.adapters, {**config.server.indexes, **indexes})
    schemas.prepare()
    app.wsgi_app = behind(app.wsgi_app, config.server.trusted_proxies)  # type: ignore[method-assign]
    return app
