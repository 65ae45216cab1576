"""Splits of judged queries into parts that share no relevant document, so that the figures are not too high.

If two queries share a relevant document, a model that learned from one of them could recognise the document for the
other. A single feature, such as the length, can be enough for that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...retrieval.domain import Qrels
from ...retrieval.errors import QueryError
from .examples import Candidates

_MOST_SHARE = 0.5
"""The largest share of the queries that one group may have; with larger groups, folds would differ much in size."""
FOLDS = 10
"""The number of folds: one of them decides when to stop, and two judge the model."""
Rows = NDArray[np.intp]


class Folds(NamedTuple):
    """The row numbers of each fold's queries; ``grouped`` if queries that share a relevant document are together."""

    rows: list[Rows]
    grouped: bool


class Splits(NamedTuple):
    """The queries to learn from, to stop by and to judge by; ``grouped`` if no two parts share a relevant document."""

    learned: Sequence[Candidates]
    stopping: Sequence[Candidates]
    judging: Sequence[Candidates]
    grouped: bool


def folds_of(queries: int, folds: int, seed: int) -> list[Rows]:
    """Divide the numbers of queries, from 0, into folds drawn with ``seed``; the numbers in a fold ascend."""
    order = np.random.default_rng((seed, 4)).permutation(queries)
    return [np.sort(order[at::folds]) for at in range(folds)]


def grouped_folds(qrels: Qrels, folds: int, seed: int) -> Folds:
    """Divide queries, numbered in the order of ``qrels``, into folds that share no relevant document.

    If there are fewer groups than folds, or if one group has most of the queries, divide the queries one by one.
    """
    groups = _groups(qrels)
    sizes = np.bincount(groups)
    if len(sizes) < folds or sizes.max() > max(_MOST_SHARE * len(groups), 1):
        return Folds(folds_of(len(groups), folds, seed), False)
    return Folds([np.flatnonzero(np.isin(groups, part)) for part in folds_of(len(sizes), folds, seed)], True)


def _groups(qrels: Qrels) -> Rows:
    """Return the group number of each query; groups are numbered from 0 in the order of their first queries."""
    first_of: dict[str, int] = {}
    parents = list(range(len(qrels)))

    def root(query: int) -> int:
        while parents[query] != query:
            parents[query] = parents[parents[query]]
            query = parents[query]
        return query

    for query, grades in enumerate(qrels.values()):
        for docid, grade in grades.items():
            if grade > 0:
                first, second = root(first_of.setdefault(docid, query)), root(query)
                parents[max(first, second)] = min(first, second)
    numbers: dict[int, int] = {}
    return np.array([numbers.setdefault(root(query), len(numbers)) for query in range(len(qrels))], dtype=np.intp)


def split(candidates: Sequence[Candidates], qrels: Qrels, seed: int) -> Splits:
    """Split at random the queries that have a relevant document; raise QueryError if there are fewer than ten."""
    teaching = [candidate for candidate in candidates if candidate.relevant]
    if len(teaching) < FOLDS:
        raise QueryError(
            f"queries with a relevant document in the index: {len(teaching)}, but training needs {FOLDS}: "
            "to learn from, to decide when to stop, and to measure the result"
        )
    folds, grouped = grouped_folds({candidate.qid: qrels[candidate.qid] for candidate in teaching}, FOLDS, seed)
    stopping, first, second, *learned = ([teaching[row] for row in fold.tolist()] for fold in folds)
    return Splits([query for fold in learned for query in fold], stopping, first + second, grouped)
