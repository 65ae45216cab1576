"""Groups of claims that a cross-validation must not part."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from factseek.retrieval.domain import Claim
from factseek.retrieval.records.claim_review import groups


def test_claims_that_share_a_page_or_most_words_go_together() -> None:
    claims = [
        Claim("1", "Aspirin lowers the risk of stroke"),
        Claim("2", "Aspirin raises the risk of stroke"),
        Claim("3", "Mars has two moons", groups=((("Mars", 1),),)),
        Claim("4", "It is the fourth planet", groups=((("Sun", 3), ("Mars", 0)),)),
        Claim("5", "Bees dance"),
    ]
    assert groups(claims) == [0, 0, 2, 2, 4]


def test_likeness_is_passed_on() -> None:
    chain = ["a b c d", "b c d e", "c d e f", "d e f g"]
    assert groups([Claim(str(i), text) for i, text in enumerate(chain)]) == [0, 0, 0, 0]


@given(st.lists(st.text(alphabet="abc ", max_size=8), max_size=12))
def test_equal_claims_are_in_one_group_and_groups_are_named_by_their_first(texts: list[str]) -> None:
    found = groups([Claim(str(i), text) for i, text in enumerate(texts)])
    assert all(found[name] == name <= row for row, name in enumerate(found))
    worded: dict[str, set[int]] = {}
    for text, name in zip(texts, found, strict=True):
        worded.setdefault(" ".join(text.split()), set()).add(name)
    assert all(len(names) == 1 for text, names in worded.items() if text)
