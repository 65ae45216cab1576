"""Calls back to whoever asked to be called, one after the other, beside the requests.

Only the addresses of ``server.callbacks`` are called: a server that sent requests to any address that a client names
could be made to reach what only it can reach. No redirection is followed, and a call is made once.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from queue import Full, Queue
from threading import Lock, Thread
from urllib.parse import quote, urlsplit

from flask import current_app

from ..contract.errors import BadInput, RefusedError
from ..upkeep.service import service

_EXTENSION = "factseek.alegre.callbacks"
_PATH = "/api/webhooks/alegre"
"""Where Check takes them, below its address."""
_MOST_WAITING = 1_000
_SECONDS = 10.0
_log = logging.getLogger("factseek.server")


class TooManyCallbacksError(RefusedError):
    """So many callbacks wait that no more are taken."""

    status, slug = 503, "overloaded"


class Callbacks:
    """The calls of one application; its thread starts with the first. Safe for threads."""

    def __init__(self, tokens: Mapping[str, str]) -> None:
        """Call the addresses of ``tokens``, each with the token that it wants."""
        self._tokens = {address.rstrip("/"): token for address, token in tokens.items()}
        self._waiting: Queue[tuple[str, bytes]] = Queue(_MOST_WAITING)
        self._lock = Lock()
        self._thread: Thread | None = None

    def address(self, wanted: str | None) -> str:
        """Return the address to call: the one that a client names, or the only one that may be called.

        Raises BadInput if none may, or it is to name one.
        """
        if wanted is None and len(self._tokens) == 1:
            return next(iter(self._tokens))
        address = (wanted or "").rstrip("/")
        if address not in self._tokens:
            raise BadInput(
                "callback_url", "is none that server.callbacks lets this server call; or send requires_callback: false"
            )
        return address

    def call(self, address: str, body: bytes) -> None:
        """Let an address be called with a JSON body, when those before it were.

        Raises TooManyCallbacksError if too many wait.
        """
        try:
            self._waiting.put_nowait((address, body))
        except Full:
            raise TooManyCallbacksError(f"{_MOST_WAITING} callbacks wait already; ask again", retry_after=1) from None
        with self._lock:
            if self._thread is None:
                self._thread = Thread(target=self._work, name="factseek-callbacks", daemon=True)
                self._thread.start()

    def _work(self) -> None:
        while True:
            address, body = self._waiting.get()
            try:
                status = _post(address, self._tokens[address], body)
            except (OSError, HTTPException, ValueError) as error:
                _log.warning("%s could not be called back: %s", address, error)
            else:
                if status >= 300:
                    _log.warning("%s was called back, and answered %d", address, status)


def callbacks() -> Callbacks:
    """Return what calls back for the current application."""
    tokens = service().config.server.callbacks
    installed: Callbacks = current_app.extensions.setdefault(_EXTENSION, Callbacks(tokens))
    return installed


def _post(address: str, token: str, body: bytes) -> int:
    """Return the status with which an address takes a JSON body."""
    parts = urlsplit(address)
    kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=_SECONDS)
    try:
        query = f"?token={quote(token, safe='')}" if token else ""
        connection.request("POST", f"{parts.path}{_PATH}{query}", body, {"Content-Type": "application/json"})
        return connection.getresponse().status
    finally:
        connection.close()
