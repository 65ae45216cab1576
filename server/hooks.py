"""Hooks around every request: a request id, headers that protect browsers, and a line in the log."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Iterable
from functools import partial
from time import perf_counter
from typing import Any
from urllib.parse import unquote_to_bytes

from flask import Flask, Response, g, request
from flask.globals import request_ctx
from werkzeug.exceptions import NotFound

from .errors import BadInput, RefusedError
from .runtime import mark_failed
from .settings import ServerSettings

_access = logging.getLogger("factseek.access")
REFUSAL = "factseek.refusal"
"""The key in the environ under which the gateway stores the error that refuses a request."""
_SANE = re.compile(r"[A-Za-z0-9._-]{1,64}")
PROTECTION = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # The address of a search contains the query, which other sites must not see when a user follows a link. With
    # "no-referrer", browsers send "Origin: null" with the page's own forms over plain HTTP.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


def register(app: Flask, settings: ServerSettings) -> None:
    """Give every request of ``app`` an id, and every answer its headers and its line in the log."""
    app.before_request(_begin)
    app.after_request(partial(_finish, settings.log_queries))
    application, headers = app.wsgi_app, list(PROTECTION.items())

    def protected(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        # Adding the protective headers here costs least.
        return application(environ, lambda status, own, *error: start(status, own + headers, *error))

    app.wsgi_app = protected  # type: ignore[assignment, method-assign]  # as Flask's documentation shows


def _begin() -> None:
    noted, environ = g._get_current_object(), request.environ
    noted.began = perf_counter()
    proposed = environ.get("HTTP_X_REQUEST_ID", "")
    noted.request_id = proposed if _SANE.fullmatch(proposed) else os.urandom(16).hex()
    if REFUSAL in environ:
        raise environ[REFUSAL]
    # Invalid UTF-8 would be read as replacement characters, so different addresses would mean the same document.
    try:
        environ["PATH_INFO"].encode("latin-1").decode()
    except UnicodeDecodeError:
        raise NotFound from None
    parameter = ""
    try:
        for parameter in environ.get("QUERY_STRING", "").split("&"):
            unquote_to_bytes(parameter.encode("latin-1")).decode()
    except UnicodeDecodeError:
        raise BadInput(parameter.partition("=")[0][:80], "is not UTF-8; percent-encode text as UTF-8") from None
    encoding = environ.get("HTTP_CONTENT_ENCODING", "").strip()
    if encoding.lower() not in ("", "identity"):
        reason = f"a body with Content-Encoding: {encoding[:40]} is not accepted; send it unencoded"
        raise RefusedError(reason, 415, "unsupported-media-type")


def _finish(log_queries: bool, response: Response) -> Response:
    noted, answered = g._get_current_object(), request_ctx.request
    began = noted.began
    response.headers["X-Request-Id"] = noted.request_id
    if noted.get("unanswerable"):
        mark_failed()
    fields = {
        "method": answered.method,
        # The log has the route, not the address, because an address may contain a query.
        "route": answered.url_rule.rule if answered.url_rule else "-",
        "status": response.status_code,
        "request_id": noted.request_id,
    }
    if "caller" in noted:
        fields["caller"] = noted.caller
    if log_queries and "queries" in noted:
        fields["queries"] = noted.queries

    def log() -> None:
        milliseconds = (perf_counter() - began) * 1000
        line = (fields["method"], fields["route"], fields["status"], milliseconds, fields["request_id"])
        _access.info("%s %s %d %.1f ms %s", *line, extra={"fields": {**fields, "milliseconds": round(milliseconds, 2)}})

    response.call_on_close(log)
    return response
