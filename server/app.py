"""The application factory."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from flask import Flask

from . import adapters, auth, errors, hooks, page, schemas, writing
from .api import openapi, rankers, routes
from .api.rankers import ServedRanker
from .auth import Rates
from .metrics import Counts
from .routing import Application, DocidConverter, behind
from .runtime import REGISTRY, IndexRegistry
from .settings import Config

if TYPE_CHECKING:
    from ..claims.verdicts.verdict import TrainedVerdicts
    from ..retrieval.search.index import Index


def create_app(
    config: Config,
    indexes: Mapping[str, Index],
    rates: Rates | None = None,
    *,
    counts: Counts | None = None,
    ranked_by: Mapping[str, ServedRanker] = MappingProxyType({}),
    judged_by: Mapping[str, TrainedVerdicts] = MappingProxyType({}),
) -> Flask:
    """Return the application that serves ``indexes``; raise ConfigError if an index name, adapter
    or proxy is wrong.
    """
    app = Application(page.__name__)
    registry = app.extensions[REGISTRY] = IndexRegistry(config, indexes, counts)
    registry.rankers, registry.verdicts = ranked_by, judged_by
    app.config["MAX_CONTENT_LENGTH"] = config.server.max_body_bytes
    app.config["MAX_FORM_MEMORY_SIZE"] = config.server.max_body_bytes
    app.config["SEND_FILE_MAX_AGE_DEFAULT"] = 3600
    app.jinja_env.trim_blocks = app.jinja_env.lstrip_blocks = True
    # A docid may contain any characters, also two slashes in a row.
    app.url_map.merge_slashes = False
    app.url_map.converters["docid"] = DocidConverter
    errors.register(app, page.problem_page)
    hooks.register(app, registry.counts, has_keys=bool(config.server.keys))
    auth.register(app, config.server, rates)
    for module in (routes, rankers, writing):
        module.api.install(app)
    for shown in (openapi, page):
        app.register_blueprint(shown.blueprint)
    adapters.install(app, config.server.adapters, {**config.server.indexes, **indexes})
    schemas.prepare()
    app.wsgi_app = behind(app.wsgi_app, config.server.trusted_proxies)  # type: ignore[method-assign]
    return app
