"""Signatures: the same for the same words, and as far apart as their texts."""

from __future__ import annotations

import re
from hashlib import blake2b
from zlib import crc32

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from factseek.retrieval.store.signatures import (
    ORDERS,
    UNSPACED,
    disagreements,
    features,
    most_disagreements,
    signatures_of,
)
from tests.examples_tried import EXAMPLES

ODD_LETTERS = "abcéßİıſ N'_-.1٣²Ⅷªم\u0651खा\u200d疫苗ไ\ud800\x1c\x85\u2028\xa0\n\0–K"
TEXTS = st.lists(st.text(max_size=80), max_size=8)


def test_a_signature_is_the_same_for_ever() -> None:
    """What is stored is compared with what later versions make."""
    words = [f"{word:016x}" for word in signatures_of(["Two doses are 97 percent effective."])[0].tolist()]
    assert words == PINNED


PINNED = ["995dddcdcf3a5357", "0de840e203a3fb50", "b475ec2eee099ee0", "6574181f478b8d09"]


@settings(max_examples=EXAMPLES)
@given(texts=TEXTS)
def test_a_signature_depends_on_its_own_text(texts: list[str]) -> None:
    together = signatures_of(texts)
    assert together.shape == (len(texts), 4)
    for text, signature in zip(texts, together, strict=True):
        assert (signatures_of([text])[0] == signature).all()


@settings(max_examples=EXAMPLES)
@given(text=st.text(max_size=80) | st.text(ODD_LETTERS, max_size=80))
def test_the_words_of_a_text_are_those_of_one_pattern(text: str) -> None:
    words = set(re.findall(r"[^\W_]+", text.casefold()))
    for word in filter(UNSPACED.search, set(words)):
        words.remove(word)
        words |= {word[at : at + 2] for at in range(max(1, len(word) - 1))}
    assert features(text) == {word.encode() for word in words} or not words
    assert words or features(text) == {text.casefold().strip().encode("utf-8", "replace")}


@settings(max_examples=EXAMPLES)
@given(text=st.text(max_size=80))
def test_a_signature_has_the_first_word_in_each_order(text: str) -> None:
    digests = [blake2b(b"factseek %d" % order, digest_size=16).digest() for order in range(ORDERS)]
    drawn = [(int.from_bytes(digest[:8], "little") | 1, int.from_bytes(digest[8:], "little")) for digest in digests]
    hashed = [crc32(word) for word in features(text)]
    firsts = [min((word * factor + shift) % 2**64 >> 32 for word in hashed) & 15 for factor, shift in drawn]
    stored = b"".join(int(part).to_bytes(8, "little") for part in signatures_of([text])[0])
    assert int.from_bytes(stored, "little") == sum(first << 4 * order for order, first in enumerate(firsts))


@settings(max_examples=EXAMPLES)
@given(words=st.lists(st.text("abcdefghij", min_size=1, max_size=6), min_size=1, max_size=30), chance=st.randoms())
def test_order_case_and_marks_change_nothing(words: list[str], chance) -> None:
    turned = list(words)
    chance.shuffle(turned)
    first, second = signatures_of([" ".join(words), f"«{', '.join(turned).upper()}!»"])
    assert (first == second).all()


def test_the_estimate_is_the_share_of_common_words() -> None:
    """Over many pairs the mean agreement is what MinHash promises, chance agreements of four bits included."""
    chance = np.random.default_rng(7)
    for common in (0, 30, 60, 90):
        pairs = []
        for _ in range(60):
            drawn = [f"w{number}" for number in chance.choice(10**6, 200 - common, replace=False)]
            pairs.append((" ".join(drawn[:100]), " ".join(drawn[100 - common :])))
        left, right = signatures_of([pair[0] for pair in pairs]), signatures_of([pair[1] for pair in pairs])
        agreeing = np.mean([1 - disagreements(a[np.newaxis], b)[0] / ORDERS for a, b in zip(left, right, strict=True)])
        share = common / (200 - common)
        assert abs(agreeing - (share + (1 - share) / 16)) < 0.03


def test_disagreements_are_counted_order_by_order() -> None:
    left, right = signatures_of(["one two three four", "one two three five"])
    apart = [
        (int(a) >> place) & 15 != (int(b) >> place) & 15
        for a, b in zip(left, right, strict=True)
        for place in range(0, 64, 4)
    ]
    assert disagreements(left[np.newaxis], right).tolist() == [sum(apart)]
    assert (most_disagreements(1.0), most_disagreements(0.0)) == (0, 60)


def test_what_is_compared() -> None:
    assert features("RT @who: Don't panic!") == {b"rt", b"who", b"don", b"t", b"panic"}
    assert features("ÉCOLE école") == {"école".encode()}
    assert features("疫苗很安全") == {pair.encode() for pair in ("疫苗", "苗很", "很安", "安全")}
    assert features("苗") == {"苗".encode()}
    assert features(" !? ") == {b"!?"}
    assert features("") == {b""}
    assert features("a\ud800b") == {b"a", b"b"}
