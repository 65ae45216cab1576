"""Judged queries that a learned combination remembers: a document is the likelier, the more like them a query is.

Queries are compared by their terms, rare ones counted more: the cosine of their weighted terms.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

from .domain import Qrels
from .model_file import State
from .model_state import array

NAMES = (
    "nearest judged query", "judged queries alike", "judged queries alike, of many", "terms covered by judged queries",
)  # fmt: skip


class JudgedQueries:
    """The terms of judged queries, and which of these each document answers."""

    def __init__(self, queries: Sequence[frozenset[str]], answered: Mapping[str, Sequence[int]]) -> None:
        """Remember queries by their terms; ``answered`` holds the numbers of those that a document is relevant for."""
        self._queries = tuple(queries)
        self._answered = {docid: tuple(numbers) for docid, numbers in answered.items()}
        counts = Counter(term for terms in self._queries for term in terms)
        self._rarity = {term: math.log(1 + len(self._queries) / (0.5 + count)) for term, count in counts.items()}
        self._unseen = math.log(1 + len(self._queries) / 0.5)
        self._lengths = [self._length(terms) for terms in self._queries]
        self._holding: dict[str, list[int]] = defaultdict(list)
        for number, terms in enumerate(self._queries):
            for term in terms:
                self._holding[term].append(number)

    @classmethod
    def of(cls, terms: Mapping[str, frozenset[str]], qrels: Qrels) -> Self:
        """Remember queries, by qid, with the documents that are relevant for them."""
        answered: dict[str, list[int]] = defaultdict(list)
        for number, qid in enumerate(terms):
            for docid, grade in qrels[qid].items():
                if grade > 0:
                    answered[docid].append(number)
        return cls(list(terms.values()), answered)

    def features(self, terms: frozenset[str], docids: Sequence[str], without: int | None = None) -> NDArray[np.float64]:
        """Return the features of documents for a query of these terms, shape (docids, NAMES).

        ``without`` is the number of the query that is asked, if it is one of those remembered: it tells nothing.
        """
        alike = self._alike(terms, without)
        asked = math.fsum(self._weight(term) for term in sorted(terms)) or 1.0
        rows = np.zeros((len(docids), len(NAMES)))
        for row, docid in enumerate(docids):
            numbers = [number for number in self._answered.get(docid, ()) if number in alike]
            if not numbers:
                continue
            near = [alike[number] for number in numbers]
            squares = math.fsum(value * value for value in near)
            covered = terms.intersection(term for number in numbers for term in self._queries[number])
            rows[row] = (
                max(near),
                squares,
                squares / math.sqrt(1 + len(self._answered[docid])),
                math.fsum(self._weight(term) for term in sorted(covered)) / asked,
            )
        return rows

    def state(self) -> State:
        """Return all that is remembered."""
        vocabulary = sorted(self._rarity)
        number_of = {term: number for number, term in enumerate(vocabulary)}
        queries = [sorted(number_of[term] for term in terms) for terms in self._queries]
        return State(
            {"judged terms": vocabulary, "judged docids": list(self._answered)},
            {**_lists("queries", queries), **_lists("answered", list(self._answered.values()))},
        )

    def _alike(self, terms: frozenset[str], without: int | None) -> dict[int, float]:
        """Return the cosine of each query that has a term in common."""
        shared: dict[int, float] = defaultdict(float)
        for term in sorted(terms):
            for number in self._holding.get(term, ()):
                shared[number] += self._weight(term) ** 2
        length = self._length(terms)
        return {
            number: value / (length * self._lengths[number]) for number, value in shared.items() if number != without
        }

    def _length(self, terms: frozenset[str]) -> float:
        return math.sqrt(math.fsum(self._weight(term) ** 2 for term in sorted(terms))) or 1.0

    def _weight(self, term: str) -> float:
        return self._rarity.get(term, self._unseen)


def restored(state: State) -> JudgedQueries:
    """Return what a state remembers.

    Raises ValueError if its parts do not fit each other.
    """
    vocabulary, docids = (state.settings[name] for name in ("judged terms", "judged docids"))
    if not all(isinstance(text, str) for text in (*vocabulary, *docids)):
        raise ValueError("a term or docid is no text")
    queries = list(_parted(state, "queries", len(vocabulary)))
    answered = list(_parted(state, "answered", len(queries)))
    terms = [frozenset(vocabulary[number] for number in numbers) for numbers in queries]
    return JudgedQueries(terms, dict(zip(docids, answered, strict=True)))


def _lists(name: str, lists: Sequence[Sequence[int]]) -> dict[str, NDArray[np.int32]]:
    joined = [number for numbers in lists for number in numbers]
    sizes = [len(numbers) for numbers in lists]
    return {name: np.array(joined, dtype=np.int32), f"{name} sizes": np.array(sizes, dtype=np.int32)}


def _parted(state: State, name: str, limit: int) -> Iterator[list[int]]:
    """Yield the lists of numbers below ``limit`` that :func:`_lists` joined."""
    joined, sizes = array(state, name, np.int32, None), array(state, f"{name} sizes", np.int32, None)
    if (sizes < 0).any() or sizes.sum() != len(joined) or ((joined < 0) | (joined >= limit)).any():
        raise ValueError(f"{name} do not fit")
    yield from (part.tolist() for part in np.split(joined, np.cumsum(sizes)[:-1])[: len(sizes)])
