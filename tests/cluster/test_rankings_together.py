"""Several rankings of shards are asked for in one question, and those that come too late are left out."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import pytest

from factseek.cluster.coordinator import ShardedState
from factseek.cluster.rankings import CollectionTerms, ShardedRankings
from factseek.retrieval.deadline import CutOffError, Deadline
from factseek.retrieval.search.index import Index
from factseek.retrieval.search.index_state import IndexState

T = TypeVar("T")
QUERIES = ["measles vaccine", "heat of the ocean"]
NAMES = ("bm25", "dense")


class Counting:
    """Asks states, and counts the rounds."""

    def __init__(self, states: Sequence[IndexState]) -> None:
        self._states = states
        self.rounds = 0

    def __call__(self, asked: Callable[[IndexState], T]) -> list[T]:
        self.rounds += 1
        return [asked(state) for state in self._states]


class AskedBy:
    """A whole index whose shards are asked by something else, and whose encoder encodes when it is let to."""

    def __init__(self, state: ShardedState, ask: Any, free: threading.Event | None = None) -> None:
        self.manifest = state.manifest
        self.collection: CollectionTerms = state.collection
        self.ask = ask
        self._state = state
        self._free = free

    def encoder_of(self, view: str) -> Any:
        assert self._free is None or self._free.wait(60)
        return self._state.encoder_of(view)

    def document_vector(self, docid: str, view: str) -> Any:
        return self._state.document_vector(docid, view)


@pytest.fixture
def state(sharded: Index) -> ShardedState:
    """The state of an index in shards."""
    state = sharded._state
    assert isinstance(state, ShardedState)
    return state


@pytest.fixture
def beside() -> Iterator[ThreadPoolExecutor]:
    """Threads for what cannot be interrupted."""
    with ThreadPoolExecutor(4) as executor:
        yield executor


def test_words_answer_where_vectors_are_late(sharded: Index, state: ShardedState, beside: ThreadPoolExecutor) -> None:
    free = threading.Event()
    try:
        rankings = ShardedRankings(NAMES, sharded.settings, AskedBy(state, Counting(state._states), free))
        limit = Deadline(60, beside).shorter(1.0)
        informed, asked = rankings.with_statistics(QUERIES, limit)
        assert (informed, limit.missing) == (["bm25"], ["dense"])
        assert [query.vectors for query in asked] == [{}, {}]
        alone = ShardedRankings(["dense"], sharded.settings, AskedBy(state, Counting(state._states), free))
        with pytest.raises(CutOffError, match=r"^dense took longer than the time limit of the search$"):
            alone.search(QUERIES, 9, None, Deadline(0.2, beside))
    finally:
        free.set()
