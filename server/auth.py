"""API keys and rate limits.

The configuration has only hashes of the keys. All workers share the limits.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import math
import secrets
import struct
from collections.abc import Mapping
from time import monotonic

from flask import Flask, g, has_request_context, request

from .errors import RefusedError, dialect, is_for_person
from .memory import SharedMemory
from .settings import KEY_PREFIX, ServerSettings

# Addresses that need no key: monitoring, and files of the page.
OPEN = ("/livez", "/readyz", "/metrics", "/static/")
# Chromium reads only the first challenge in a line. Basic comes first, so that browsers ask for a
# password.
_BEARER = 'Bearer realm="factseek"'
_CHALLENGE = f'Basic realm="factseek: any user name, the key as password", {_BEARER}'
# The page at which the browser itself asks for the key; elsewhere, a form of the page asks.
ASKING_PAGE = "page.key_page"
_BUCKET = struct.Struct("16sdd")  # caller, remaining requests, time of that state
_LEAST = 1024
_PROBES = 16


def new_key() -> str:
    """Return a new key: 256 random bits."""
    return f"{KEY_PREFIX}{secrets.token_urlsafe(32)}"


def digest(key: str) -> str:
    """Return the hash of a key, for the configuration.

    A random key needs no salt and no slow hash.
    """
    return hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()


def register(app: Flask, settings: ServerSettings, rates: Rates | None) -> None:
    """Let ``app`` refuse requests above the rate limit and, if keys are configured, requests
    without a known key.

    The caller is the name of the key, or the address if no known key was sent. If the server allows
    changes and is not private, reading needs no key. The views that write check the key themselves.
    """
    if not settings.keys and not settings.per_minute:
        return
    rates = rates or Rates(len(settings.keys))

    def check() -> None:
        if request.path.startswith(OPEN):
            return
        key = _sent_key() if settings.keys else ""
        if settings.keys and not key and (settings.private or not settings.writes):
            raise make_unauthorized()
        name = _name_of(key, settings.keys) if key else ""
        g.caller = name or f"address {request.remote_addr}"
        # A wrong key counts too, towards the rate of its address: else keys could be tried without
        # limit.
        wait = rates.wait(g.caller, settings.per_minute) if settings.per_minute else 0.0
        if wait:
            reason = (
                f"at most {settings.per_minute} requests a minute are answered; wait "
                f"{wait:.1f} seconds"
            )
            raise RefusedError(reason, 429, "too-many-requests", retry_after=wait)
        if key and not name:
            raise make_unauthorized()
        if name:
            g.key_name = name

    app.before_request(check)


def _name_of(key: str, keys: Mapping[str, str]) -> str:
    """Return the name under which the configuration has a key, or ""."""
    sent = digest(key)
    # Compare all keys, each in constant time, so that the duration reveals nothing.
    known = [name for name, held in keys.items() if hmac.compare_digest(sent, held)]
    return known[-1] if known else ""


def key_name() -> str:
    """Return the name of the key that the current request has sent, ``""`` if it has no known
    key.
    """
    name: str = g.get("key_name", "")
    return name


def check_key() -> None:
    """Raise RefusedError if the current request, which changes something, has no known key."""
    g.changes = True
    if not g.get("key_name"):
        raise make_unauthorized()


def make_unauthorized() -> RefusedError:
    """Return the error for a request without a known key."""
    reason = "send a key that this server knows: Authorization: Bearer KEY"
    challenge = _BEARER if has_request_context() and _is_asked_by_form() else _CHALLENGE
    return RefusedError(reason, 401, "unauthorized", headers={"WWW-Authenticate": challenge})


def _is_asked_by_form() -> bool:
    """Return whether the answer to the current request is a page whose form asks for the key.

    A browser that sends a key by itself must be told that the key is wrong, and would not show the
    form.
    """
    by_itself = request.headers.get("Authorization", "").lower().startswith("basic")
    is_view = request.method in ("GET", "HEAD") and request.endpoint != ASKING_PAGE
    return is_view and not by_itself and is_for_person()


def is_known(authorization: str, api_key: str, keys: Mapping[str, str]) -> bool:
    """Return whether these headers of a request have one of the keys."""
    key = _key_in(authorization, api_key)
    return bool(key and _name_of(key, keys))


def _key_in(authorization: str, api_key: str) -> str:
    """Return the key in two headers of a request, ``""`` if there is none."""
    scheme, _, value = authorization.partition(" ")
    if scheme.lower() == "bearer":
        return value.strip()
    if scheme.lower() == "basic":
        try:
            return base64.b64decode(value, validate=True).decode().partition(":")[2]
        except ValueError:  # not base64, not ASCII, or not UTF-8 inside
            return ""
    return api_key.strip()


def _sent_key() -> str:
    headers = request.headers
    authorization = headers.get("Authorization", "")
    if key := _key_in(authorization, headers.get("X-API-Key", "")):
        return key
    if authorization.partition(" ")[0].lower() in ("bearer", "basic"):
        return ""
    spoken = dialect()
    return request.args.get(spoken.key_parameter, "") if spoken and spoken.key_parameter else ""


class Rates:
    """Counts the requests of each caller, safely for threads and processes.

    Create it before the workers fork.
    """

    def __init__(self, callers: int = 0) -> None:
        self._buckets = max(_LEAST, 4 * callers)
        self._shared = SharedMemory(self._buckets * _BUCKET.size)

    def wait(self, caller: str, per_minute: int, now: float | None = None) -> float:
        """Count a request.

        Return 0 if it may be answered, else the seconds to wait; all processes share a clock.
        """
        now = monotonic() if now is None else now
        name = hashlib.blake2b(caller.encode("utf-8", "replace"), digest_size=16).digest()
        first = int.from_bytes(name[:4], "big")
        places = [(first + step) % self._buckets * _BUCKET.size for step in range(_PROBES)]
        with self._shared.lock() as memory:
            buckets = [(place, *_BUCKET.unpack_from(memory, place)) for place in places]
            # The caller's own bucket, else the least recently used one.
            own = (bucket for bucket in buckets if bucket[1] == name)
            place, holder, left, since = next(own, None) or min(
                buckets, key=lambda bucket: bucket[3]
            )
            left = min(
                float(per_minute),
                left + (now - since) * per_minute / 60.0 if holder == name else math.inf,
            )
            if left < 1.0:
                return (1.0 - left) * 60.0 / per_minute
            _BUCKET.pack_into(memory, place, name, left - 1.0, now)
            return 0.0
