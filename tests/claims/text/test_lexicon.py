"""Polarity: negation and direction of a sentence, by language."""

from __future__ import annotations

import pytest

from factseek.claims.text.polarity import LEXICONS, lexicon, polarity

pytestmark = pytest.mark.inner


@pytest.mark.parametrize(
    ("language", "text", "found"),
    [
        ("en", "Aspirin lowers the risk.", (0, -1)),
        ("en", "Aspirin does not lower the risk.", (1, -1)),
        ("en", "It doesn’t increase, it isn't raised.", (2, 1)),
        ("en", "More of one is less of another.", (0, 0)),
        ("en", "INCREASING", (0, 1)),
        ("en", "Nothing is said of it without cause", (2, 0)),
        ("ar", "لا يزيد الملح", (1, 1)),
        ("ar", "انخفض العدد", (0, -1)),
        ("de", "nicht mehr", (0, 0)),
        ("de", "isn't", (0, 0)),
        ("en", "", (0, 0)),
    ],
)
def test_polarity(language: str, text: str, found: tuple[int, int]) -> None:
    assert polarity(text, lexicon(language)) == found


@pytest.mark.parametrize("language", LEXICONS)
def test_no_word_says_more_and_less(language: str) -> None:
    lists = LEXICONS[language]
    assert not lists.more & lists.less
    assert all(word == word.lower() == word.strip() and word for group in lists for word in group)
