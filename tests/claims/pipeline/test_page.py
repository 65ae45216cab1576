"""The page for an editor: links and marks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factseek.claims.evidence.sentences import EvidenceSentence
from factseek.claims.pipeline.steps import pieces, share
from factseek.retrieval.lucene.analysis import TermCache
from factseek.retrieval.text import web_link


def sentence(text: str) -> EvidenceSentence:
    return EvidenceSentence("d", 0, text, 0.0, 0.0, 0, len(text), "", "", "", "")


STEMS = TermCache(lambda words: [(word.lower().rstrip("s"),) for word in words])


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("https://example.org/a?b=c", "https://example.org/a?b=c"),
        (" http://example.org ", "http://example.org"),
        ("javascript:alert(1)", ""),
        ("JavaScript://example.org/%0aalert(1)", ""),
        ("data:text/html,x", ""),
        ("//example.org", ""),
        ("example.org", ""),
        ("https://", ""),
        ("http://[", ""),
        ("", ""),
    ],
)
def test_links_lead_to_the_web_alone(url: str, found: str) -> None:
    assert web_link(url) == found


def test_words_of_the_claim_are_marked() -> None:
    found = pieces("Cats sleep", sentence("My cat sleeps."), STEMS)
    assert found == [("My ", False), ("cat", True), (" ", False), ("sleeps", True), (".", False)]


@given(st.text(max_size=20), st.text(max_size=60))
def test_pieces_make_the_sentence(claim: str, text: str) -> None:
    assert "".join(piece.text for piece in pieces(claim, sentence(text), STEMS)) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0.0, "<1%"), (0.009, "<1%"), (0.01, "1%"), (0.536, "54%"), (0.99, "99%"), (1.0, ">99%")]
)
def test_nothing_is_called_certain(value: float, text: str) -> None:
    assert share(value) == text
