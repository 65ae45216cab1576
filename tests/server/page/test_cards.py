"""Excerpts, links and blocks: nothing invented, nothing lost, nothing shown twice."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factseek.retrieval.domain import Document, Passage
from factseek.retrieval.text import Piece, web_link
from factseek.server.page import cards
from factseek.server.page.cards import Block, Review, blocks, excerpt, review_of


def test_a_short_text_is_split_at_its_highlights() -> None:
    assert excerpt("the moon is far", [(4, 8)]) == [Piece("the ", False), Piece("moon", True), Piece(" is far", False)]


def test_a_long_text_is_cut_where_most_matches() -> None:
    text = "moon " + "filler " * 50 + "moon moon moon " + "filler " * 50
    marks = [(at, at + 4) for at in range(len(text)) if text.startswith("moon", at)]
    pieces = excerpt(text, marks, 100)
    assert sum(piece.marked for piece in pieces) == 3
    assert pieces[0] == Piece("… ", False)
    assert pieces[-2].text.endswith("filler")
    assert pieces[-1] == Piece(" …", False)


def test_different_words_count_before_many() -> None:
    text = "moon moon Moon " + "filler " * 30 + "moon landing " + "filler " * 30
    marks = [found.span() for found in re.finditer("[Mm]oon|landing", text)]
    assert "landing" in [piece.text for piece in excerpt(text, marks, 100) if piece.marked]


@st.composite
def marked_texts(draw: st.DrawFn) -> tuple[str, list[tuple[int, int]]]:
    text = draw(st.text("ab <&é نص😀\n", max_size=120))
    cuts = sorted(draw(st.sets(st.integers(0, len(text)), max_size=12)))
    return text, list(zip(cuts[::2], cuts[1::2], strict=False))


@given(marked_texts(), st.integers(10, 150))
def test_an_excerpt_is_a_stretch_of_the_text(marked: tuple[str, list[tuple[int, int]]], longest: int) -> None:
    text, marks = marked
    pieces = excerpt(text, marks, longest)
    shown = "".join(piece.text for piece in pieces).removeprefix("… ").removesuffix(" …")
    assert shown in text
    assert len(shown) <= longest
    assert [piece.text for piece in pieces if piece.marked] == [
        text[start:end] for start, end in marks if (start, end) in _kept(pieces, marks, text)
    ]
    if len(text) <= longest:
        assert shown == text
        assert sum(piece.marked for piece in pieces) == len(marks)


def _kept(pieces: list[Piece], marks: list[tuple[int, int]], text: str) -> list[tuple[int, int]]:
    """The marks that are shown: a run of neighbours."""
    shown = [piece.text for piece in pieces if piece.marked]
    runs = [marks[at : at + len(shown)] for at in range(len(marks) - len(shown) + 1)]
    return next(run for run in runs if [text[start:end] for start, end in run] == shown)


def _best_start_by_trying_all(text: str, highlights: list[tuple[int, int]], longest: int) -> int:
    """The oracle: count the words of every window by itself."""
    if len(text) <= longest:
        return 0
    starts = [0, *(max(start - 60, 0) for start, _ in highlights)]
    windows = [
        [text[start:end].casefold() for start, end in highlights if begin <= start and end <= begin + longest]
        for begin in starts
    ]
    worth = [(len(set(words)), len(words)) for words in windows]
    return min(starts[worth.index(max(worth))], len(text) - longest)


@given(marked_texts(), st.integers(1, 150))
def test_the_window_is_that_of_trying_all(marked: tuple[str, list[tuple[int, int]]], longest: int) -> None:
    text, marks = marked
    assert cards._best_start(text, marks, longest) == _best_start_by_trying_all(text, marks, longest)


class CountedMarks(list[tuple[int, int]]):
    """Highlights that count how often one of them is read."""

    reads = 0

    def __getitem__(self, at: Any) -> Any:
        self.reads += 1
        return super().__getitem__(at)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        for mark in super().__iter__():
            self.reads += 1
            yield mark


def test_each_highlight_of_a_long_text_is_read_a_few_times_only() -> None:
    text = "measles vaccines " * 5_000
    marks = CountedMarks(found.span() for found in re.finditer("measles|vaccines", text))
    assert excerpt(text, marks, 480)[-1] == Piece(" …", False)
    assert marks.reads < 10 * len(marks)


@pytest.mark.parametrize(
    ("url", "good"),
    [
        ("https://who.int/a?b=c", True),
        ("HTTP://who.int", True),
        ("javascript:alert(1)", False),
        (" javascript:alert(1)", False),
        ("data:text/html,<script>", False),
        ("//who.int", False),
        ("https:", False),
        ("https://[", False),
        ("ftp://who.int", False),
        ("/etc/passwd", False),
        ("", False),
    ],
)
def test_only_web_addresses_become_links(url: str, good: bool) -> None:
    assert web_link(url) == (url if good else "")


def nowhere(_: str) -> list[tuple[int, int]]:
    return []


def lines(text: str) -> list[list[Piece]]:
    return [[Piece(text, False)]]


def test_blocks_start_at_passages_and_point_one_out() -> None:
    document = Document("d", "intro one two three end")
    passages = [Passage("d", 4, 6, 13, "one two"), Passage("d", 7, 10, 19, "two three")]
    assert blocks(document, passages, 4, nowhere) == [
        Block(None, lines("intro "), False),
        Block(4, lines("one "), True),
        Block(7, lines("two"), True),
        Block(None, lines(" three end"), False),
    ]
    assert blocks(document, passages, None, nowhere) == [
        Block(None, lines("intro "), False),
        Block(4, lines("one "), False),
        Block(7, lines("two three end"), False),
    ]
    assert blocks(document, passages, 99, nowhere) == blocks(document, passages, None, nowhere)


def test_a_document_without_passages_is_one_block() -> None:
    assert blocks(Document("d", "text"), [], 0, nowhere) == [Block(None, lines("text"), False)]


def test_blocks_are_marked_line_by_line() -> None:
    def mark(text: str) -> list[tuple[int, int]]:
        return [found.span() for found in re.finditer("moon", text)]

    (block,) = blocks(Document("d", "the moon\n\nis far"), [], None, mark)
    assert block.lines == [[Piece("the ", False), Piece("moon", True)], [Piece("is far", False)]]
    assert block.marked
    assert not blocks(Document("d", "is far"), [], None, mark)[0].marked


def test_a_review_shows_what_is_text_and_known() -> None:
    review = review_of({"rating": "Nope", "claimant": "Me", "publisher": ["x"], "verdict": "<b>"})
    assert review == Review(claimant="Me", rating="Nope", publisher="", verdict="")
    assert review_of({"rating": "Nope", "verdict": "false"}) == Review("", "Nope", "", "false")
    assert review_of({"rating": 5}) is None
    assert review_of({}) is None
