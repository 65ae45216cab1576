"""Turn every error into an HTTP answer: ``application/problem+json``, or a page for a browser.

Below an adapter's prefix, an error has the shape of the adapter's protocol. ``error`` is a slug for
programs, ``detail`` a sentence for people. An answer never contains a path or a stack trace.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping
from http import HTTPStatus
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol, Self

import msgspec
from flask import Flask, Response, current_app, g, request
from werkzeug.exceptions import HTTPException

from ..core.errors import FactseekError, NotFoundError, PartMissingError, QueryError
from ..retrieval.encoders.endpoint import EndpointError

if TYPE_CHECKING:
    from .adapters import Adapter

RETRY_AFTER = 5.0  # seconds after which a client may search an unavailable index again
# The key in app.extensions for the Adapter of each prefix of addresses.
DIALECTS = "factseek.dialects"
_PAGE = "factseek.problem_page"
_HTTP = {
    400: ("bad-input", "the request is invalid"),
    404: ("not-found", "there is nothing at this address"),
    405: ("method-not-allowed", "this address does not accept the method of the request"),
    413: ("too-large", "the body of the request is larger than this server accepts"),
    415: ("unsupported-media-type", "send the body as application/json"),
    500: ("internal", "an internal error occurred; see the server's log under this request id"),
    503: (
        "unavailable",
        "this index cannot be searched at the moment; the server's log gives the reason",
    ),
}
_NO_ENDPOINT = (
    "the endpoint that encodes queries does not answer as it should; search with the retriever "
    "bm25, or try again later"
)
TITLES = {
    "bad-input": "The request is invalid",
    "dropped": "The earlier version is gone",
    "internal": "The server failed",
    "method-not-allowed": "Method not allowed",
    "no-room": "No room on the disk",
    "not-found": "Not found",
    "not-written": "Not written",
    "precondition-failed": "The document does not match the condition",
    "stopping": "The server is stopping",
    "timed-out": "The request took too long",
    "too-large": "Too large",
    "too-many-requests": "Too many requests",
    "unauthorized": "A key is needed",
    "writes-off": "This server is read-only",
    "has-shards": "This index is read-only",
    "unavailable": "The resource is unavailable at the moment",
    "unknown-document": "No such document",
    "unknown-index": "No such index",
    "unknown-job": "No such job",
    "unknown-ranker": "No such ranker",
    "unsupported-media-type": "Unsupported media type",
}
_log = logging.getLogger("factseek.server")


class BadInput(QueryError):
    """A field of a request is invalid."""

    def __init__(self, field: str, reason: str, unnamed: str = "") -> None:
        """Take the client's name of the field, or ``body``.

        The page shows ``unnamed``, a reason without this name.
        """
        super().__init__(f"{field}: {reason}")
        self.field = field
        self.unnamed = unnamed or reason


class RefusedError(FactseekError):
    """The server refuses a request.

    The client may retry after ``retry_after`` seconds; 0: the status's default.
    """

    status, slug = 503, "unavailable"

    def __init__(
        self,
        message: str,
        status: int = 0,
        slug: str = "",
        *,
        headers: Mapping[str, str] = MappingProxyType({}),
        retry_after: float = 0.0,
    ) -> None:
        super().__init__(message)
        self.status, self.slug = status or self.status, slug or self.slug
        self.headers = headers
        self.retry_after = retry_after


class OverloadedError(RefusedError):
    """The server has more requests than it can answer."""

    slug = "overloaded"

    def __init__(self, message: str = "the server is busy; try again") -> None:
        super().__init__(message, retry_after=1)


class StoppingError(RefusedError):
    """The server stops before it has answered the request."""

    slug = "stopping"

    def __init__(self) -> None:
        super().__init__("the server is stopping; send the request again", retry_after=1)


class UnknownIndexError(NotFoundError):
    """The server serves no index with this name."""

    slug = "unknown-index"


class UnknownRankerError(NotFoundError):
    """The server serves no ranker with this name."""

    slug = "unknown-ranker"


class Problem(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """An error in the format of a problem document (RFC 9457)."""

    error: str
    title: str
    status: int
    detail: str
    request_id: str
    field: str | msgspec.UnsetType = msgspec.UNSET


class Failure(Protocol):
    """An error in the format of another protocol; :meth:`of` makes one from a problem."""

    @classmethod
    def of(cls, problem: Problem) -> Self:
        """Return ``problem``, which already has the status of the other protocol, in this
        format.
        """
        ...


def dialect() -> Adapter | None:
    """Return the adapter of the current request's address, or None for factseek's own API."""
    adapters: Mapping[str, Adapter] = current_app.extensions.get(DIALECTS, {})
    return adapters.get(request.path.partition("/")[2].partition("/")[0])


def register(app: Flask, page: Callable[[Problem], str]) -> None:
    """Let :func:`answer` answer every error of ``app``; ``page`` makes the page for a browser."""
    app.extensions[_PAGE] = page
    app.register_error_handler(Exception, answer)


def answer(error: Exception) -> Response | HTTPException:
    """Return the answer to an error.

    Log an error of the server; an unexpected error's message is only in the log.
    """
    if isinstance(error, HTTPException) and (error.code or 500) < 400:
        return error
    problem, spoken = problem_of(error, g.call.request_id), dialect()
    # Opening the index again would not restore a part.
    g.unanswerable = is_of_index(error) and not isinstance(error, PartMissingError | EndpointError)
    log_failure(error, problem)
    if spoken is not None:
        # An unknown address is 404 in every protocol, even if the protocol has another status for
        # unknown names.
        own = (
            problem.status
            if problem.error == "not-found"
            else spoken.statuses.get(problem.status, problem.status)
        )
        body = msgspec.json.encode(spoken.failure.of(msgspec.structs.replace(problem, status=own)))
        response = Response(body, own, mimetype="application/json")
    elif is_for_person():
        response = Response(
            current_app.extensions[_PAGE](problem), problem.status, mimetype="text/html"
        )
    else:
        response = Response(
            msgspec.json.encode(problem), problem.status, mimetype="application/problem+json"
        )
    seconds = RETRY_AFTER if problem.status == 503 else 0.0
    if isinstance(error, RefusedError):
        response.headers.update(error.headers)
        seconds = error.retry_after or seconds
    if seconds:
        response.headers["Retry-After"] = str(math.ceil(seconds))
    if isinstance(error, HTTPException) and error.code == 405:
        response.headers["Allow"] = dict(error.get_headers()).get("Allow", "")
    return response


def is_for_person() -> bool:
    """Return whether a person reads the answer to the current request, in a browser."""
    if dialect() is not None or request.path.startswith(("/v1/", "/livez", "/readyz")):
        return False
    offered = ["application/json", "text/html"]
    return request.accept_mimetypes.best_match(offered, "application/json") == "text/html"


def log_failure(error: Exception, problem: Problem) -> None:
    """Log an error of the server, which became a problem; an error of the client is not logged."""
    if problem.status < 500:
        return
    reason = error.line if isinstance(error, FactseekError) else "unexpected error"
    if isinstance(error, EndpointError):
        reason = error.reason  # without the endpoint's words, which may repeat the query
    level = logging.INFO if isinstance(error, OverloadedError) else logging.ERROR
    trace = None if isinstance(error, FactseekError) else error
    _log.log(level, "%s %s", problem.request_id, reason, exc_info=trace)


def is_of_index(error: Exception) -> bool:
    """Return whether an index failed: the error is neither of the client nor a refusal."""
    expected = (QueryError, NotFoundError, RefusedError)
    return isinstance(error, FactseekError) and not isinstance(error, expected)


def problem_of(error: Exception, request_id: str) -> Problem:
    """Return an error as the client may see it, without paths and without the message of an
    unexpected error.
    """
    status, (slug, detail) = 500, _HTTP[500]
    field = error.field if isinstance(error, BadInput) else msgspec.UNSET
    if isinstance(error, HTTPException):
        status = error.code or 500
        slug, detail = slug_of(status), _HTTP[status][1] if status in _HTTP else error.name.lower()
    elif isinstance(error, QueryError):
        status, slug, detail = 400, "bad-input", error.line
    elif isinstance(error, NotFoundError):
        status, slug, detail = 404, getattr(error, "slug", "unknown-document"), error.line
    elif isinstance(error, RefusedError):
        status, slug, detail = error.status, error.slug, error.line
    elif isinstance(error, EndpointError):
        status, slug, detail = 503, "unavailable", _NO_ENDPOINT
    elif isinstance(error, FactseekError):
        status, (slug, detail) = 503, _HTTP[503]
        detail = error.line if isinstance(error, PartMissingError) else detail
    title = TITLES.get(slug, slug.replace("-", " ").capitalize())
    return Problem(
        error=slug, title=title, status=status, detail=detail, request_id=request_id, field=field
    )


def slug_of(status: int) -> str:
    """Return the ``error`` slug of a status that has no error class."""
    return (
        _HTTP[status][0] if status in _HTTP else HTTPStatus(status).phrase.lower().replace(" ", "-")
    )
