"""Access: API keys, of which only hashes are configured, and rates that hold over all workers."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Mapping

from flask import Flask, g, request

from ..contract.dialects import dialect
from ..contract.errors import RefusedError
from ..settings import ServerSettings
from .rates import Rates

OPEN = ("/livez", "/readyz", "/metrics", "/static/")
"""Addresses that need no key: those of a server's monitoring, and those of the page that asks for the key."""
# Chromium looks at the first of the challenges in a line alone: a browser is to ask for a password.
_CHALLENGE = 'Basic realm="factseek", Bearer realm="factseek"'
_ASK: Mapping[str, str] = {"WWW-Authenticate": _CHALLENGE}


class UnknownKeyError(RefusedError):
    """No key was given, or none that is known."""

    status, slug = 401, "unauthorized"


class TooManyRequestsError(RefusedError):
    """A caller has asked as often as it may for now."""

    status, slug = 429, "too-many-requests"


def new_key() -> str:
    """Return a new key: 256 random bits."""
    return f"fs_{secrets.token_urlsafe(32)}"


def digest(key: str) -> str:
    """Return the hash of a key, for the configuration; a random key needs no salt and no slow hash."""
    return hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()


def register(app: Flask, settings: ServerSettings, rates: Rates | None) -> None:
    """Refuse requests to ``app`` without a known key or beyond the rate; without keys an address is a caller."""
    if not settings.keys and not settings.per_minute:
        return
    rates = rates or Rates(len(settings.keys))

    def check() -> None:
        if request.path.startswith(OPEN):
            return
        caller = _known(settings.keys) if settings.keys else f"address {request.remote_addr}"
        g.caller = caller
        if settings.per_minute:
            wait = rates.wait(caller, settings.per_minute)
            if wait:
                raise TooManyRequestsError(
                    f"at most {settings.per_minute} requests a minute are answered; wait {wait:.1f} seconds",
                    retry_after=wait,
                )

    app.before_request(check)


def _known(keys: Mapping[str, str]) -> str:
    """Return the name of the key that a request carries.

    Raises UnknownKeyError if it carries none that is known.
    """
    sent = digest(_sent_key())
    known_name = ""
    for name, held in keys.items():
        # All are compared, each in constant time: how long it takes says nothing.
        if hmac.compare_digest(sent, held):
            known_name = name
    if not known_name:
        raise UnknownKeyError("send a key that this server knows: Authorization: Bearer KEY", _ASK)
    return known_name


def _sent_key() -> str:
    """Return the key of a request, ``""`` if there is none.

    It is a bearer's, the password that a browser asks for, ``X-API-Key``, or where an adapter's clients put it.
    """
    scheme, _, value = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return value.strip()
    if scheme.lower() == "basic":
        try:
            return base64.b64decode(value, validate=True).decode().partition(":")[2]
        except ValueError:  # it is not base64, not ASCII, or not UTF-8 within
            return ""
    return request.headers.get("X-API-Key", "").strip() or _parameter()


def _parameter() -> str:
    spoken = dialect()
    return request.args.get(spoken.key_parameter, "") if spoken and spoken.key_parameter else ""
