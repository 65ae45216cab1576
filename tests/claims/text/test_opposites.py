"""Opposites of a claim: a word turned round, a negation more or less, two sides exchanged; eight at most."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from factseek.claims.text.opposites import OPPOSING, opposites

WORDS = sorted(
    word
    for lists in OPPOSING.values()
    for group in (lists.turned, lists.negations, lists.supports, lists.carriers, [lists.than])
    for word in group
)
"""The words of all lists: texts of them have more opposites than texts of any characters."""
TEXTS = st.one_of(
    st.text(st.characters(), max_size=60),  # lone surrogates and control characters among them
    st.lists(st.sampled_from([*WORDS, "Than", "NOT", "’", ".", "7", "🌍", "\u200f"]), max_size=14).map(" ".join),
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Smoking increases risk.", ["Smoking decreases risk.", "It is not true that Smoking increases risk."]),
        ("Higher taxes help.", ["Lower taxes help.", "It is not true that Higher taxes help."]),
        ("ALWAYS!", ["Never!", "It is not true that ALWAYS!"]),
        ("Highly-rated films", ["It is not true that Highly-rated films"]),
    ],
)
def test_a_word_is_turned_round_and_keeps_its_capital(text: str, expected: list[str]) -> None:
    assert opposites(text, "en") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Water is wet.", ["Water is not wet."]),
        ("Pigs WILL fly", ["Pigs WILL not fly"]),
        ("It was said that he is ill.", ["It was not said that he is ill."]),
    ],
)
def test_a_negation_follows_the_first_auxiliary(text: str, expected: list[str]) -> None:
    assert opposites(text, "en") == expected


@pytest.mark.parametrize("text", ["Birds fly.", "7", "?!", "🌍", "\ud800", "\u200f"])
def test_what_has_no_auxiliary_is_denied_as_a_whole(text: str) -> None:
    assert opposites(text, "en") == [f"It is not true that {text}"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Water is not wet.", ["Water is wet."]),
        ("It does not work.", ["It work."]),
        ("They don't agree.", ["They agree."]),
        ("It Doesn’t work.", ["It work."]),
        ("I do really not know.", ["I do really know."]),
        ("Penguins cannot fly.", ["Penguins can fly."]),
        ("Penguins can't fly.", ["Penguins can fly."]),
        ("It is not so, and was not.", ["It is so, and was not.", "It is not so, and was ."]),
        ("Not what they do", ["what they do"]),
        ("He is never ill.", ["He is ill."]),
        ("It isn't red.", ["It is red."]),
        ("He won’t come.", ["He will come."]),
        ("Salt does not prevent colds.", ["Salt prevent colds."]),
    ],
)
def test_a_negation_goes_and_takes_its_support_along(text: str, expected: list[str]) -> None:
    assert opposites(text, "en") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "The Nile is longer than the Amazon.",
            [
                "The Nile is shorter than the Amazon.",
                "The Nile is not longer than the Amazon.",
                "the Amazon is longer than The Nile.",
            ],
        ),
        ("Iron was not harder than tin", ["Iron was harder than tin"]),
        ("Iron is harder than tin. It rusts.", ["Iron is not harder than tin. It rusts."]),
        ("Is iron harder than tin?", ["Is not iron harder than tin?"]),
        ("Iron is harder than ...", ["Iron is not harder than ..."]),
        ("Other than iron, tin is soft.", ["Other than iron, tin is not soft."]),
    ],
)
def test_a_comparison_has_its_sides_exchanged_where_it_has_two(text: str, expected: list[str]) -> None:
    assert opposites(text, "en") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("يزيد الملح ضغط الدم", ["يقلل الملح ضغط الدم", "ليس صحيحا أن يزيد الملح ضغط الدم"]),
        ("القاهرة مدينة كبيرة", ["ليس صحيحا أن القاهرة مدينة كبيرة"]),
        ("ليست القاهرة مدينة", ["القاهرة مدينة"]),
        ("لا يسبب الملح المرض.", ["يسبب الملح المرض."]),
        ("الدواء آمن", ["الدواء خطير", "ليس صحيحا أن الدواء آمن"]),
    ],
)
def test_arabic_is_turned_round_denied_and_affirmed(text: str, expected: list[str]) -> None:
    assert opposites(text, "ar") == expected


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("not", "en"),
        ("Never.", "en"),
        ("Water is not wet.", "de"),
        ("Water is not wet.", ""),
        ("", "en"),
        (" \t\n\u2003", "en"),
        ("", "ar"),
    ],
)
def test_no_lists_or_no_text_is_no_opposite(text: str, language: str) -> None:
    assert opposites(text, language) == []


def test_a_text_of_many_words_has_eight() -> None:
    words = "more high better hot first over same true rare safe".split()
    turned = "less low worse cold last under different false".split()
    assert opposites(" ".join(words), "en") == [
        " ".join([*words[:at], word, *words[at + 1 :]]) for at, word in enumerate(turned)
    ]


@pytest.mark.parametrize("language", OPPOSING)
@given(text=TEXTS)
@example(text="🌍👩‍🔬")
@example(text="\ud800 is more than \udfff")
@example(text="\u200fلا\u200e \u202bيزيد\u202c")
@example(text="3.14 1,000 ٣")
@example(text="...?!—’")
@example(text="İs LONGER than ß")
@example(text="than is than")
@example(text="7 is more than 7")
@example(text="not not so")
def test_any_text_has_few_opposites_each_once_and_never_itself(language: str, text: str) -> None:
    made = opposites(text, language)
    assert text not in made
    assert len(made) == len(set(made)) <= 8
    assert made == opposites(text, language)


@pytest.mark.parametrize("language", OPPOSING)
def test_no_word_is_its_own_opposite(language: str) -> None:
    for word, other in OPPOSING[language].turned.items():
        assert word != other
        assert word == word.lower() == word.strip()
        assert other == other.strip()
        assert word
        assert other


@pytest.mark.parametrize("language", OPPOSING)
def test_each_word_that_is_listed_is_recognised(language: str) -> None:
    lists = OPPOSING[language]
    turned = {word: other for word, other in lists.turned.items() if word not in lists.negations}
    assert {word: other for word, other in turned.items() if opposites(word, language)[0] != other} == {}


@pytest.mark.parametrize(
    ("language", "negation"), [(code, word) for code, lists in OPPOSING.items() for word in sorted(lists.negations)]
)
def test_each_negation_is_recognised(language: str, negation: str) -> None:
    left = OPPOSING[language].negations[negation]
    kept = f"{left} " if left else ""
    assert f"7 {kept}8" in opposites(f"7 {negation} 8", language)


@pytest.mark.parametrize("carrier", sorted(OPPOSING["en"].carriers))
def test_each_auxiliary_carries_a_negation(carrier: str) -> None:
    assert f"7 {carrier} not 8" in opposites(f"7 {carrier} 8", "en")


@pytest.mark.parametrize("support", sorted(OPPOSING["en"].supports))
def test_each_support_goes_with_its_negation(support: str) -> None:
    assert opposites(f"7 {support} not 8", "en") == ["7 8"]
