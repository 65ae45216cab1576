"""The routes of the application, which remember what the addresses led to that were asked for lately.

Most requests ask for the same few addresses, that of a search above all. To find the route of one takes werkzeug a
twentieth of a search's whole request; no route depends on the host that a client names.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from flask import Request
from werkzeug.exceptions import BadHost
from werkzeug.routing import Map, MapAdapter, Rule

REMEMBERED = 1024
"""Addresses that are remembered; they are forgotten together."""
_LONGEST = 200
"""Characters of an address that is remembered: one that holds a long docid seldom comes again."""


class RememberingMap(Map):
    """A map of routes that remembers what addresses led to. Safe for threads, once all routes are there."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.remembered: dict[tuple[str, str], tuple[Rule, Mapping[str, Any]]] = {}

    def bound(self, request: Request) -> BoundRoutes:
        """Return the routes as they are for a request.

        Raises BadHost if the host that the client names cannot be one.
        """
        environ = request.environ
        path = environ["PATH_INFO"].encode("latin-1").decode(errors="replace")
        host = _checked(environ.get("HTTP_HOST") or environ["SERVER_NAME"])
        place = (host, environ.get("SCRIPT_NAME", ""), "", environ["wsgi.url_scheme"])
        return BoundRoutes(self, *place, path, environ["REQUEST_METHOD"], environ.get("QUERY_STRING", ""))


class BoundRoutes(MapAdapter):
    """The routes as they are for one request."""

    map: RememberingMap

    def match(self, *args: Any, **options: Any) -> Any:
        """Return what werkzeug returns: the route and the values in the address, if ``return_rule``.

        Raises what werkzeug raises, of which nothing is remembered.
        """
        if args or options != {"return_rule": True}:
            return super().match(*args, **options)
        remembered, address = self.map.remembered, (self.default_method, self.path_info)
        matched = remembered.get(address)
        if matched is None:
            matched = super().match(return_rule=True)
            if len(remembered) >= REMEMBERED:
                remembered.clear()
            if len(self.path_info) <= _LONGEST:
                remembered[address] = matched
        rule, values = matched
        return rule, dict(values)


@lru_cache(maxsize=64)
def _checked(host: str) -> str:
    """Return a host as werkzeug has it in an address."""
    try:
        return host.lower().encode("idna").decode("ascii")
    except UnicodeError:
        raise BadHost from None
