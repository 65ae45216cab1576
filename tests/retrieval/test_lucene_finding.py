"""A search in one crossing finds what the search in three finds, to the last bit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import get_args

import pytest

from factseek.retrieval import lucene, lucene_finding
from factseek.retrieval.domain import Filter
from factseek.retrieval.java import start
from factseek.retrieval.lucene import Fields, PassageSearcher, PassageWriter, Weights

pytestmark = pytest.mark.inner

WORDS = "measles vaccine outbreak moon landing crater sea level rise glacier virus mask".split()
QUERIES = ("measles", "moon landing", "the of", "", "no such word", "half \ud800 a pair", "vaccine " * 500)


@pytest.fixture(params=get_args(Fields))
def searcher(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[PassageSearcher]:
    """A searcher over passages of a few words, in one field or in two."""
    start()
    writer = PassageWriter(tmp_path / "segment" / "lucene", "english", request.param)
    for number in range(60):
        writer.add(
            WORDS[number % 12], " ".join(WORDS[number % 5 : number % 11]), f"topic={number % 3} id=segment:{number}"
        )
    writer.finish()
    with closing(PassageSearcher([tmp_path / "segment" / "lucene"], "english", request.param)) as opened:
        yield opened


@pytest.mark.parametrize("query", QUERIES)
def test_the_hits_are_the_same_the_first_time_and_ever_after(searcher: PassageSearcher, query: str) -> None:
    kinds = [(n, weights) for n in (1, 3, 60) for weights in (Weights(0.9, 0.4), Weights(1.2, 0.75, title=3.0))]
    first = [searcher.search(query, n, None, weights) for n, weights in kinds]
    for _ in range(3):
        assert [searcher.search(query, n, None, weights) for n, weights in kinds] == first
        assert [searcher.search(query, n, None, weights, seconds=60.0) for n, weights in kinds] == first


def test_a_filter_holds_between_searches_without_one(searcher: PassageSearcher) -> None:
    usual, where = searcher.search("measles vaccine", 60), Filter(topic=("1",))
    for _ in range(3):
        scores, rows = searcher.search("measles vaccine", 60, where)
        assert rows
        assert all(row % 3 == 1 for row in rows)
        assert dict(zip(rows, scores, strict=True)).items() <= dict(zip(usual[1], usual[0], strict=True)).items()
        assert searcher.search("measles vaccine", 60) == usual


def test_what_is_kept_for_one_crossing_is_bounded(searcher: PassageSearcher) -> None:
    for n in range(1, 2 * lucene._FINDERS):
        for _ in range(2):
            assert len(searcher.search("measles", n)[0]) == min(n, len(searcher.search("measles", 60)[0]))
    assert len(searcher._own()._finders) <= lucene._FINDERS


def test_where_no_class_can_be_loaded_a_search_takes_three_crossings(
    searcher: PassageSearcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = searcher.search("measles moon", 9)
    monkeypatch.setattr("tempfile.tempdir", "/proc/no/such/folder")
    lucene_finding._constructor.cache_clear()
    try:
        for _ in range(3):
            assert searcher.search("measles moon", 9) == usual
    finally:
        lucene_finding._constructor.cache_clear()


def test_a_search_out_of_time_is_followed_by_whole_ones(searcher: PassageSearcher) -> None:
    usual = searcher.search("measles moon", 9)
    for _ in range(3):
        assert searcher.search("measles moon", 9, seconds=0.0005) is None
        assert searcher.search("measles moon", 9, seconds=60.0) == usual
