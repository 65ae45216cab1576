"""Evidence: sentences of an index for a claim, where they stand, and in which order."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from factseek.claims.evidence.sentences import ClaimEvidence, Finder, raised_by_page, states_finding
from factseek.claims.settings import VerdictSettings
from factseek.retrieval.domain import Filter, Hit
from factseek.retrieval.errors import NotFoundError, QueryError
from factseek.retrieval.search.index import Index

CLAIM = "More than 100,000 people died of measles in 2023."


@pytest.fixture(scope="module")
def english(pages: Path) -> Iterator[Index]:
    with Index(pages) as index:
        yield index


def test_sentences_settle_a_claim_and_stand_where_it_is_said(english: Index) -> None:
    (found,) = Finder(english, VerdictSettings()).find([CLAIM])
    places = [(one.docid, one.number) for one in found.sentences]
    assert len(places) == 5 == len(set(places))
    assert {("EX-EN-01-0001-002", 0), ("en-vaccines-measles", 12)} & set(places)
    for one in found.sentences:
        assert english.document(one.docid).text[one.start : one.end] == one.text
    assert found.bm25 > 0 and 0 < found.dense <= 1 and 0 <= found.spread <= 1


def test_likeness_is_the_cosine(english: Index) -> None:
    (found,) = Finder(english, VerdictSettings()).find([CLAIM])
    claim = english.encoder.encode_query([CLAIM])[0]
    texts = english.encoder.encode_document([one.text for one in found.sentences])
    assert np.allclose([one.similarity for one in found.sentences], texts @ claim, atol=1e-6)


def test_a_claim_finds_the_same_in_any_company(english: Index) -> None:
    finder = Finder(english, VerdictSettings())
    others = ["Pluto is a planet.", "?!", "The sea is rising."]
    assert finder.find([*others, CLAIM])[3] == finder.find([CLAIM])[0]
    assert finder.find([*others, CLAIM])[1] == ClaimEvidence(())


def test_what_is_given_takes_the_place_of_what_was_found(english: Index) -> None:
    finder = Finder(english, VerdictSettings())
    found = finder.find([CLAIM, CLAIM])
    first, second = finder.with_annotated([CLAIM, CLAIM], [[("en-vaccines-measles", 12)], []], found)
    assert [(one.docid, one.number) for one in first.sentences] == [("en-vaccines-measles", 12)]
    assert first.bm25 == found[0].bm25
    assert second == found[1]
    with pytest.raises(NotFoundError, match="'nowhere'"):
        finder.with_annotated([CLAIM], [[("nowhere", 0)]], found[:1])


def test_a_filter_admits_evidence_before_it_is_ranked(english: Index) -> None:
    nothing = Finder(english, VerdictSettings(), Filter(source=("nobody.example",)))
    assert nothing.find([CLAIM]) == [ClaimEvidence(())]


def test_too_long_a_claim_is_refused(english: Index) -> None:
    with pytest.raises(QueryError, match="the query has 10001 characters"):
        Finder(english, VerdictSettings()).find(["a" * 10_001])


def test_passages_of_several_sentences_give_one_each(arabic: Path) -> None:
    with Index(arabic) as index:
        finder = Finder(index, VerdictSettings(sentences=3))
        (found,) = finder.find(["نهر النيل أطول من نهر الأمازون."])
        assert finder.encoder == "" and found.dense == 0.0
        assert len(found.sentences) == len({one.docid for one in found.sentences}) == 3
        for one in found.sentences:
            assert index.document(one.docid).text[one.start : one.end] == one.text
            assert 0 <= one.similarity <= 1


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("OBJECTIVE Dexamethasone cuts deaths in patients on ventilators.", False),
        ("Background: measles spreads quickly.", False),
        ("We investigated whether masks reduce infections.", False),
        ("This trial was set up to determine the effect of vitamin D.", False),
        ("The aim of the study was a better vaccine.", False),
        ("Do vaccines cause autism?", False),
        ("تهدف هذه الدراسة إلى قياس أثر اللقاح.", False),
        ("Dexamethasone reduced deaths by one third among ventilated patients.", True),
        ("The background radiation rose in 1986.", True),
        ("Objective measures improved.", True),
    ],
)
def test_a_sentence_that_asks_or_announces_states_no_finding(text: str, finding: bool) -> None:
    assert states_finding(text) == finding


def test_a_page_lifts_its_sentences() -> None:
    hits = [Hit("alone", 1.0, 0), Hit("page", 0.875, 1), Hit("page", 0.75, 2)]
    assert [(hit.docid, hit.passage) for hit in raised_by_page(hits, 0.5)] == [("page", 1), ("page", 2), ("alone", 0)]
    assert raised_by_page(hits, 0.0) == hits


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 5)), unique=True), st.floats(0, 5))
def test_lifting_loses_nothing_and_depends_on_no_order(places: list[tuple[str, int]], weight: float) -> None:
    hits = [Hit(docid, 1 / (1 + number), number) for docid, number in places]
    found = raised_by_page(hits, weight)
    assert sorted((hit.docid, hit.passage) for hit in found) == sorted(places)
    assert raised_by_page(hits[::-1], weight) == found
