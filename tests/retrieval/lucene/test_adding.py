"""Passages are handed to Lucene many at a time, in a thread beside: what is indexed is what was added, in order."""

from __future__ import annotations

import shutil
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from itertools import cycle, islice
from pathlib import Path

import pytest

from factseek.retrieval.errors import MachineError
from factseek.retrieval.lucene.analysis import Analyzer
from factseek.retrieval.lucene.index import Fields, PassageSearcher, PassageWriter, index
from factseek.retrieval.lucene.jvm import start

pytestmark = pytest.mark.inner

ODD = (
    'quotes " and \\ and \n lines \t and tabs',
    "measles 🦠 𝒱accine ½ Straße İstanbul e\u0301cole",
    "cut\0here",
    "half \ud800 a pair",
    "",
    "لا يمنع فيتامين سي نزلات البرد",
    "</script> {} [] null 1e999 \u2028 \x7f",
)
PLAIN = "measles vaccine outbreak moon landing crater sea level rise glacier virus mask".split()
TEXTS = [*ODD, *(" ".join(islice(cycle(PLAIN), first, first + 3 + first % 5)) for first in range(40))]


@pytest.fixture(scope="module", autouse=True)
def java() -> None:
    """A virtual machine."""
    start()


def written(folder: Path, fields: Fields = "flat") -> Path:
    """Write every text with a title, and return the folder."""
    writer = PassageWriter(folder, "english", fields)
    for number, text in enumerate(TEXTS):
        writer.add(f"title{number}", text, f"id=s:{number}")
    assert writer.finish() == len(TEXTS)
    return folder


def rows_of_terms(texts: list[str]) -> dict[str, Counter[int]]:
    """Return how often each term stands in each text, each analysed by itself."""
    rows: dict[str, Counter[int]] = {}
    analyzer = Analyzer("english")
    for row, text in enumerate(texts):
        for term in analyzer.tokens(text):
            rows.setdefault(term, Counter())[row] += 1
    return rows


@pytest.mark.parametrize("at_once", [1, 5, len(TEXTS), 1000])
def test_each_row_holds_the_words_of_its_passage(tmp_path: Path, at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "_PASSAGES_AT_ONCE", at_once)
    folder = written(tmp_path / "lucene")
    expected = rows_of_terms([f"title{number}\n{text}" for number, text in enumerate(TEXTS)])
    with closing(PassageSearcher([folder], "english", "flat")) as searcher:
        for term, rows in expected.items():
            assert searcher.having_words(term).nonzero()[0].tolist() == sorted(rows), term
            (count,) = searcher.term_counts([("contents", term)])
            assert count == (len(rows), rows.total()), term


def test_titles_and_texts_in_fields_of_their_own(tmp_path: Path) -> None:
    folder = written(tmp_path / "lucene", "title_text")
    with closing(PassageSearcher([folder], "english", "title_text")) as searcher:
        for number in range(len(TEXTS)):
            assert searcher.search(f"title{number}", 5)[1] == [number]
            assert searcher.term_counts([("title", f"title{number}"), ("text", f"title{number}")]) == [(1, 1), (0, 0)]


def test_a_text_may_be_very_long(tmp_path: Path) -> None:
    writer = PassageWriter(tmp_path / "lucene", "english", "flat")
    for text in ("measles", f"vaccine{' ' * 21_000_000}glacier", "glacier"):
        writer.add("", text, "id=s:0")
    writer.finish()
    with closing(PassageSearcher([tmp_path / "lucene"], "english", "flat")) as searcher:
        assert searcher.having_words("vaccine glacier").tolist() == [False, True, True]


@pytest.fixture
def without_threads() -> Iterator[None]:
    """See that no thread is left behind."""
    before = set(threading.enumerate())
    yield
    assert [thread.name for thread in threading.enumerate() if thread not in before] == []


@pytest.mark.usefixtures("without_threads")
def test_what_goes_wrong_beside_is_said(tmp_path: Path) -> None:
    writer = PassageWriter(tmp_path / "lucene", "english", "flat", buffer_mb=1)
    shutil.rmtree(tmp_path / "lucene")
    texts = (" ".join(f"w{number}x{word}" for word in range(300)) for number in range(3_000))
    with pytest.raises(MachineError, match=r"lucene: cannot be written \(NoSuchFileException"):
        for number, text in enumerate(texts):
            writer.add("", text, f"id=s:{number}")
    writer.abandon()
    writer.abandon()


@pytest.mark.usefixtures("without_threads")
def test_nothing_is_left_of_what_is_given_up(tmp_path: Path) -> None:
    writer = PassageWriter(tmp_path / "lucene", "english", "flat")
    writer.add("", "measles", "id=s:0")
    writer.abandon()
    assert [path.name for path in (tmp_path / "lucene").iterdir()] in ([], ["write.lock"])
