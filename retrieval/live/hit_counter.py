"""The counter of hits: how many a search has in all, and how they spread over the values of a field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple
from weakref import ref

import numpy as np

from ..counting import MOST_VALUES
from ..domain import FacetCounts, Filter, Total
from ..errors import QueryError
from ..index_state import Question
from ..remembered import remembered
from .columns import COUNTED, YEAR, Documents, Rows

if TYPE_CHECKING:
    from .snapshot import Snapshot

REMEMBERED = 16
"""Queries and filters whose documents are remembered, a byte each: whoever pages or filters asks for the same again."""


_Key = tuple[str, tuple[str, ...], str, Filter]


class _Matches(NamedTuple):
    """The passages, and their documents, that can be found for a query whatever its filter says of documents.

    None: all of them. ``by_words`` says that they hold a word of the query.
    """

    rows: Rows | None
    documents: Documents | None
    by_words: bool


class HitCounter:
    """Counts over one snapshot. Safe for threads."""

    def __init__(self, snapshot: Snapshot) -> None:
        """Count over ``snapshot``, which holds this counter."""
        self._owner = ref(snapshot)
        self._remembered: dict[_Key, _Matches] = {}
        self._passing = remembered(REMEMBERED, self._passing_documents)

    @property
    def _snapshot(self) -> Snapshot:
        snapshot = self._owner()
        if snapshot is None:
            raise LookupError("the snapshot is gone")
        return snapshot

    def count(self, question: Question) -> Total:
        """Return how many documents, or passages where these are ranked, can be found for a text."""
        resolved, where = question.resolved, question.where
        matches, passing = self._matching(question), self._passing(where, "")
        if resolved.settings.search.group:
            mask, size = _both(matches.documents, passing), self._snapshot.columns.size
        else:
            size = len(self._snapshot.rows.docids)
            admitted = None if passing is None else self._snapshot.columns.rows(passing)
            mask = _both(matches.rows, admitted)
        return Total(size if mask is None else int(np.count_nonzero(mask)), matches.by_words)

    def facets(self, question: Question, fields: Mapping[str, int]) -> dict[str, FacetCounts]:
        """Count the documents of a text by the values of each field, without what the filter says of that field.

        What the query itself asks for holds all the same.
        """
        columns, where = self._snapshot.columns, question.where
        matches, typed = self._matching(question), self._passing(question.typed, "")
        filtered = dict(where.values()) if where is not None else {}
        facets = {}
        for field, most in fields.items():
            beside = field if field in filtered or (field == YEAR and _dated(where)) else ""
            mask = _both(_both(matches.documents, typed if beside else None), self._passing(where, beside))
            facets[field] = columns.facet(field, most, mask, filtered.get(field, ()))
        return facets

    def _passing_documents(self, where: Filter | None, beside: str) -> Documents | None:
        if where is None:
            return self._snapshot.columns.passing(None, beside)
        snapshot = self._snapshot
        excluded = [snapshot.columns.owner(row) for docid in where.excluded for row in snapshot.rows_of(docid)]
        return snapshot.columns.passing(where.of_documents, beside, sorted(set(excluded)))

    def _matching(self, question: Question) -> _Matches:
        text, resolved, where, _ = question
        of_words = where.of_words if where is not None else Filter()
        key = (resolved.retriever, resolved.rankings, text, of_words)
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
    """Check what is to be counted in an index whose documents declare fields.

    Raises QueryError if there is no such field, or too many or too few values of it are wanted.
    """
    countable = (*COUNTED, *declared)
    for field, most in fields.items():
        if field not in countable:
            raise QueryError(f"there is no field {field!r} to count", remedy=f"there are {', '.join(countable)}")
        if not 1 <= most <= MOST_VALUES:
            raise QueryError(f"{field}={most}: ask for 1 to {MOST_VALUES} values of a field")


def _dated(where: Filter | None) -> bool:
    return where is not None and bool(where.as_of or where.since)


def _both(first: Documents | None, second: Documents | None) -> Documents | None:
    """Return what is in both masks; None is all."""
    if first is None or second is None:
        return second if first is None else first
    both: Documents = first & second
    return both
