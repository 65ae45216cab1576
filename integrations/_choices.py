"""The choices of a search that a library hands on as keyword arguments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from ..core.errors import QueryError


class SearchChoices(NamedTuple):
    """The choices of a search; a choice that is left out has the configured value.

    ``filter`` maps a field to its allowed value or values; fields are those of ``factseek search
    --filter``. ``as_of`` and ``since`` are days, months or years, both inclusive.
    """

    k: int | None = None
    retriever: str | None = None
    filter: Mapping[str, str | Sequence[str]] = MappingProxyType({})
    as_of: str = ""
    since: str = ""
    undated: bool = False
    profile: str | None = None
    stages: Sequence[str] | None = None
    collapse: str | None = None

    def pairs(self) -> Iterator[str]:
        """Yield the filter as ``field=value`` pairs; raise QueryError if a value is not text, or a
        field has none.
        """
        for name, admitted in self.filter.items():
            if not admitted:
                raise QueryError(
                    f"filter {name} is empty", remedy="give a value, or leave the field out"
                )
            for value in [admitted] if isinstance(admitted, str) else admitted:
                if not isinstance(value, str):
                    raise QueryError(
                        f"filter {name}: {value!r} is not text",
                        remedy="give a text, or a list of texts",
                    )
                yield f"{name}={value}"


def parse_choices(k: int, named: Mapping[str, Any]) -> SearchChoices:
    """Return the choices that are given as keyword arguments.

    Raises QueryError if ``k`` is below 1, a name is unknown, ``filter`` is not a mapping, or
    ``stages`` is a text.
    """
    names = [name for name in SearchChoices._fields if name != "k"]
    unknown = sorted(named.keys() - set(names))
    if unknown:
        raise QueryError(
            f"there is no argument {unknown[0]!r}", remedy=f"use one of {', '.join(names)}"
        )
    if not isinstance(named.get("filter", {}), Mapping) or isinstance(named.get("stages"), str):
        remedy = 'write filter={"kind": "cord19"}, stages=["rerank"]'
        raise QueryError("filter must be a mapping, and stages a list", remedy=remedy)
    if k < 1:
        raise QueryError(f"k {k} is out of range", remedy="give a number, 1 or more")
    # A dictionary, unlike other mappings, can be copied and pickled with the retriever.
    return SearchChoices(k=k, **{**named, "filter": dict(named.get("filter", {}))})
