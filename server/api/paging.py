"""The pages of a list of hits, and what is counted beside them, as a request asks for them.

A cursor says where a list goes on: behind how many hits, of which search, and of which manifest of each index.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from operator import attrgetter
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import msgspec

from ...retrieval.errors import QueryError
from ...retrieval.search.counting import facet_answers, fields_of, total_answer
from ...retrieval.search.options import Search
from ..errors import BadInput
from ..runtime import ServedIndex, index_named
from ..schemas import CursorIfAny, FacetsIfAsked, SearchManyRequest, SearchRequest, TotalIfAsked
from ..search import RankedEvidence

if TYPE_CHECKING:
    from ...retrieval.search.index import Index

_Asked = TypeVar("_Asked", SearchRequest, SearchManyRequest)
_HEAD = Struct(">I8s")
"""The hits before the page, and the digest of the search; the ids of the manifests follow."""
_ID = 8
"""Bytes of the id of a manifest."""
_SHOWING = frozenset({"k", "hits", "qid", "offset", "cursor", "count", "facets", "highlight", "explain", "passages"})
"""What may change from page to page: how much of a list is shown, and what is said of it. All else makes the list."""
_MAKES_THE_LIST = {
    kind: attrgetter(*(name for name in kind.__struct_fields__ if name not in _SHOWING))
    for kind in (SearchRequest, SearchManyRequest)
}
_CHANGED = "the index has changed since the page before this one: hits may come again or be left out"


class ResumedPage(NamedTuple):
    """A request, the index that it is answered from, and whether that has changed since its cursor was given."""

    served: ServedIndex
    asked: SearchRequest
    changed: bool = False

    def cursor(self, search: Search, result: RankedEvidence) -> CursorIfAny:
        """Return what asks for the hits that follow; nothing after the last."""
        return self.cursor_after(search.offset + len(result.hits)) if result.more else msgspec.UNSET

    def cursor_after(self, hits: int) -> CursorIfAny:
        """Return what asks for the hits that follow the first ``hits``; nothing where no more may be asked for."""
        return _cursor([self.served], _digest(self.served.name, self.asked), hits)


def resume(name: str, asked: SearchRequest) -> ResumedPage:
    """Return a request with the place that its cursor stands for, and the index.

    Raises BadInput if the cursor is none, or belongs to another search.
    """
    served = index_named(name)
    if not asked.cursor:
        return ResumedPage(served, asked)
    asked, changed = _resumed(asked, _digest(name, asked), [served])
    return ResumedPage(served, asked, bool(changed))


class ResumedPages(NamedTuple):
    """A request to several indexes, each with its weight, and those that have changed since its cursor was given."""

    served: dict[str, ServedIndex]
    weights: dict[str, float]
    asked: SearchManyRequest
    changed: frozenset[str] = frozenset()

    def cursor(self, shown: int, *, more: bool) -> CursorIfAny:
        """Return what asks for the hits that follow those that are shown; nothing after the last."""
        if not more:
            return msgspec.UNSET
        return _cursor(_in_order(self.served), _digest(self.weights, self.asked), self.asked.offset + shown)


def resume_many(weights: dict[str, float], asked: SearchManyRequest) -> ResumedPages:
    """Return a request to several indexes with the place that its cursor stands for, and the indexes.

    Raises what :func:`begun` raises.
    """
    served = {name: index_named(name) for name in weights}
    if not asked.cursor:
        return ResumedPages(served, weights, asked)
    asked, changed = _resumed(asked, _digest(weights, asked), _in_order(served))
    return ResumedPages(served, weights, asked, changed)


def note_of(note: str, *, changed: bool) -> str:
    """Return the note on a query, with a word on an index that has changed since the page before."""
    return "; ".join(filter(None, (note, _CHANGED if changed else "")))


def _in_order(served: Mapping[str, ServedIndex]) -> list[ServedIndex]:
    return [served[name] for name in sorted(served)]


def _digest(indexes: str | Mapping[str, float], asked: SearchRequest | SearchManyRequest) -> bytes:
    """Return a digest of the name of an index, or of several with their weights, and of what is asked of them."""
    search = msgspec.json.encode((indexes, _MAKES_THE_LIST[type(asked)](asked)), order="deterministic")
    return blake2b(search, digest_size=8).digest()


def _cursor(served: Sequence[ServedIndex], search: bytes, hits: int) -> CursorIfAny:
    if hits >= _most(served):
        return msgspec.UNSET
    return _written(_HEAD.pack(hits, search) + b"".join(bytes.fromhex(index.manifest_id) for index in served))


def _written(packed: bytes) -> str:
    return urlsafe_b64encode(packed).decode().rstrip("=")


def _resumed(asked: _Asked, search: bytes, served: Sequence[ServedIndex]) -> tuple[_Asked, frozenset[str]]:
    """Return a request with the place of its cursor, and the names of the indexes that have changed since.

    The last page ends where no more may be asked for, however large the pages are.
    """
    if asked.offset:
        raise BadInput("offset", "a cursor says already where the list goes on; leave out one of them")
    try:
        packed = urlsafe_b64decode(asked.cursor + "=" * (-len(asked.cursor) % 4))
    except ValueError:
        packed = b""
    ids = packed[_HEAD.size :]
    if not ids or len(ids) % _ID or _written(packed) != asked.cursor:
        raise BadInput("cursor", "is no cursor; give back that of an answer as it is")
    hits, made_for = _HEAD.unpack(packed[: _HEAD.size])
    if made_for != search or len(ids) != len(served) * _ID:
        raise BadInput("cursor", "was given for another search or index; send it with what it was given for")
    most = _most(served)
    if hits >= most:
        raise BadInput("cursor", f"goes on after {hits} hits; this server answers the first {most}")
    then = [ids[start : start + _ID].hex() for start in range(0, len(ids), _ID)]
    changed = (index.name for index, id_ in zip(served, then, strict=True) if index.manifest_id != id_)
    k = asked.k or served[0].index.settings.search.k
    if k <= most:
        k = min(k, most - hits)
    return msgspec.structs.replace(asked, offset=hits, k=k), frozenset(changed)


def _most(served: Sequence[ServedIndex]) -> int:
    """Return how many hits may be asked of every one of these indexes."""
    return min(index.index.settings.search.max_k for index in served)


def counts(index: Index, asked: SearchRequest, text: str, search: Search) -> tuple[TotalIfAsked, FacetsIfAsked]:
    """Return what a request asks to be counted of the hits of ``text``.

    Raises BadInput, naming the field, if that cannot be.
    """
    if not (asked.count or asked.facets):
        return msgspec.UNSET, msgspec.UNSET
    try:
        fields = asked.facets if isinstance(asked.facets, dict) else fields_of(asked.facets)
        facets = index.facets(text, fields, search)
    except QueryError as error:
        raise BadInput("facets", error.line) from None
    total = total_answer(index.count(text, search))
    return total, facet_answers(facets) if asked.facets else msgspec.UNSET
