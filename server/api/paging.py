"""The pages of a list of hits. A cursor says where a list continues.

It contains the number of hits before the page, a digest of the search, and the manifest id of each index.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b
from struct import Struct
from typing import Generic, TypeVar

import msgspec

from ..errors import BadInput
from ..runtime import ServedIndex, index_named
from ..schemas import CursorIfAny, SearchManyRequest, SearchRequest

_Asked = TypeVar("_Asked", SearchRequest, SearchManyRequest)
_HEAD = Struct(">I8s")
"""The number of hits before the page, and the digest of the search; the ids of the manifests follow."""
_ID = 8
"""Bytes of a manifest's id."""
_SHOWING = frozenset("k hits qid offset cursor count facets highlight explain passages parse".split())
"""Options that may change from page to page, because they do not change the list itself. All others define it."""
_CHANGED = "the index has changed since the previous page: hits may be repeated or missing"


@dataclass(frozen=True, slots=True)
class Page(Generic[_Asked]):
    """A request continued at its cursor, its indexes in order, and those that changed since the previous page."""

    served: dict[str, ServedIndex]
    asked: _Asked
    search: bytes
    """A digest of the options that define the list."""
    changed: frozenset[str] = frozenset()

    def cursor(self, hits: int) -> CursorIfAny:
        """Return the cursor for the hits after the first ``hits``; unset if no more may be requested."""
        if hits >= _most(self.served):
            return msgspec.UNSET
        ids = (bytes.fromhex(self.served[name].manifest_id) for name in sorted(self.served))
        return _text(_HEAD.pack(hits, self.search) + b"".join(ids))

    def note(self, note: str, name: str) -> str:
        """Return the note on a query, with a remark if an index has changed since the previous page."""
        return "; ".join(filter(None, (note, _CHANGED if name in self.changed else "")))


def resume(weights: Mapping[str, float], asked: _Asked) -> Page[_Asked]:
    """Return a request to weighted indexes, continued at its cursor.

    The last page ends at the most hits that a client may request, whatever the page size. Raises BadInput if the cursor
    is invalid, or belongs to another search.
    """
    served = {name: index_named(name) for name in weights}
    listed = [getattr(asked, name) for name in asked.__struct_fields__ if name not in _SHOWING]
    encoded = msgspec.json.encode((weights, listed), order="deterministic")
    page = Page(served, asked, blake2b(encoded, digest_size=8).digest())
    if not asked.cursor:
        return page
    if asked.offset:
        raise BadInput("offset", "cursor and offset exclude each other; leave out one of them")
    try:
        packed = urlsafe_b64decode(asked.cursor + "=" * (-len(asked.cursor) % 4))
    except ValueError:
        packed = b""
    ids = packed[_HEAD.size :]
    if not ids or len(ids) % _ID or _text(packed) != asked.cursor:
        raise BadInput("cursor", "is not a cursor; use the cursor of an answer unchanged")
    hits, made_for = _HEAD.unpack(packed[: _HEAD.size])
    if made_for != page.search or len(ids) != len(served) * _ID:
        raise BadInput("cursor", "belongs to another search or index; send it with the same search")
    most = _most(served)
    if hits >= most:
        raise BadInput("cursor", f"goes on after {hits} hits; this server answers the first {most}")
    then = [ids[start : start + _ID].hex() for start in range(0, len(ids), _ID)]
    changed = {name for name, id_ in zip(sorted(served), then, strict=True) if served[name].manifest_id != id_}
    k = asked.k or next(iter(served.values())).index.settings.search.k
    if k <= most:
        k = min(k, most - hits)
    return replace(page, asked=msgspec.structs.replace(asked, offset=hits, k=k), changed=frozenset(changed))


def _text(packed: bytes) -> str:
    return urlsafe_b64encode(packed).decode().rstrip("=")


def _most(served: Mapping[str, ServedIndex]) -> int:
    """Return how many hits may be requested from every one of these indexes."""
    return min(index.index.settings.search.max_k for index in served.values())
