"""API keys, of which only hashes are configured, and rate limits that apply across all workers."""

from __future__ import annotations

import base64
import fcntl
import hashlib
import hmac
import math
import mmap
import os
import secrets
import struct
import tempfile
import threading
import weakref
from collections.abc import Mapping
from pathlib import Path
from time import monotonic

from flask import Flask, g, request

from .errors import RefusedError, dialect
from .settings import ServerSettings

OPEN = ("/livez", "/readyz", "/metrics", "/static/")
"""Addresses that need no key: those for monitoring, and those of the page that asks for the key."""
# Chromium reads only the first challenge in a line; it must be Basic, so that browsers ask for a password.
_CHALLENGE = 'Basic realm="factseek", Bearer realm="factseek"'
_SEND_ONE = "send a key that this server knows: Authorization: Bearer KEY"
_ASK: Mapping[str, str] = {"WWW-Authenticate": _CHALLENGE}
_BUCKET = struct.Struct("16sdd")  # caller, remaining requests, time of that state
_LEAST = 1024
_PROBES = 16


class UnknownKeyError(RefusedError):
    """A request has no key, or an unknown one."""

    status, slug = 401, "unauthorized"


class TooManyRequestsError(RefusedError):
    """A caller has used up its requests for now."""

    status, slug = 429, "too-many-requests"


def new_key() -> str:
    """Return a new key: 256 random bits."""
    return f"fs_{secrets.token_urlsafe(32)}"


def digest(key: str) -> str:
    """Return the hash of a key, for the configuration. A random key needs no salt and no slow hash."""
    return hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()


def register(app: Flask, settings: ServerSettings, rates: Rates | None) -> None:
    """Refuse requests to ``app`` without a known key or above the rate limit. Without a key, the address is the caller.

    If documents may be written, reading needs no key, unless the server is private. Views that write call
    :func:`check_key`.
    """
    if not settings.keys and not settings.per_minute:
        return
    rates = rates or Rates(len(settings.keys))

    def check() -> None:
        if request.path.startswith(OPEN):
            return
        key = _sent_key() if settings.keys else ""
        if settings.keys and (key or settings.private or not settings.writes):
            g.key_name = _known(settings.keys, key)
        g.caller = caller = g.get("key_name") or f"address {request.remote_addr}"
        if settings.per_minute:
            wait = rates.wait(caller, settings.per_minute)
            if wait:
                raise TooManyRequestsError(
                    f"at most {settings.per_minute} requests a minute are answered; wait {wait:.1f} seconds",
                    retry_after=wait,
                )

    app.before_request(check)


def check_key() -> None:
    """Raise UnknownKeyError if the current request has no known key."""
    if not g.get("key_name"):
        raise UnknownKeyError(_SEND_ONE, _ASK)


def _known(keys: Mapping[str, str], key: str) -> str:
    """Return the name of a key.

    Raises UnknownKeyError if the key is unknown.
    """
    sent = digest(key)
    known_name = ""
    for name, held in keys.items():
        # Compare all keys, each in constant time, so that the duration reveals nothing.
        if hmac.compare_digest(sent, held):
            known_name = name
    if not known_name:
        raise UnknownKeyError(_SEND_ONE, _ASK)
    return known_name


def _sent_key() -> str:
    """Return the key of a request, ``""`` if there is none.

    The key is a bearer token, the password of basic authentication, ``X-API-Key``, or the parameter that an adapter's
    protocol uses.
    """
    scheme, _, value = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return value.strip()
    if scheme.lower() == "basic":
        try:
            return base64.b64decode(value, validate=True).decode().partition(":")[2]
        except ValueError:  # not base64, not ASCII, or not UTF-8 inside
            return ""
    if key := request.headers.get("X-API-Key", "").strip():
        return key
    spoken = dialect()
    return request.args.get(spoken.key_parameter, "") if spoken and spoken.key_parameter else ""


class Rates:
    """Counts the requests of each caller, safely for threads and processes. Create it before the workers fork.

    A file lock guards the memory. The system releases it if a worker that holds it is killed.
    """

    def __init__(self, callers: int = 0) -> None:
        self._buckets = max(_LEAST, 4 * callers)
        self._memory = mmap.mmap(-1, self._buckets * _BUCKET.size)
        self._lock, name = tempfile.mkstemp(prefix="factseek-rates-")
        Path(name).unlink()
        weakref.finalize(self, os.close, self._lock)
        self._threads = threading.Lock()

    def wait(self, caller: str, per_minute: int, now: float | None = None) -> float:
        """Count a request. Return 0 if it may be answered, else the seconds to wait.

        A caller may send ``per_minute`` requests at once, and regains that many evenly within a minute. ``now`` is in
        seconds of the monotonic clock, which all processes share.
        """
        now = monotonic() if now is None else now
        name = hashlib.blake2b(caller.encode("utf-8", "replace"), digest_size=16).digest()
        with self._threads:
            fcntl.lockf(self._lock, fcntl.LOCK_EX)
            try:
                place, left = self._bucket(name, per_minute, now)
                if left < 1.0:
                    return (1.0 - left) * 60.0 / per_minute
                _BUCKET.pack_into(self._memory, place, name, left - 1.0, now)
                return 0.0
            finally:
                fcntl.lockf(self._lock, fcntl.LOCK_UN)

    def _bucket(self, name: bytes, per_minute: int, now: float) -> tuple[int, float]:
        """Return the position of the caller's bucket, or of the least recently used one, and its remaining requests."""
        first = int.from_bytes(name[:4], "big")
        oldest, oldest_place = math.inf, 0
        for step in range(_PROBES):
            place = (first + step) % self._buckets * _BUCKET.size
            holder, left, since = _BUCKET.unpack_from(self._memory, place)
            if holder == name:
                return place, min(float(per_minute), left + (now - since) * per_minute / 60.0)
            if since < oldest:
                oldest, oldest_place = since, place
        return oldest_place, float(per_minute)
