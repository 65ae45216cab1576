"""The application factory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from flask import Flask, Request
from werkzeug.routing import MapAdapter

from . import adapters, auth, errors, hooks, metrics, page, runtime, schemas, search, writing
from .api import docs, many, rankers, verdicts
from .api import routes as api
from .api.rankers import ServedRanker
from .api.verdicts import ServedVerdicts
from .auth import Rates
from .routing import DocidConverter, RememberingMap, behind
from .settings import Config

if TYPE_CHECKING:
    from ..retrieval.search.index import Index


class Application(Flask):
    """Flask without coroutine views: checking whether a view is a coroutine takes longer than calling it."""

    url_map_class = RememberingMap
    url_map: RememberingMap

    def create_url_adapter(self, request: Request | None) -> MapAdapter | None:
        """Return the routes bound to a request, or None without a request, because then no host is known."""
        return None if request is None else self.url_map.bound(request)

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
    """Return the WSGI application that serves ``indexes`` by name; ``rates`` counts for all workers.

    Raises ConfigError if an index has a name that cannot be served, there is no adapter of a name, or a proxy has no
    address.
    """
    app = Application(page.__name__)
    runtime.install(app, config, indexes)
    rankers.install(app, ranked_by)
    verdicts.install(app, judged_by)
    app.config["MAX_CONTENT_LENGTH"] = config.server.max_body_bytes
    app.config["MAX_FORM_MEMORY_SIZE"] = config.server.max_body_bytes
    app.config["SEND_FILE_MAX_AGE_DEFAULT"] = 3600
    app.jinja_env.trim_blocks = app.jinja_env.lstrip_blocks = True
    # A docid may hold anything, two slashes in a row too.
    app.url_map.merge_slashes = False
    app.url_map.converters["docid"] = DocidConverter
    errors.register(app, page.problem_page)
    hooks.register(app, config.server)
    search.register(app, config.server)
    metrics.register(app)
    auth.register(app, config.server, rates)
    for module in (api, many, rankers, writing, docs, page):
        app.register_blueprint(module.blueprint)
    adapters.install(app, config.server.adapters, {**config.server.indexes, **indexes})
    schemas.prepare()
    app.wsgi_app = behind(app.wsgi_app, config.server.trusted_proxies)  # type: ignore[method-assign]
    return app
