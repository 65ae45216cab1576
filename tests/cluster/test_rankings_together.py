"""Several rankings of shards are asked for in one question, and those that come too late are left out."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import pytest

from factseek.cluster.coordinator import ShardedState
from factseek.cluster.rankings import CollectionTerms, ShardedRankings
from factseek.retrieval.config import Config
from factseek.retrieval.deadline import CutOffError, Deadline
from factseek.retrieval.domain import Filter
from factseek.retrieval.search.index import Index
from factseek.retrieval.search.index_state import IndexState
from factseek.retrieval.search.retriever import Ranked

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


class WithoutDense:
    """A shard that has no time for vectors."""

    def __init__(self, state: IndexState) -> None:
        self._state = state

    def __getattr__(self, name: str) -> Any:
        return getattr(self._state, name)

    def rankings(self, names: Sequence[str], config: Config) -> Any:
        return _Late(self._state.rankings(["bm25"], config))


class _Late:
    def __init__(self, rankings: Any) -> None:
        self._rankings = rankings

    def search(self, queries: Sequence[str], k: int, where: Filter | None, limit: Deadline) -> Ranked:
        limit.cut_off("dense")
        ranked: Ranked = self._rankings.search(queries, k, where, limit)
        return ranked


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


@pytest.mark.parametrize("limited", [False, True])
def test_one_round_makes_all_rankings(
    sharded: Index, state: ShardedState, beside: ThreadPoolExecutor, *, limited: bool
) -> None:
    expected = state.rankings(NAMES, sharded.settings).search(QUERIES, 9)
    ask = Counting(state._states)
    rankings = ShardedRankings(NAMES, sharded.settings, AskedBy(state, ask))
    assert rankings.search(QUERIES, 9, None, Deadline(60, beside) if limited else None) == expected
    assert set(expected) == set(NAMES)
    assert all(hits for of_queries in expected.values() for hits in of_queries)
    assert ask.rounds == 1  # the statistics of the terms are remembered


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


def test_what_one_shard_had_no_time_for_is_whole_nowhere(
    sharded: Index, state: ShardedState, beside: ThreadPoolExecutor
) -> None:
    states: list[Any] = [WithoutDense(state._states[0]), *state._states[1:]]
    limit = Deadline(60, beside)
    ranked = ShardedRankings(NAMES, sharded.settings, AskedBy(state, Counting(states))).search(QUERIES, 9, None, limit)
    assert ranked == {"bm25": state.ranking("bm25", sharded.settings).search(QUERIES, 9)}
    assert limit.missing == ["dense"]
