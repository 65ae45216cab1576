"""The records between an index and an integration: the choices of a search, and its hits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec

from ..retrieval.errors import QueryError

FilterValues = Mapping[str, str | Sequence[str]]
"""The allowed value or values of each filtered field."""


class SearchChoices(NamedTuple):
    """The choices of a search; fields that are left out follow the index's configuration.

    ``filter`` maps a field, named as in ``factseek search --filter``, to its admitted value or values. ``as_of`` and
    ``since`` are days, months or years, both inclusive.
    """

    k: int | None = None
    retriever: str | None = None
    filter: FilterValues = MappingProxyType({})
    as_of: str = ""
    since: str = ""
    undated: bool = False
    profile: str | None = None
    stages: Sequence[str] | None = None
    collapse: str | None = None

    def pairs(self) -> list[str]:
        """Return the filter as ``field=value`` pairs.

        Raises QueryError if a value is not text.
        """
        return list(_pairs(self.filter))


def chosen(k: int, named: Mapping[str, Any]) -> SearchChoices:
    """Return the choices that are given as keyword arguments.

    Raises QueryError if ``k`` is below 1, a name is unknown, or a choice that needs several values is a single text.
    """
    names = [name for name in SearchChoices._fields if name != "k"]
    unknown = sorted(named.keys() - set(names))
    if unknown:
        raise QueryError(f"there is no argument {unknown[0]!r}", remedy=f"use one of {', '.join(names)}")
    if not isinstance(named.get("filter", {}), Mapping) or isinstance(named.get("stages"), str):
        raise QueryError("filter and stages are not texts", remedy='write filter={"kind": "cord19"}, stages=["rerank"]')
    if k < 1:
        raise QueryError(f"k {k} is out of range", remedy="give a number, 1 or more")
    return SearchChoices(k=k, **named)


def _pairs(values: FilterValues) -> Iterator[str]:
    for name, admitted in values.items():
        for value in [admitted] if isinstance(admitted, str) else admitted:
            if not isinstance(value, str):
                raise QueryError(f"filter {name}: {value!r} is not text", remedy="give a text, or a list of texts")
            yield f"{name}={value}"


class RankOfRetriever(msgspec.Struct, frozen=True):
    """The rank (from 1) and the score that a retriever gave a hit."""

    rank: int
    score: float


class PassageOfHit(msgspec.Struct, frozen=True):
    """The best passage of a hit; ``start`` and ``end`` are offsets in the document, ``highlights`` in the passage."""

    number: int
    start: int
    end: int
    text: str
    highlights: list[tuple[int, int]] = []


class RankedPassage(msgspec.Struct, frozen=True):
    """A hit with everything that a library keeps of it, from a server or from an open index.

    Fields that a later server adds are ignored.
    """

    rank: int
    docid: str
    score: float
    passage: PassageOfHit
    title: str = ""
    url: str = ""
    date: str = ""
    language: str = ""
    source: str = ""
    topic: str = ""
    kind: str = ""
    metadata: dict[str, Any] = {}
    retrievers: dict[str, RankOfRetriever] = {}

    def facts(self) -> dict[str, Any]:
        """Return everything but the text, as plain values for a library's metadata; leave out unknown values."""
        texts = {name: getattr(self, name) for name in TEXT_FIELDS if getattr(self, name)}
        return {
            "docid": self.docid,
            "rank": self.rank,
            "score": self.score,
            **texts,
            "passage": self.passage.number,
            "start": self.passage.start,
            "end": self.passage.end,
            "highlights": [list(stretch) for stretch in self.passage.highlights],
            "retrievers": msgspec.to_builtins(self.retrievers),
            "metadata": dict(self.metadata),
        }


TEXT_FIELDS = ("title", "url", "date", "language", "source", "topic", "kind")
"""The fields of a hit that are texts and may be unknown."""
