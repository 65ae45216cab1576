"""Claims that are kept in one part of several, because a model that learned from one knows the other."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence

from .domain import Claim

_WORD = re.compile(r"[^\W_]+(?:['’.,][^\W_]+)*")
_NEAR = 0.5
"""Of the words of two claims together, the share in common that makes them near-duplicates."""


def groups(claims: Sequence[Claim]) -> list[int]:
    """Return a number for each claim, the same for claims that share a page of evidence or are near-duplicates.

    A claim that is put the other way round ("lowers" for "raises") is a near-duplicate.
    """
    sets = _Sets(len(claims))
    first: dict[Hashable, int] = {}
    for row, claim in enumerate(claims):
        for page in {docid for group in claim.groups for docid, _ in group}:
            sets.join(row, first.setdefault(page, row))
    for row, other in _near([frozenset(_WORD.findall(claim.text.lower())) for claim in claims]):
        sets.join(row, other)
    return [sets.of(row) for row in range(len(claims))]


def _near(words: Sequence[frozenset[str]]) -> Iterable[tuple[int, int]]:
    """Yield the pairs of near-duplicates; only claims that share a word are compared."""
    holders: dict[str, list[int]] = defaultdict(list)
    for row, mine in enumerate(words):
        shared: dict[int, int] = defaultdict(int)
        for word in mine:
            for other in holders[word]:
                shared[other] += 1
        for other, common in shared.items():
            if common >= _NEAR * (len(mine) + len(words[other]) - common):
                yield row, other
        for word in mine:
            holders[word].append(row)


class _Sets:
    """Disjoint sets of rows, each named by its first."""

    def __init__(self, number: int) -> None:
        self._parents = list(range(number))

    def of(self, row: int) -> int:
        """Return the first row of a row's set."""
        while self._parents[row] != row:
            self._parents[row] = row = self._parents[self._parents[row]]
        return row

    def join(self, row: int, other: int) -> None:
        """Make two sets one."""
        low, high = sorted((self.of(row), self.of(other)))
        self._parents[high] = low
