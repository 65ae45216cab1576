"""The cut of a ranking after ``k`` hits, which respects the total order of
:mod:`factseek.core.order`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import compress, count, islice
from operator import eq
from typing import NamedTuple

from ...core.domain import Hit


class Rows(NamedTuple):
    """The docid and the passage number of each row, over all segments."""

    docids: Sequence[str]
    numbers: Sequence[int]
    split: bool
    """Whether any document has more than one passage."""


Fetch = Callable[[int], tuple[list[float], list[int]]]
"""A function that returns scores and rows of the best ``n`` passages, or of all if there are fewer,
best first.
"""


def top_k(fetch: Fetch, k: int, rows: Rows, *, group: bool) -> list[Hit]:
    """Return the first ``k`` hits of the total order; ``fetch`` may return equal scores in any
    order.

    It fetches a few more than ``k``. As long as the last score could tie with the k-th, it doubles
    the number. With ``group``, a document's best passage represents the document.
    """
    grouped, n = group and rows.split, first_fetch(k, rows, group=group)
    scores, row_numbers = fetch(n)
    while len(scores) >= n and not _is_settled(scores, row_numbers, k, rows.docids, grouped):
        n *= 2
        scores, row_numbers = fetch(n)
    order_ties(scores, row_numbers, rows)
    if grouped:
        scores, row_numbers = first_of_each(scores, row_numbers, rows.docids)
    return hits_of(scores[:k], row_numbers[:k], rows)


def hits_of(scores: Sequence[float], row_numbers: Sequence[int], rows: Rows) -> list[Hit]:
    """Return the hits of rows with their scores."""
    docids = map(rows.docids.__getitem__, row_numbers)
    if rows.split:
        return list(map(Hit, docids, scores, map(rows.numbers.__getitem__, row_numbers)))
    return list(map(Hit, docids, scores))


def first_fetch(k: int, rows: Rows, *, group: bool) -> int:
    """Return the number of passages that :func:`top_k` fetches first."""
    # A few extra passages settle nearly every tie at the cut, and cost less than a second fetch.
    return (3 * k if group and rows.split else k) + k // 32 + 1


def _is_settled(
    scores: list[float], row_numbers: list[int], k: int, docids: Sequence[str], grouped: bool
) -> bool:
    if not grouped:
        return scores[-1] < scores[k - 1]
    seen: set[str] = set()
    for score, row in zip(scores, row_numbers, strict=True):
        seen.add(docids[row])
        if len(seen) == k:
            return scores[-1] < score
    return False


def order_ties(scores: list[float], row_numbers: list[int], rows: Rows) -> None:
    """Sort rows of equal score, which are adjacent, into the total order, in place."""
    docids, end = rows.docids, 0
    for start in compress(count(), map(eq, scores, islice(scores, 1, None))):
        if start < end:
            continue
        end = start + 2
        while end < len(scores) and scores[end] == scores[start]:
            end += 1
        if end - start == 2 and docids[row_numbers[start]] > docids[row_numbers[start + 1]]:
            continue  # most ties are pairs, and half of these are already in order
        tied = row_numbers[start:end]
        if rows.split:
            tied.sort(key=rows.numbers.__getitem__)
        tied.sort(key=docids.__getitem__, reverse=True)
        row_numbers[start:end] = tied


def first_of_each(
    scores: list[float], row_numbers: list[int], docids: Sequence[str]
) -> tuple[list[float], list[int]]:
    """Return the first row of each document, with its score."""
    first: dict[str, int] = {}
    for at, row in enumerate(row_numbers):
        first.setdefault(docids[row], at)
    kept = list(first.values())
    return [scores[at] for at in kept], [row_numbers[at] for at in kept]
