"""Counts: the fields of a request, and the totals and facets of an answer."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple
from weakref import proxy

import numpy as np

from ..caching import remembered
from ..domain import FacetCounts, Filter, Total
from ..errors import QueryError
from ..store.columns import COUNTED, YEAR, Documents, Rows
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
    """Return the fields of ``FIELD=NUMBER`` or ``FIELD``, each with its number of values. Raises QueryError."""
    fields: dict[str, int] = {}
    for text in texts:
        field, separator, number = text.partition("=")
        if field in fields:
            raise QueryError(f"contains {field[:80]!r} twice")
        if separator and not (_DIGITS.fullmatch(number) and 1 <= int(number) <= MOST_VALUES):
            raise QueryError(f"{text[:80]!r} is not of the form field=number, of 1 to {MOST_VALUES} values")
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


def described(total: Total) -> str:
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
"""The number of queries and filters whose matches stay in memory, a byte per document: later pages repeat them."""
_Key = tuple[str, tuple[str, ...], str, tuple[tuple[str, float], ...], Filter]


class _Matches(NamedTuple):
    """The passages that match a query, and their documents, before the filter's conditions on documents apply.

    None means all of them. ``by_words`` says that each contains a word of the query.
    """

    rows: Rows | None
    documents: Documents | None
    by_words: bool


class HitCounter:
    """Counts over one snapshot. It is safe for threads."""

    def __init__(self, snapshot: Snapshot) -> None:
        """Count over ``snapshot``, which owns this counter."""
        self._snapshot: Snapshot = proxy(snapshot)
        self._remembered: dict[_Key, _Matches] = {}
        self._passing = remembered(REMEMBERED, self._passing_documents)

    def count(self, question: CountQuery) -> Total:
        """Return the number of documents that a search can return, or of passages if passages are ranked."""
        matches, passing = self._matching(question), self._passing(question.where, "")
        if question.resolved.settings.search.group:
            mask, size = _both(matches.documents, passing), self._snapshot.columns.size
        else:
            size = len(self._snapshot.rows.docids)
            admitted = None if passing is None else self._snapshot.columns.rows(passing)
            mask = _both(matches.rows, admitted)
        return Total(size if mask is None else int(np.count_nonzero(mask)), matches.by_words)

    def facets(self, question: CountQuery, fields: Mapping[str, int]) -> dict[str, FacetCounts]:
        """Count the documents of a query by the values of each field, without the filter's condition on that field."""
        columns, where = self._snapshot.columns, question.where
        matches, typed = self._matching(question), self._passing(question.typed, "")
        filtered = dict(where.values()) if where is not None else {}
        facets = {}
        for field, most in fields.items():
            dated = where is not None and bool(where.as_of or where.since)
            beside = field if field in filtered or (field == YEAR and dated) else ""
            mask = _both(_both(matches.documents, typed if beside else None), self._passing(where, beside))
            facets[field] = columns.facet(field, most, mask, filtered.get(field, ()))
        return facets

    def _passing_documents(self, where: Filter | None, beside: str) -> Documents | None:
        columns = self._snapshot.columns
        if where is None:
            return columns.passing(None, beside)
        excluded = {columns.owner(row) for docid in where.excluded for row in self._snapshot.rows_of(docid)}
        return columns.passing(where.of_documents, beside, sorted(excluded))

    def _matching(self, question: CountQuery) -> _Matches:
        text, resolved, where, _ = question
        of_words = where.of_words if where is not None else Filter()
        key = (resolved.retriever, resolved.rankings, text, weighted_terms(text), of_words)
        matches = self._remembered.get(key)
        if matches is None:
            rows = self._snapshot.ranking(resolved.retriever, resolved.settings).matching(text)
            by_words = rows is not None
            if of_words != Filter():
                rows = _both(rows, self._snapshot.mask(of_words))
            documents = None if rows is None else self._snapshot.columns.documents(rows)
            matches = _Matches(rows, documents, by_words)
            for old in list(self._remembered)[: len(self._remembered) + 1 - REMEMBERED]:
                self._remembered.pop(old, None)
            self._remembered[key] = matches
        return matches


def check_fields(fields: Mapping[str, int], declared: Sequence[str]) -> None:
    """Raise QueryError for a field that an index does not have, or for a wrong number of its values."""
    countable = (*COUNTED, *declared)
    for field, most in fields.items():
        if field not in countable:
            remedy = f"the fields are {', '.join(countable)}"
            raise QueryError(f"there is no field {field!r} to count", remedy=remedy, field="facets")
        if not 1 <= most <= MOST_VALUES:
            raise QueryError(f"{field}={most}: ask for 1 to {MOST_VALUES} values of a field", field="facets")


def _both(first: Documents | None, second: Documents | None) -> Documents | None:
    """Return the intersection of two masks; None means everything."""
    if first is None or second is None:
        return second if first is None else first
    both: Documents = first & second
    return both
