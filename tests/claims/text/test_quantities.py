"""What is read in a text: quantities and n-grams."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer

from factseek.claims.text.quantities import Quantity, quantities
from factseek.claims.text.words import learn_ngrams, normalise, words


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Between 2000 and 2023", [Quantity(2000, "year"), Quantity(2023, "year")]),
        ("about 60 million deaths", [Quantity(6e7, "deaths", "about")]),
        ("97 percent, 97% and 97 %", [Quantity(97, "%")] * 3),
        ("more than 1.5 mg", [Quantity(1.5, "mg", "least")]),
        ("fewer than 9 out of 10", [Quantity(9, "", "most"), Quantity(10, "")]),
        ("٥٥٫٥ مليار متر", [Quantity(55.5e9, "متر")]),
        ("IL-6, p53 and CO2 are no quantities", []),
        ("12,345,678 and 3,5", [Quantity(12_345_678, ""), Quantity(3.5, "")]),
        ("0,125 or 1.234.567 mg", [Quantity(0.125, ""), Quantity(1_234_567, "mg")]),
        ("", []),
    ],
)
def test_quantities_of_a_text(text: str, found: list[Quantity]) -> None:
    assert quantities(text) == found


TEXTS = st.lists(st.text("ab cß1", max_size=12), min_size=1, max_size=8)


def _plain(text: str) -> list[str]:
    return re.findall(r"\b\w\w+\b", text.lower())


@given(TEXTS, TEXTS, st.booleans())
def test_vectors_are_those_of_scikit_learn(
    learned: list[str], asked: list[str], sublinear: bool
) -> None:
    learned = [*learned, "word"]
    theirs = TfidfVectorizer(sublinear_tf=sublinear).fit(learned)
    ours = learn_ngrams(learned, _plain, sublinear=sublinear)
    assert list(ours.terms) == list(theirs.get_feature_names_out())
    assert ours.vectors(asked).toarray() == pytest.approx(
        theirs.transform(asked).toarray(), abs=1e-12
    )


def test_addresses_accounts_and_numbers_are_normalised() -> None:
    text = "RT @WHO: 1,234 cases &amp; 56% more, see https://t.co/aBc #COVID19"
    assert normalise(text).split() == [
        "rt", "xxuser", ":", "0,0", "cases", "&", "0%", "more,", "see", "xxurl", "#covid0",
    ]  # fmt: skip
    assert words("@WHO 5% up")[:4] == ["@who", "5", "%", "up"]
    assert "5 %" in words("@WHO 5% up")
