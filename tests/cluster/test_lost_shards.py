"""Statistics of a collection while a shard is lost: they are true for one query, and forgotten with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from factseek.cluster.build import build_shards
from factseek.cluster.coordinator import ShardedState
from factseek.cluster.rankings import CollectionTerms
from factseek.indexer.build import BuildRequest
from factseek.retrieval.lucene.index import PassageSearcher, Weights
from factseek.retrieval.search.index import Index
from factseek.retrieval.search.index_state import IndexState
from factseek.retrieval.store.manifest import LUCENE
from factseek.settings import Config

T = TypeVar("T")


class SomeAnswer:
    """Asks the first of several states as often as is said, then all."""

    def __init__(self, states: Sequence[IndexState], lost_for: int) -> None:
        self._states = states
        self.lost_for = lost_for

    def __call__(self, asked: Callable[[IndexState], T]) -> list[T]:
        self.lost_for -= 1
        return [asked(state) for state in (self._states[:1] if self.lost_for >= 0 else self._states)]


def test_partial_statistics_are_not_taken_for_those_of_the_generation(sharded: Index, whole: Index) -> None:
    state, searcher = sharded._state, whole._state.view(LUCENE)
    assert isinstance(searcher, PassageSearcher)
    asking = SomeAnswer(state._states, lost_for=4)
    terms = CollectionTerms("one", len(state._states), lambda: state.terms, asking)
    in_part = [terms.query("measles vaccine") for _ in range(2)]
    assert asking.lost_for == 0
    complete, remembered = terms.query("measles vaccine"), terms.query("measles vaccine")
    generations = [query.statistics.generation for query in (*in_part, complete, remembered) if query.statistics]
    assert generations == ["one in part 0", "one in part 1", "one", "one"]
    expected = searcher.search("measles vaccine", 50, None, Weights())
    assert searcher.search(in_part[0], 50, None, Weights()) != expected
    for query in (complete, remembered):
        assert searcher.search(query, 50, None, Weights()) == expected


def test_a_shard_that_is_back_ranks_words_that_no_other_shard_has(tmp_path: Path) -> None:
    words = ["measles", "ice", "rain", "bridge", "summer", "river"]
    lines = [f'{{"docid": "d{number}", "text": "{word}"}}\n' for number, word in enumerate(words)]
    source = tmp_path / "words.jsonl"
    source.write_text("".join(lines), "utf-8")
    build_shards(BuildRequest(kind="jsonl", sources=(source,), folder=tmp_path / "index", dense=False), 2, Config())
    with Index(tmp_path / "index") as index:
        state = index._state
        assert isinstance(state, ShardedState)
        asking = SomeAnswer(state._states, lost_for=2)
        terms = CollectionTerms("one", 2, lambda: state.terms, asking)
        query = terms.query(" ".join(words))
        assert asking.lost_for == 0
        hits = [shard.ranking("bm25", index.settings).search([query], 9)[0] for shard in state._states]
    assert all(hits)
    assert sorted(hit.docid for of_shard in hits for hit in of_shard) == [f"d{number}" for number in range(6)]
