"""Words as they are written, and the nearest of them to a misspelt one, against comparing with every word."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import OSA

from factseek.retrieval.folding import folded
from factseek.retrieval.lucene import spelling
from factseek.retrieval.lucene.spelling import (
    WordCounter,
    WordNearby,
    admitted_edits,
    is_kept,
    masks,
    nearest,
    possible,
    respelt,
    words_in,
)
from factseek.retrieval.views.words import SegmentWords

ODD_LETTERS = "abcéßİıſ N'’_-.,1٣²Ⅷªم\u0651खा\u200d\u200c疫苗ไ\ud800\x1c\x85\u2028\xa0\t\n\0–K"
LETTERS = st.text("abcdeéنلم", min_size=3, max_size=9)


@given(words=st.lists(LETTERS, min_size=1, max_size=60, unique=True), word=LETTERS, edits=st.integers(0, 2))
def test_no_word_that_is_near_enough_is_passed_over(words: list[str], word: str, edits: int) -> None:
    chosen = {words[at] for at in possible(masks(words), word, edits)}
    assert chosen >= {other for other in words if OSA.distance(word, other) <= edits}
    near = {words[at]: distance for at, distance in spelling.within(word, words, edits)}
    assert near == {other: OSA.distance(word, other) for other in words if OSA.distance(word, other) <= edits}


@given(words=st.lists(LETTERS, max_size=60, unique=True), word=LETTERS, edits=st.integers(0, 2))
def test_the_words_of_a_segment_that_are_near_are_those_of_looking_at_each(
    words: list[str], word: str, edits: int
) -> None:
    lines = [f"{text}\n".encode() for text in sorted(words)]
    starts = np.cumsum([0, *map(len, lines)], dtype="<u8")[:-1]
    frequent = np.arange(1, len(lines) + 1, dtype="<u8")
    places = (starts << np.uint64(32)) | frequent
    segment = SegmentWords(memoryview(b"".join(lines)), masks(sorted(words)), places.data)
    expected = [
        WordNearby(text, OSA.distance(word, text), place)
        for place, text in enumerate(sorted(words), 1)
        if OSA.distance(word, text) <= edits
    ]
    assert sorted(segment.near(word, edits)) == sorted(expected)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("don't o'clock's the covid-19 h1n1 vaccine_s", ["don't", "o'clock's", "the", "covid", "vaccine"]),
        ("اللُّقاح فعّال ضد الحصبة", ["اللُّقاح", "فعّال", "الحصبة"]),
        ("खसरा का टीका सुरक्षित है", ["खसरा", "टीका", "सुरक्षित"]),
        ("вакцина от кори", ["вакцина", "кори"]),
        ("백신은 안전하다", ["백신은", "안전하다"]),
        ("麻疹疫苗 ワクチンは วัคซีน", []),
        ("", []),
        ("a" * 41, []),
    ],
)
def test_words_in_every_script_that_has_blanks(text: str, words: list[str]) -> None:
    assert list(filter(is_kept, words_in(text))) == words


@given(st.lists(st.text("abé N'", max_size=30), max_size=20))
def test_words_are_counted_as_if_one_by_one(texts: list[str]) -> None:
    counter = WordCounter()
    for text in texts:
        counter.add(text)
    expected = Counter(word for text in texts for word in filter(is_kept, words_in(text.lower())))
    assert counter.counts() == sorted(expected.items())


@given(st.lists(st.text(ODD_LETTERS, max_size=30) | st.text(max_size=30), max_size=8))
def test_what_is_cut_together_is_counted_as_if_cut_piece_by_piece(texts: list[str]) -> None:
    counter = WordCounter()
    for text in texts:
        counter.add(text)
    chunks = (chunk for text in texts for chunk in folded(text).lower().split())
    expected = Counter(word for chunk in chunks for word in words_in(chunk) if is_kept(word))
    assert counter.counts() == sorted(expected.items())


@given(st.lists(st.text(ODD_LETTERS, max_size=9), max_size=20))
def test_the_mask_of_a_word_says_which_letters_it_has(words: list[str]) -> None:
    expected = [sum(1 << bit for bit in {ord(letter) & 63 for letter in word}) for word in words]
    assert masks(words).tolist() == expected


def test_of_very_many_words_the_rarest_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, most in (("_MOST_CHUNKS", 3), ("_MOST_COUNTED", 8), ("MOST_WORDS", 4)):
        monkeypatch.setattr(spelling, name, most)
    counter = WordCounter()
    for number in range(40):
        counter.add(f"usual common {chr(97 + number % 26) * 4} often usual common usual")
    assert {"usual", "common", "often"} < dict(counter.counts()).keys()
    assert len(counter.counts()) == 4


@pytest.mark.parametrize(
    ("word", "edits"), [("mon", 0), ("mooon", 1), ("percent", 1), ("treatments", 2), ("खशरा", 1), ("ля", 0)]
)
def test_long_words_may_be_misspelt_twice(word: str, edits: int) -> None:
    assert admitted_edits(word) == edits


def test_the_nearest_is_near_begins_alike_and_is_frequent() -> None:
    assert nearest("vacine", []) == ""
    assert nearest("vacine", [WordNearby("racing", 2, 900), WordNearby("vaccine", 1, 2)]) == "vaccine"
    assert nearest("racime", [WordNearby("vacime", 1, 900), WordNearby("racimes", 1, 3)]) == "racimes"
    assert nearest("racime", [WordNearby("racimex", 1, 2), WordNearby("raxcime", 1, 3)]) == "raxcime"
    assert nearest(
        "racime", [WordNearby("racimes", 1, 2), WordNearby("rracime", 1, 3), WordNearby("racimes", 1, 2)]
    ) == ("racimes")
    assert nearest("ever", [WordNearby("never", 1, 9), WordNearby("eever", 1, 3)]) == "eever"
    assert nearest("vacine", [WordNearby("vaccine", 1, 1)]) == "vaccine"  # of the general vocabulary
    assert nearest("measels", [WordNearby("measles", 1, 2)]) == ""
    assert nearest("bleach", [WordNearby("breach", 1, 99)]) == ""  # nobody takes l for r
    assert nearest("cancar", [WordNearby("cancer", 1, 3)]) == "cancer"
    assert nearest("leukaemia", [WordNearby("leukemia", 1, 500)]) == ""
    assert nearest("moderna", [WordNearby("modern", 1, 500)], may_be_name=True) == ""


def test_words_are_put_right_where_they_stand_and_nowhere_else() -> None:
    right = {"measels": "measles", "vacine": "vaccine"}
    assert respelt('Measels VACINE: measelsy "measels" -vacine\'s', right) == (
        'Measles VACCINE: measelsy "measles" -vacine\'s'
    )
    assert respelt("الحصبه خطيرة", {"الحصبه": "الحصبة"}) == "الحصبة خطيرة"
    assert respelt("मास मासिक", {"मास": "मांस"}) == "मांस मासिक"
    assert respelt("as it is", {}) == "as it is"
