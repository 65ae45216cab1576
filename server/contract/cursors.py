"""Cursors: where a list of hits goes on, signed, so that nothing can be asked with one but what it was given for.

A cursor names a state of an index, or of several, a search and a place in its list. The key is made when the server
starts, before its workers, which share it: what one gives, another takes, and a server that was started anew takes none
of them.
"""

from __future__ import annotations

import hmac
import os
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from hashlib import blake2b
from operator import attrgetter
from struct import Struct
from typing import NamedTuple

import msgspec
from flask import Flask, current_app

from .errors import BadInput, RefusedError
from .requests import SearchManyRequest, SearchRequest

_LAYOUT = Struct(">4s16sI")
_STATE = 8
"""Bytes of the id of a manifest."""
_SIGNATURE = 16
_EXTENSION = "factseek.cursors"
_SHOWING = frozenset({"k", "hits", "qid", "offset", "cursor", "count", "facets", "highlight", "explain", "passages"})
"""What may change from page to page: how much of a list is shown, and what is said of it. All else makes the list."""
_MAKES_THE_LIST = {
    kind: attrgetter(*(name for name in kind.__struct_fields__ if name not in _SHOWING))
    for kind in (SearchRequest, SearchManyRequest)
}


class StaleCursorError(RefusedError):
    """The state of the index that a cursor goes on with is held no longer."""

    status, slug = 410, "stale-cursor"


class ListPlace(NamedTuple):
    """A place in a list of hits: the state of each index, a digest of indexes and search, the hits before it."""

    manifest_ids: tuple[str, ...]
    search: bytes
    offset: int


class Cursors:
    """Gives and takes cursors. Safe for threads and processes."""

    def __init__(self, key: bytes) -> None:
        """Sign with ``key``, 32 to 64 random bytes."""
        self._key = key
        self._name = blake2b(key, digest_size=4).digest()

    def give(self, place: ListPlace) -> str:
        """Return the cursor of a place, as an address can hold it."""
        states = b"".join(map(bytes.fromhex, place.manifest_ids))
        packed = _LAYOUT.pack(self._name, place.search, place.offset) + states
        return urlsafe_b64encode(packed + self._signature(packed)).decode()

    def take(self, cursor: str) -> ListPlace:
        """Return the place of a cursor.

        Raises BadInput if it is none, or was given by a server with another key.
        """
        try:
            content = urlsafe_b64decode(cursor.encode("ascii"))
        except ValueError:
            content = b""
        states = len(content) - _LAYOUT.size - _SIGNATURE
        if states < _STATE or states % _STATE:
            raise BadInput("cursor", "is no cursor; give back that of an answer as it is")
        packed, signature = content[:-_SIGNATURE], content[-_SIGNATURE:]
        name, search, offset = _LAYOUT.unpack(packed[: _LAYOUT.size])
        if name != self._name:
            raise BadInput("cursor", "was given before this server was started; begin again without it")
        if not hmac.compare_digest(signature, self._signature(packed)):
            raise BadInput("cursor", "was changed; give back that of an answer as it is")
        ids = (packed[start : start + _STATE].hex() for start in range(_LAYOUT.size, len(packed), _STATE))
        return ListPlace(tuple(ids), search, offset)

    def _signature(self, packed: bytes) -> bytes:
        return blake2b(packed, key=self._key, digest_size=_SIGNATURE).digest()


def new_key() -> bytes:
    """Return a key to sign with."""
    return os.urandom(32)


def register(app: Flask, key: bytes) -> None:
    """Let ``app`` sign its cursors with ``key``."""
    app.extensions[_EXTENSION] = Cursors(key)


def cursors() -> Cursors:
    """Return what gives and takes the cursors of the current application."""
    installed: Cursors = current_app.extensions[_EXTENSION]
    return installed


def digest(indexes: str | Mapping[str, float], asked: SearchRequest | SearchManyRequest) -> bytes:
    """Return a digest of the name of an index, or of several with their weights, and of what is asked of them."""
    search = msgspec.json.encode((indexes, _MAKES_THE_LIST[type(asked)](asked)), order="deterministic")
    return blake2b(search, digest_size=16).digest()
