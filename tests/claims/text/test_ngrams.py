"""TF-IDF against scikit-learn's."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer

from factseek.claims.text.words import characters, learn_ngrams, normalised, words

TEXTS = st.lists(st.text("ab cß1", max_size=12), min_size=1, max_size=8)


def _plain(text: str) -> list[str]:
    return re.findall(r"\b\w\w+\b", text.lower())


@given(TEXTS, TEXTS, st.booleans())
def test_vectors_are_those_of_scikit_learn(learned: list[str], asked: list[str], sublinear: bool) -> None:
    learned = [*learned, "word"]
    theirs = TfidfVectorizer(sublinear_tf=sublinear).fit(learned)
    ours = learn_ngrams(learned, _plain, sublinear=sublinear)
    assert list(ours.terms) == list(theirs.get_feature_names_out())
    assert ours.vectors(asked).toarray() == pytest.approx(theirs.transform(asked).toarray(), abs=1e-12)


def test_a_term_of_too_few_texts_is_left_out() -> None:
    ours = learn_ngrams(["one two", "two three", "two one one"], _plain, sublinear=True, least=2)
    assert ours.terms == ["one", "two"]
    assert ours.vectors([]).shape == (0, 2)


@given(st.text(max_size=60))
def test_any_text_can_be_read(text: str) -> None:
    assert all(words(text))
    assert all(2 <= len(run) <= 5 for run in characters(text))
    assert np.isfinite(learn_ngrams([text], characters, sublinear=True).vectors([text]).data).all()


def test_addresses_accounts_and_numbers_are_normalised() -> None:
    text = "RT @WHO: 1,234 cases &amp; 56% more, see https://t.co/aBc #COVID19"
    assert normalised(text).split() == [
        "rt", "xxuser", ":", "0,0", "cases", "&", "0%", "more,", "see", "xxurl", "#covid0",
    ]  # fmt: skip
    assert words("@WHO 5% up")[:4] == ["@who", "5", "%", "up"]
    assert "5 %" in words("@WHO 5% up")
