"""Haystack's filters as choices of a search: comparisons of a document's fields, all of which must hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from haystack.errors import FilterError

from ._records import SearchChoices


class _Comparison(NamedTuple):
    """One comparison of a field of a document with a value."""

    field: str
    operator: str
    value: Any


def choices_of(filters: Mapping[str, Any] | None) -> SearchChoices:
    """Return the choices that express these filters.

    Raises FilterError if an index cannot express them: ``OR`` of different fields, ``NOT``, ``!=``.
    """
    values: dict[str, list[str]] = {}
    bounds: dict[str, str] = {}
    for comparison in _comparisons(filters or {}):
        if comparison.field == "date":
            name = _bound(comparison)
            if name in bounds:
                raise FilterError(
                    f"meta.date is bounded twice by {comparison.operator!r}; give the stricter bound alone"
                )
            bounds[name] = str(comparison.value)
        elif comparison.field in values:
            raise FilterError(f"meta.{comparison.field} is compared twice; use 'in' with all allowed values")
        else:
            values[comparison.field] = _values(comparison)
    return SearchChoices(filter=values, as_of=bounds.get("as_of", ""), since=bounds.get("since", ""))


def _comparisons(filters: Mapping[str, Any]) -> Iterator[_Comparison]:
    """Yield the comparisons of a filter, all of which must hold.

    Raises FilterError if ``filters`` is not a filter, or if its conditions are not joined by AND.
    """
    if not filters:
        return
    operator = str(filters.get("operator", ""))
    if "conditions" in filters:
        if operator != "AND":
            raise FilterError(f"operator {operator!r} is not supported; join conditions with 'AND'")
        for condition in filters["conditions"]:
            yield from _comparisons(condition)
        return
    missing = [name for name in ("field", "operator", "value") if name not in filters]
    if missing:
        raise FilterError(f"{missing[0]!r} is missing in the filter {dict(filters)!r}")
    yield _Comparison(str(filters["field"]).removeprefix("meta.").removeprefix("metadata."), operator, filters["value"])


def _bound(comparison: _Comparison) -> str:
    names = {"<=": "as_of", ">=": "since"}
    if comparison.operator not in names:
        raise FilterError(
            f"meta.date is compared by '<=' or '>=' with a day, month or year, not {comparison.operator!r}"
        )
    return names[comparison.operator]


def _values(comparison: _Comparison) -> list[str]:
    """Return the values that a field may have.

    Raises FilterError if the operator is neither ``==`` nor ``in``, or a value is not text.
    """
    several = comparison.operator == "in"
    if not several and comparison.operator != "==":
        raise FilterError(f"meta.{comparison.field} is compared by '==' or 'in', not {comparison.operator!r}")
    values = comparison.value if several and isinstance(comparison.value, list) else [comparison.value]
    if not values or not all(isinstance(value, str) for value in values):
        raise FilterError(
            f"meta.{comparison.field}: {comparison.value!r} is not text; "
            "give one text with '==', or a list of texts with 'in'"
        )
    return list(values)
