"""Counts: the fields of a request, and the totals and facets of an answer."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal
from weakref import proxy

import numpy as np

from ..domain import FacetCounts, Filter, Total
from ..errors import QueryError
from ..filters import FIELDS
from ..store.columns import COUNTED, YEAR, Rows
from .collection_statistics import weighted_terms
from .evidence import AnswerPart
from .options import CountQuery

if TYPE_CHECKING:
    from .snapshot import Snapshot


USUAL_VALUES, MOST_VALUES = 10, 1_000  # the default and the largest number of values to return for a field
_DIGITS = re.compile(r"[0-9]{1,9}")


class TotalAnswer(AnswerPart):
    """The total number of hits before stages; ``of`` says what they are.

    ``matching`` hits contain a word of the query. ``rankable`` hits are all that the filter admits: a vector retriever
    ranks everything.
    """

    hits: int
    of: Literal["matching", "rankable"]


class FacetValue(AnswerPart):
    """A value of a field, and the number of documents that have it."""

    value: str
    count: int


class FacetAnswer(AnswerPart):
    """The values of a field among the documents of ``total``, without the filter's own condition on this field.

    A condition in the query itself (``syntax: query``) still applies to this field. The most frequent values come
    first, then the values of the filter. ``more`` is the number of values left out, ``missing`` the number of documents
    without a value. A document may have several values of a metadata field.
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
            raise QueryError(f"{text[:80]!r} is not of the form field=number, with a number from 1 to {MOST_VALUES}")
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


def describe_total(total: Total) -> str:
    """Return a total in words."""
    return f"{total.hits:,} that {'contain a word of the query' if total.matching else 'can be ranked'}"


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


REMEMBERED = 16
"""The number of queries whose matches stay in memory, a byte per passage, for later pages and other filters."""
_Key = tuple[str, tuple[str, ...], str, tuple[tuple[str, float], ...]]


class HitCounter:
    """Counts over one snapshot. It is safe for threads."""

    def __init__(self, snapshot: Snapshot) -> None:
        """Count over ``snapshot``, which owns this counter."""
        self._snapshot: Snapshot = proxy(snapshot)
        self._remembered: dict[_Key, Rows | None] = {}

    def count(self, question: CountQuery) -> Total:
        """Return the number of documents that a search can return, or of passages if passages are ranked."""
        matching, group = self._matching(question), question.resolved.settings.search.group
        rows = _both(matching, self._snapshot.mask(question.where))
        if rows is None:
            hits = self._snapshot.columns.size if group else len(self._snapshot.rows.docids)
        else:
            hits = int(np.count_nonzero(self._snapshot.columns.documents(rows) if group else rows))
        return Total(hits, matching is not None)

    def facets(self, question: CountQuery, fields: Mapping[str, int]) -> dict[str, FacetCounts]:
        """Count the documents of a query by the values of each field, without the filter's condition on that field."""
        columns, where, matching = self._snapshot.columns, question.where, self._matching(question)
        filtered = dict(where.values()) if where is not None else {}
        facets, masks = {}, {}
        for field, most in fields.items():
            others = _without(where, field) if where is not None else None
            if others not in masks:
                rows = _both(_both(matching, self._snapshot.mask(others)), self._snapshot.mask(question.typed))
                masks[others] = None if rows is None else columns.documents(rows)
            facets[field] = columns.facet(field, most, masks[others], filtered.get(field, ()))
        return facets

    def _matching(self, question: CountQuery) -> Rows | None:
        """Return the passages that match a query, whatever the filter; None means all, as for a vector retriever."""
        text, resolved = question.text, question.resolved
        key = (resolved.retriever, resolved.rankings, text, weighted_terms(text))
        with suppress(KeyError):
            return self._remembered[key]
        rows = self._snapshot.ranking(resolved.retriever, resolved.settings).matching(text)
        for old in list(self._remembered)[: len(self._remembered) + 1 - REMEMBERED]:
            self._remembered.pop(old, None)
        self._remembered[key] = rows
        return rows


def _without(where: Filter, field: str) -> Filter:
    """Return a filter without its condition on a field."""
    if field == YEAR:
        return where._replace(as_of="", since="")
    if field in FIELDS:
        condition: dict[str, Any] = {field: ()}
        return where._replace(**condition)
    return where._replace(metadata=tuple(each for each in where.metadata if each[0] != field))


def check_fields(fields: Mapping[str, int], declared: Sequence[str]) -> None:
    """Raise QueryError for a field that an index does not have, or if the number of values is out of range."""
    countable = (*COUNTED, *declared)
    for field, most in fields.items():
        if field not in countable:
            remedy = f"the fields are {', '.join(countable)}"
            raise QueryError(f"there is no field {field!r} to count", remedy=remedy, field="facets")
        if not 1 <= most <= MOST_VALUES:
            raise QueryError(f"{field}={most}: ask for 1 to {MOST_VALUES} values of a field", field="facets")


def _both(first: Rows | None, second: Rows | None) -> Rows | None:
    """Return the intersection of two masks; None means everything."""
    if first is None or second is None:
        return second if first is None else first
    both: Rows = first & second
    return both
