"""Analyzers of languages, and the spelling of words."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import OSA

from factseek.retrieval.lucene.analysis import ANALYZERS, LANGUAGES, language_code
from factseek.retrieval.lucene.spelling import WordNearby, masks
from factseek.retrieval.views.words import SegmentWords

LETTERS = st.text("abcdeéنلم", min_size=3, max_size=9)


@given(words=st.lists(LETTERS, max_size=60, unique=True), word=LETTERS, edits=st.integers(0, 2))
def test_near_words_of_a_segment_are_those_of_looking_at_each(
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


@pytest.mark.inner
def test_every_language_has_an_analyzer_and_is_a_code() -> None:
    assert set(LANGUAGES.values()) <= ANALYZERS.keys()
    assert [language_code(code) for code in LANGUAGES] == list(LANGUAGES)
