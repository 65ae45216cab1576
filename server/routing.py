"""Addresses: docids in them, and how to write them for clients, which may be behind a proxy.

An answer contains the address, host or path that a client claims (``Host``, ``X-Forwarded-*``) only
if the client is a proxy in ``server.trusted_proxies``. Otherwise, the addresses in answers are the
server's own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Any
from urllib.parse import quote

from flask import Flask, Request, g
from flask.typing import ResponseReturnValue
from werkzeug.middleware.proxy_fix import ProxyFix
from werkzeug.routing import BaseConverter, MapAdapter

from ..core.errors import ConfigError, IndexStateError
from .call import current_call
from .runtime import is_replaced

# The key in the environ of a request whose headers come from a trusted proxy.
_BY_PROXY = "factseek.by_proxy"
_CALLER = re.compile(
    r"\[?((?:[0-9a-f]*:){2,}[0-9a-f.]*)(?:%\w+)?(?:\](?::\d+)?)?|([\d.]+)(?::\d+)?", re.I
)
"""The address of a caller, version 6 or 4, with its port."""
_SANE = {
    "HTTP_X_FORWARDED_PREFIX": re.compile(r"(/[A-Za-z0-9._~-]+)+/?|/"),
    "HTTP_X_FORWARDED_PROTO": re.compile(r"https?"),
    "HTTP_X_FORWARDED_HOST": re.compile(
        r"[A-Za-z0-9._-]+(:\d{1,5})?|\[[0-9a-fA-F:.]+\](:\d{1,5})?"
    ),
}
"""The valid values of each header; a header with any other value is ignored."""
WSGIApplication = Callable[..., Iterable[bytes]]


class DocidConverter(BaseConverter):
    """Matches a docid: the rest of an address, including slashes."""

    regex = r"[\s\S]+"
    part_isolating = False

    def to_url(self, value: str) -> str:
        """Return a docid as part of an address; escape slashes if a part is ``.`` or ``..``, which
        clients resolve.
        """
        dots = {".", ".."} & set(value.split("/"))
        return quote(value, safe="" if dots else "/")


class Application(Flask):
    """Flask that writes its addresses with its own host, unless a trusted proxy names another.

    If the index of a request was replaced while it was read, the new state answers the request.
    """

    def dispatch_request(self) -> ResponseReturnValue:
        """Return the result of the view.

        If an index was replaced meanwhile, call the view once more.
        """
        try:
            return super().dispatch_request()
        except IndexStateError:
            if g.get("changes") or not is_replaced():
                raise
        current_call().forget()
        return super().dispatch_request()

    def create_url_adapter(self, request: Request | None) -> MapAdapter | None:
        """Return the routes bound to a request, or None without one; raise BadHost if the client's
        host is invalid.
        """
        if request is None:
            return None
        environ = request.environ
        host, name, scheme = (
            environ.get("HTTP_HOST"),
            environ["SERVER_NAME"],
            environ["wsgi.url_scheme"],
        )
        adapter = self.url_map.bind(
            host or name,
            environ.get("SCRIPT_NAME", ""),
            url_scheme=scheme,
            default_method=environ["REQUEST_METHOD"],
            path_info=environ["PATH_INFO"].encode("latin-1").decode(errors="replace"),
            query_args=environ.get("QUERY_STRING", ""),
        )
        if not (host and _BY_PROXY in environ):
            port = environ["SERVER_PORT"]
            adapter.server_name = f"[{name}]" if ":" in name else name
            adapter.server_name += (
                "" if (scheme, port) in (("http", "80"), ("https", "443")) else f":{port}"
            )
        return adapter


def networks_of(addresses: Sequence[str]) -> list[IPv4Network | IPv6Network]:
    """Return the networks or single addresses of ``server.trusted_proxies``; raise ConfigError if
    one is invalid.
    """
    networks = []
    for address in addresses:
        try:
            networks.append(ip_network(address, strict=False))
        except ValueError:
            what, remedy = (
                "is not an address of a proxy",
                "write it as 10.0.0.1, 10.0.0.0/8 or fd00::/8",
            )
            raise ConfigError(
                f"{address[:80]!r} {what}", place="server.trusted_proxies", remedy=remedy
            ) from None
    return networks


def _address(caller: str) -> str:
    match = _CALLER.fullmatch(caller.strip())
    try:
        return str(ip_address(match[1] or match[2])) if match else ""
    except ValueError:
        return ""


def behind(application: WSGIApplication, addresses: Sequence[str]) -> WSGIApplication:
    """Return an application that trusts the headers of these proxies; in a chain, the farthest
    reports the caller.
    """
    networks = networks_of(addresses)

    def is_trusted(text: str) -> bool:
        try:
            address = ip_address(text.strip())
        except ValueError:
            return False
        mapped = getattr(address, "ipv4_mapped", None)
        return any((mapped or address) in network for network in networks)

    def believing(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        if not is_trusted(environ.get("REMOTE_ADDR", "")):
            return application(environ, start)
        for name, sane in _SANE.items():
            if not all(sane.fullmatch(value.strip()) for value in environ.get(name, "").split(",")):
                environ.pop(name, None)
        callers = list(map(_address, environ.get("HTTP_X_FORWARDED_FOR", "").split(",")))
        hops = 1
        while hops < len(callers) and is_trusted(callers[-hops]):
            hops += 1
        environ["HTTP_X_FORWARDED_FOR"] = ",".join(callers) if callers[-hops] else ""
        said = {
            f"x_{name}": min(
                hops, 1 + environ.get(f"HTTP_X_FORWARDED_{name.upper()}", "").count(",")
            )
            for name in ("for", "proto", "host", "prefix")
        }
        environ[_BY_PROXY] = True
        return ProxyFix(application, **said)(environ, start)

    return believing if networks else application
