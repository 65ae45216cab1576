"""Searching: in the total order, within the time, and by many threads at once."""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, islice, product
from pathlib import Path
from typing import Any

import pytest

from factseek.retrieval.domain import Filter
from factseek.retrieval.filters import token
from factseek.retrieval.lucene.index import Fields, PassageSearcher, PassageWriter, Weights
from factseek.retrieval.lucene.jvm import java_thread, start
from factseek.retrieval.search.order import Rows

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


def test_a_search_out_of_time_finds_nothing_and_harms_none(searcher: PassageSearcher) -> None:
    asked = ("measles moon", 11)
    usual = searcher.search(*asked)
    assert usual[0]
    assert searcher.search(*asked, seconds=60.0) == usual
    assert searcher.search(*asked, seconds=0.0005) is None
    assert searcher.search(*asked, seconds=60.0) == usual
    assert searcher.search(*asked) == usual


def test_the_first_hits_are_those_of_the_total_order(tmp_path: Path) -> None:
    """Ties are few in a list, many at its cut, or all there is; deleted and filtered passages are not among them."""
    start()
    draw = random.Random(3)
    words = [draw.choice([["vaccine"], ["vaccine", "virus"], draw.sample(WORDS, 3)]) for _ in range(3_000)]
    docids = [f"d{draw.randrange(10**6)}é" if number % 3 else f"D{number // 2}" for number in range(len(words))]
    numbers = [number % 2 for number in range(len(words))]
    folders = [tmp_path / "s" / "lucene", tmp_path / "t" / "lucene"]
    for folder, first, last in zip(folders, (0, 1_000), (1_000, len(words)), strict=True):
        writer = PassageWriter(folder, "english", "flat")
        for number in range(first, last):
            writer.add("", " ".join(words[number]), f"{token('id', f's:{number}')} topic={number % 2}")
        writer.finish()
    rows = Rows(docids, numbers, split=True)
    dead = [f"s:{number}" for number in range(0, len(words), 7)]
    searcher = PassageSearcher(folders, "english", "flat", dead)
    for query, where in product(("glacier", "vaccine virus", "virus"), (None, Filter(topic=("1",)))):
        scores, places = searcher.search(query, len(words), where)
        assert 0 < len(places) < len(words)
        assert all(row % 7 and (where is None or row % 2) for row in places)
        order = sorted(zip(scores, places, strict=True), key=lambda hit: numbers[hit[1]])
        order.sort(key=lambda hit: docids[hit[1]], reverse=True)
        order.sort(key=lambda hit: hit[0], reverse=True)
        for n in (1, 2, 10, 100, 700, len(words), 10 * len(words)):
            found = searcher.search(query, n, where, rows=rows)
            assert list(zip(*found, strict=True)) == order[:n]
            assert searcher.search(query, n, where, seconds=60.0, rows=rows) == found
    searcher.close()
    searcher.close()
