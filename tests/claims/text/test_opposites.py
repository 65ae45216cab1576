"""Opposites of a claim: a word turned round, a negation more or less, two sides exchanged; eight at
most.
"""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from factseek.claims.text.polarity import OPPOSING, opposites

WORDS = sorted(
    word
    for lists in OPPOSING.values()
    for group in (lists.turned, lists.negations, lists.supports, lists.carriers, [lists.than])
    for word in group
)
"""The words of all lists: texts of them have more opposites than texts of any characters."""
TEXTS = st.one_of(
    st.text(st.characters(), max_size=60),  # lone surrogates and control characters among them
    st.lists(
        st.sampled_from([*WORDS, "Than", "NOT", "’", ".", "7", "🌍", "\u200f"]), max_size=14
    ).map(" ".join),
)


DENIED = "It is not true that "
CASES: dict[str, dict[str, list[str]]] = {
    "en": {
        "Smoking increases risk.": ["Smoking decreases risk.", f"{DENIED}Smoking increases risk."],
        "Higher taxes help.": ["Lower taxes help.", f"{DENIED}Higher taxes help."],
        "ALWAYS!": ["Never!", f"{DENIED}ALWAYS!"],
        "Water is wet.": ["Water is not wet."],
        "It was said that he is ill.": ["It was not said that he is ill."],
        **{text: [DENIED + text] for text in ("Birds fly.", "7", "?!", "🌍", "\ud800", "\u200f")},
        "Water is not wet.": ["Water is wet."],
        "They don't agree.": ["They agree."],
        "Penguins cannot fly.": ["Penguins can fly."],
        "It is not so, and was not.": ["It is so, and was not.", "It is not so, and was ."],
        "He is never ill.": ["He is ill."],
        "Salt does not prevent colds.": ["Salt prevent colds."],
        "The Nile is longer than the Amazon.": [
            "The Nile is shorter than the Amazon.",
            "The Nile is not longer than the Amazon.",
            "the Amazon is longer than The Nile.",
        ],
        "Iron is harder than tin. It rusts.": ["Iron is not harder than tin. It rusts."],
        "Other than iron, tin is soft.": ["Other than iron, tin is not soft."],
        **{text: [] for text in ("not", "Never.", "", " \t\n\u2003")},
    },
    "ar": {
        "يزيد الملح ضغط الدم": ["يقلل الملح ضغط الدم", "ليس صحيحا أن يزيد الملح ضغط الدم"],
        "القاهرة مدينة كبيرة": ["ليس صحيحا أن القاهرة مدينة كبيرة"],
        "ليست القاهرة مدينة": ["القاهرة مدينة"],
        "الدواء آمن": ["الدواء خطير", "ليس صحيحا أن الدواء آمن"],
        "": [],
    },
    "de": {"Water is not wet.": []},
    "": {"Water is not wet.": []},
}


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        (language, text, expected)
        for language, cases in CASES.items()
        for text, expected in cases.items()
    ],
)
def test_the_opposites_of_a_text(language: str, text: str, expected: list[str]) -> None:
    assert opposites(text, language) == expected


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
