"""Hooks around every request: a request id, headers that protect browsers, a line in the log, and
counts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from urllib.parse import unquote_to_bytes

from flask import Flask, Response, g, request
from flask.globals import request_ctx
from werkzeug.exceptions import NotFound

from .call import Call
from .errors import BadInput, RefusedError
from .memory import MEMORY
from .metrics import Counts
from .runtime import mark_failed, registry

# The key in the environ under which the gateway stores the error that refuses a request.
REFUSAL = "factseek.refusal"
# The key in the environ for the line that ends a stream which a stop cuts off.
LAST_LINE = "factseek.last_line"
_SANE = re.compile(r"[A-Za-z0-9._-]{1,64}")
PROTECTION = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; form-action "
        "'self'; base-uri 'none'; "
        "frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # The address of a search contains the query, which other sites must not see when a user follows
    # a link. With "no-referrer", browsers send "Origin: null" with the page's own forms over plain
    # HTTP.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


_POLICY = "Content-Security-Policy"
# Where there are keys, the page's script sends the key that a user typed into the page along with
# its requests.
PROTECTION_WITH_KEYS = {**PROTECTION, _POLICY: f"{PROTECTION[_POLICY]}; connect-src 'self'"}


def register(app: Flask, counts: Counts, *, has_keys: bool = False) -> None:
    """Give every request of ``app`` an id, and every answer its headers and its line in the log;
    count the answers.
    """
    app.before_request(_begin)
    app.after_request(partial(_finish, counts, PROTECTION_WITH_KEYS if has_keys else PROTECTION))


def _begin() -> None:
    noted, environ = g._get_current_object(), request.environ
    proposed = environ.get("HTTP_X_REQUEST_ID", "")
    request_id = proposed if _SANE.fullmatch(proposed) else ""
    noted.call = Call(registry(), request_id, environ.get(MEMORY))
    if REFUSAL in environ:
        raise environ[REFUSAL]
    # Invalid UTF-8 would be read as replacement characters, so different addresses would mean the
    # same document.
    try:
        environ["PATH_INFO"].encode("latin-1").decode()
    except UnicodeDecodeError:
        raise NotFound from None
    parameter = ""
    try:
        for parameter in environ.get("QUERY_STRING", "").split("&"):
            unquote_to_bytes(parameter.encode("latin-1")).decode()
    except UnicodeDecodeError:
        raise BadInput(
            parameter.partition("=")[0][:80], "is not UTF-8; percent-encode text as UTF-8"
        ) from None
    encoding = environ.get("HTTP_CONTENT_ENCODING", "").strip()
    if encoding.lower() not in ("", "identity"):
        reason = f"a body with Content-Encoding: {encoding[:40]} is not accepted; send it unencoded"
        raise RefusedError(reason, 415, "unsupported-media-type")


def _finish(counts: Counts, protection: Mapping[str, str], response: Response) -> Response:
    noted, answered = g._get_current_object(), request_ctx.request
    call: Call = noted.call
    response.headers.extend(protection)
    response.headers["X-Request-Id"] = call.request_id
    if noted.get("unanswerable"):
        mark_failed()
    method, status, route = (
        answered.method,
        response.status_code,
        answered.url_rule.rule if answered.url_rule else "-",
    )
    counts.add(
        (("requests_total", method, route, status), 1),
        *[(("errors_total", route, status), 1)] * (status >= 400),
    )

    def end() -> None:  # a streamed answer is complete only now
        seconds = call.seconds
        call.log(method, route, status, seconds, noted.get("caller"))
        counts.add(
            (("request_seconds", route), seconds),
            *(  # label by the kind of retriever, without its variant: there are few labels
                (
                    ("stage_seconds", search.retriever.partition(":")[0], route, stage),
                    getattr(search.took, stage) / 1000,
                )
                for search in call.searches
                for stage in search.took.__struct_fields__
            ),
        )

    response.call_on_close(end)
    return response
