"""Counts: the fields of a request, and the totals and facets of an answer."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from ...core.domain import FacetCounts, Filter, Total
from ...core.errors import QueryError
from ..filters import FIELDS
from ..store.columns import COUNTED, YEAR, Passages
from .evidence import AnswerPart

# The default and the largest number of values to return for a field.
USUAL_VALUES, MOST_VALUES = 10, 1_000
_DIGITS = re.compile(r"[0-9]{1,9}")


class TotalAnswer(AnswerPart):
    """The total number of hits before stages; ``of`` says what they are.

    ``matching`` hits contain a word of the query. ``rankable`` hits are all that the filter admits:
    a vector retriever ranks everything.
    """

    hits: int
    of: Literal["matching", "rankable"]


class FacetValue(AnswerPart):
    """A value of a field, and the number of documents that have it."""

    value: str
    count: int


class FacetAnswer(AnswerPart):
    """The values of a field among the documents of ``total``, without the filter's own condition on
    this field.

    A condition in the query itself (``syntax: query``) still applies to this field. The most
    frequent values come first, then the values of the filter. ``more`` is the number of values left
    out, ``missing`` the number of documents without a value. A document may have several values of
    a metadata field.
    """

    values: list[FacetValue]
    more: int
    missing: int


def fields_of(texts: Sequence[str]) -> dict[str, int]:
    """Return the fields of ``FIELD=NUMBER`` or ``FIELD``, each with its number of values.

    Raises QueryError if a text has another form, or if a field appears twice.
    """
    fields: dict[str, int] = {}
    for text in texts:
        field, separator, number = text.partition("=")
        if field in fields:
            raise QueryError(f"contains {field[:80]!r} twice")
        if separator and not (_DIGITS.fullmatch(number) and 1 <= int(number) <= MOST_VALUES):
            raise QueryError(
                f"{text[:80]!r} is not of the form field=number, with a number from 1 to "
                f"{MOST_VALUES}"
            )
        fields[field] = int(number) if separator else USUAL_VALUES
    return fields


def total_answer(total: Total) -> TotalAnswer:
    """Return a total in the form of an answer."""
    return TotalAnswer(hits=total.hits, of="matching" if total.matching else "rankable")


def facet_answers(facets: Mapping[str, FacetCounts]) -> dict[str, FacetAnswer]:
    """Return facets in the form of an answer."""
    return {
        field: FacetAnswer(
            values=[FacetValue(value=value, count=count) for value, count in facet.values],
            more=facet.more,
            missing=facet.missing,
        )
        for field, facet in facets.items()
    }


def facet_lines(facets: Mapping[str, FacetCounts]) -> list[str]:
    """Return facets as lines of a table."""
    lines: list[str] = []
    for field, facet in facets.items():
        lines += [f"{field:12} {count:>9,}  {value}" for value, count in facet.values]
        if facet.more:
            lines.append(f"{field:12} {'':9}  and {facet.more:,} more")
        if facet.missing:
            lines.append(f"{field:12} {facet.missing:>9,}  (none)")
    return lines


def without(where: Filter, field: str) -> Filter:
    """Return a filter without its condition on a field."""
    if field == YEAR:
        return where._replace(as_of="", since="")
    if field in FIELDS:
        condition: dict[str, Any] = {field: ()}
        return where._replace(**condition)
    return where._replace(metadata=tuple(each for each in where.metadata if each[0] != field))


def check_fields(fields: Mapping[str, int], declared: Sequence[str]) -> None:
    """Raise QueryError for a field that an index does not have, or if the number of values is out
    of range.
    """
    countable = (*COUNTED, *declared)
    for field, most in fields.items():
        if field not in countable:
            remedy = f"the fields are {', '.join(countable)}"
            raise QueryError(f"there is no field {field!r} to count", remedy=remedy, field="facets")
        if not 1 <= most <= MOST_VALUES:
            raise QueryError(
                f"{field}={most}: ask for 1 to {MOST_VALUES} values of a field", field="facets"
            )


def both(first: Passages | None, second: Passages | None) -> Passages | None:
    """Return the intersection of two masks; None means everything."""
    if first is None or second is None:
        return second if first is None else first
    both: Passages = first & second
    return both
