"""Excerpts, links and blocks: nothing invented, nothing lost, nothing shown twice."""

from hypothesis import given
from hypothesis import strategies as st

from factseek.core.text import Piece
from factseek.server.page import cards
from factseek.server.page.cards import begin_of, excerpt


@st.composite
def marked_texts(draw: st.DrawFn) -> tuple[str, list[tuple[int, int]]]:
    text = draw(st.text("ab <&é نص😀\n", max_size=120))
    cuts = sorted(draw(st.sets(st.integers(0, len(text)), max_size=12)))
    return text, list(zip(cuts[::2], cuts[1::2], strict=False))


@given(marked_texts(), st.integers(10, 150))
def test_an_excerpt_is_a_stretch_of_the_text(
    marked: tuple[str, list[tuple[int, int]]], longest: int
) -> None:
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
    shown = [piece.text for piece in pieces if piece.marked]
    runs = [marks[at : at + len(shown)] for at in range(len(marks) - len(shown) + 1)]
    return next(run for run in runs if [text[start:end] for start, end in run] == shown)


def _best_start_by_trying_all(text: str, highlights: list[tuple[int, int]], longest: int) -> int:
    if len(text) <= longest:
        return 0
    starts = [0, *(max(start - 60, 0) for start, _ in highlights)]
    windows = [
        [
            text[start:end].casefold()
            for start, end in highlights
            if begin <= start and end <= begin + longest
        ]
        for begin in starts
    ]
    worth = [(len(set(words)), len(words)) for words in windows]
    return min(starts[worth.index(max(worth))], len(text) - longest)


@given(marked_texts(), st.integers(1, 150))
def test_the_window_is_that_of_trying_all(
    marked: tuple[str, list[tuple[int, int]]], longest: int
) -> None:
    text, marks = marked
    assert cards._best_start(text, marks, longest) == _best_start_by_trying_all(
        text, marks, longest
    )


@given(st.text("ab é نص", max_size=80), st.integers(1, 60))
def test_a_beginning_is_cut_between_words(text: str, longest: int) -> None:
    beginning = begin_of(text, longest)
    assert text.startswith(beginning)
    assert len(beginning) <= longest
    after = text[len(beginning) :]
    if after and " " in text[: longest + 1].strip():
        assert after.startswith(" ")
    if len(text) <= longest:
        assert beginning == text
