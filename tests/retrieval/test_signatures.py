"""Signatures: the same for the same words, and as far apart as their texts."""

import re

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from factseek.retrieval.store.signatures import (
    ORDERS,
    UNSPACED,
    disagreements,
    features,
    signatures_of,
)
from tests.examples_tried import EXAMPLES

ODD_LETTERS = "abcéßİıſ N'_-.1٣²Ⅷªم\u0651खा\u200d疫苗ไ\ud800\x1c\x85\u2028\xa0\n\0–K"


def test_a_signature_is_the_same_for_ever() -> None:
    """What is stored is compared with what later versions make."""
    words = [
        f"{word:016x}"
        for word in signatures_of(["Two doses are 97 percent effective."])[0].tolist()
    ]
    assert words == PINNED


PINNED = ["995dddcdcf3a5357", "0de840e203a3fb50", "b475ec2eee099ee0", "6574181f478b8d09"]


@settings(max_examples=EXAMPLES)
@given(text=st.text(max_size=80) | st.text(ODD_LETTERS, max_size=80))
def test_the_words_of_a_text_are_those_of_one_pattern(text: str) -> None:
    words = set(re.findall(r"[^\W_]+", text.casefold()))
    for word in filter(UNSPACED.search, set(words)):
        words.remove(word)
        words |= {word[at : at + 2] for at in range(max(1, len(word) - 1))}
    assert features(text) == {word.encode() for word in words} or not words
    assert words or features(text) == {text.casefold().strip().encode("utf-8", "replace")}


def test_the_estimate_is_the_share_of_common_words() -> None:
    """Over many pairs the mean agreement is what MinHash promises, chance agreements of four bits
    included.
    """
    chance = np.random.default_rng(7)
    for common in (0, 30, 60, 90):
        pairs = []
        for _ in range(60):
            drawn = [f"w{number}" for number in chance.choice(10**6, 200 - common, replace=False)]
            pairs.append((" ".join(drawn[:100]), " ".join(drawn[100 - common :])))
        left, right = (
            signatures_of([pair[0] for pair in pairs]),
            signatures_of([pair[1] for pair in pairs]),
        )
        agreeing = np.mean(
            [
                1 - disagreements(a[np.newaxis], b)[0] / ORDERS
                for a, b in zip(left, right, strict=True)
            ]
        )
        share = common / (200 - common)
        assert abs(agreeing - (share + (1 - share) / 16)) < 0.03
