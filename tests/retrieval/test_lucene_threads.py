"""Threads search Lucene side by side, and each gets what it gets alone."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, islice
from pathlib import Path
from time import sleep
from typing import Any

import pytest

from factseek.retrieval.domain import Filter
from factseek.retrieval.java import java_thread, kept, start
from factseek.retrieval.lucene import Fields, PassageSearcher, PassageWriter, Weights

pytestmark = pytest.mark.inner

THREADS, ROUNDS = 12, 40
WORDS = "measles vaccine outbreak moon landing crater sea level rise glacier virus mask trial cohort dose claim".split()
TEXTS = [" ".join(islice(cycle(WORDS), start, start + 3 + start % 7)) for start in range(400)]
SEARCHES: list[tuple[Any, ...]] = [
    (f"{first} {second}", 11, where, weights)
    for first in WORDS[:6]
    for second in WORDS[4:9]
    for where in (None, Filter(topic=("even",)))
    for weights in (Weights(), Weights(k1=1.2, b=0.75, title=3.0))
]


@pytest.fixture(scope="module", params=["flat", "title_text"])
def searcher(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PassageSearcher]:
    """A searcher of two segments."""
    start()
    fields: Fields = request.param
    folders = [tmp_path_factory.mktemp("lucene") / name for name in ("first", "second")]
    for number, folder in enumerate(folders):
        _write(folder, fields, TEXTS[number::2])
    opened = PassageSearcher(folders, "english", fields)
    yield opened
    opened.close()


def _write(folder: Path, fields: Fields, texts: list[str]) -> None:
    writer = PassageWriter(folder, "english", fields)
    for number, text in enumerate(texts):
        writer.add(text.split()[0], text, f"topic={'odd' if number % 2 else 'even'}")
    writer.finish()


@pytest.fixture
def hasty() -> Iterator[None]:
    """Switch threads as often as can be."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


@pytest.mark.usefixtures("hasty")
def test_threads_at_once_find_what_one_finds(searcher: PassageSearcher) -> None:
    alone = [searcher.search(*asked) for asked in SEARCHES]
    assert all(scores for scores, _ in alone)
    assert len({str(found) for found in alone}) > len(alone) // 4
    together = threading.Barrier(THREADS)

    def some(first: int) -> list[int]:
        with java_thread():
            together.wait(timeout=60)
            asked = list(islice(cycle(range(len(SEARCHES))), first * 7, first * 7 + ROUNDS * 10))
            return [number for number in asked if searcher.search(*SEARCHES[number]) != alone[number]]

    with ThreadPoolExecutor(THREADS) as pool:
        assert list(pool.map(some, range(THREADS))) == [[]] * THREADS


def test_a_thread_lets_go_of_closed_searchers(tmp_path: Path) -> None:
    start()
    _write(tmp_path / "segment", "flat", TEXTS[:20])
    first, second = (PassageSearcher([tmp_path / "segment"], "english", "flat") for _ in range(2))
    with ThreadPoolExecutor(1) as other:
        assert other.submit(first.search, "vaccine", 5).result() == second.search("vaccine", 5)
        before = other.submit(lambda: len(kept())).result()
        first.close()
        assert other.submit(second.search, "vaccine", 5).result() == second.search("vaccine", 5)
        assert other.submit(lambda: len(kept())).result() == before
    second.close()


def test_a_thread_takes_over_the_classes_of_one_that_ended(tmp_path: Path) -> None:
    import jnius

    start()
    _write(tmp_path / "segment", "flat", TEXTS[:20])
    searcher = PassageSearcher([tmp_path / "segment"], "english", "flat")
    counts: list[int] = []

    def search() -> None:
        with java_thread():
            assert searcher.search("vaccine", 5)[0]
            counts.append(len(jnius.JavaClass.__subclasses__()))

    for _ in range(4):
        thread = threading.Thread(target=search)
        thread.start()
        thread.join()
    assert counts[1:] == counts[:1] * 3
    searcher.close()


def test_a_search_out_of_time_finds_nothing_and_harms_none(searcher: PassageSearcher) -> None:
    asked = ("measles moon", 11)
    usual = searcher.search(*asked)
    assert usual[0]
    assert searcher.search(*asked, seconds=60.0) == usual
    assert searcher.search(*asked, seconds=0.0005) is None
    assert searcher.search(*asked, seconds=60.0) == usual
    assert searcher.search(*asked) == usual


def test_a_time_limit_is_over_with_its_search(searcher: PassageSearcher) -> None:
    asked = ("measles moon", 11)
    usual = searcher.search(*asked)
    assert searcher.search(*asked, seconds=0.3) == usual
    sleep(0.4)
    assert searcher.search(*asked, seconds=0.3) == usual
    assert searcher.search(*asked) == usual
    assert searcher.search(*asked, seconds=0.0005) is None
    assert searcher.search(*asked, seconds=60.0) == usual


def test_a_word_is_held_if_a_passage_has_a_form_of_it(searcher: PassageSearcher) -> None:
    for word in (*WORDS, "vaccines", "landings", "wombat", "the", "!?", "sea-level", "wombat-free measles", "\ud800"):
        assert searcher.holds(word) == searcher.having_words(word).any(), word
    assert [searcher.holds(word) for word in ("vaccines", "wombat", "the")] == [True, False, False]
