"""The options of a search that a library hands on as keyword arguments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..core.errors import QueryError
from ..retrieval.search.declared import offered_on
from ..retrieval.search.options import FilterRequest, WrittenOptions


def keyword_types() -> dict[str, tuple[Any, Any]]:
    """Return the type and the default value of each keyword argument.

    ``filter`` maps a field to its allowed value or values, and ``undated`` is a truth value.
    Choices are texts: the index refuses one that it does not know.
    """
    types: dict[str, tuple[Any, Any]] = {}
    for option in offered_on("libraries"):
        kind = str | None if option.choices else option.value_type
        types[option.name] = kind, option.default
    types["filter"] = dict[str, str | list[str]], {}
    types["undated"] = bool, False
    return types


def parse_choices(k: int | None, named: Mapping[str, Any]) -> WrittenOptions:
    """Return the options that are given as keyword arguments.

    Without ``k``, the configured number of hits applies. Raises QueryError if a number
    is out of range, a name is unknown, ``filter`` is not a mapping, or ``stages`` is a text.
    """
    names = [name for name in keyword_types() if name != "k"]
    unknown = sorted(named.keys() - set(names))
    if unknown:
        raise QueryError(
            f"there is no argument {unknown[0]!r}", remedy=f"use one of {', '.join(names)}"
        )
    allowed = named.get("filter", {})
    if not isinstance(allowed, Mapping) or isinstance(named.get("stages"), str):
        remedy = 'write filter={"kind": "cord19"}, stages=["rerank"]'
        raise QueryError("filter must be a mapping, and stages a list", remedy=remedy)
    values = {**named, "k": k}
    for option in offered_on("libraries"):
        value = values.get(option.name)
        if value is None:
            continue
        if option.is_list:
            value = values[option.name] = tuple(value)
        if option.is_number and (fault := option.fault(value)):
            raise QueryError(fault, field=option.name)
    # A dictionary, unlike other mappings, can be copied and pickled with the retriever.
    values["filter"] = FilterRequest(metadata=dict(allowed))
    values["undated"] = "keep" if named.get("undated") else "drop"
    return WrittenOptions(**values)


def pairs_of(choices: WrittenOptions) -> Iterator[str]:
    """Yield the filter as ``field=value`` pairs; raise QueryError if a value is not text, or a
    field has none.
    """
    allowed = choices.filter.metadata if isinstance(choices.filter, FilterRequest) else {}
    for name, admitted in allowed.items():
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
