"""Counts: the fields that are asked for, and the totals and facets that are answered."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal

from .domain import FacetCounts, Total
from .errors import QueryError
from .evidence import Answer

USUAL_VALUES, MOST_VALUES = 10, 1_000
"""Values of a field, if it is not said how many, and at most."""
_DIGITS = re.compile(r"[0-9]{1,9}")


class TotalAnswer(Answer):
    """How many hits there are in all, before stages; ``of`` says what they are.

    ``matching`` hits hold a word of the query; ``rankable`` ones are all that the filter admits: who ranks by meaning
    ranks everything, near or far.
    """

    hits: int
    of: Literal["matching", "rankable"]


class FacetValue(Answer):
    """A value of a field, and how many documents have it."""

    value: str
    count: int


class FacetAnswer(Answer):
    """The values of a field among the documents of ``total``, but for what the filter says of this field.

    What the query itself asks for (``syntax: query``) holds for this field, too.
    The most frequent come first, then what the filter admits. ``more`` values are not named, ``missing`` documents
    have none. A document may have several values of a field of its metadata.
    """

    values: list[FacetValue]
    more: int
    missing: int


def fields_of(asked: Sequence[str]) -> dict[str, int]:
    """Return the fields of ``FIELD=NUMBER`` or ``FIELD``, each with the number of values that is wanted.

    Raises QueryError if a field comes twice or its number is none.
    """
    fields: dict[str, int] = {}
    for text in asked:
        field, separator, number = text.partition("=")
        if field in fields:
            raise QueryError(f"names {field[:80]!r} twice")
        if separator and not (_DIGITS.fullmatch(number) and 1 <= int(number) <= MOST_VALUES):
            raise QueryError(f"{text[:80]!r} is not of the form field=number, of 1 to {MOST_VALUES} values")
        fields[field] = int(number) if separator else USUAL_VALUES
    return fields


def total_answer(total: Total) -> TotalAnswer:
    """Return a total as it is answered."""
    return TotalAnswer(hits=total.hits, of="matching" if total.matching else "rankable")


def facet_answers(facets: Mapping[str, FacetCounts]) -> dict[str, FacetAnswer]:
    """Return facets as they are answered."""
    return {
        field: FacetAnswer(
            values=[FacetValue(value=value, count=count) for value, count in facet.values],
            more=facet.more,
            missing=facet.missing,
        )
        for field, facet in facets.items()
    }


def described(total: Total) -> str:
    """Return a total in words."""
    return f"{total.hits:,} with a word of it" if total.matching else f"{total.hits:,} that can be ranked"


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
