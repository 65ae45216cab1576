"""The sentences that settle a claim, and the features of claim and evidence."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from factseek.claims.evidence.features import NAMES, ContrastExtractor, matrix
from factseek.claims.evidence.sentences import (
    ClaimEvidence,
    EvidenceSentence,
    Finder,
    raised_by_page,
    states_finding,
)
from factseek.claims.settings import VerdictSettings
from factseek.claims.text.polarity import lexicon
from factseek.core.domain import Hit
from factseek.core.errors import MachineError, NotFoundError
from factseek.retrieval.config import EncoderSettings
from factseek.retrieval.encoders.opening import open_encoder
from factseek.retrieval.encoders.sources import MULTILINGUAL, find_model
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


def test_a_claim_finds_the_same_in_any_company(english: Index) -> None:
    finder = Finder(english, VerdictSettings())
    others = ["Pluto is a planet.", "?!", "The sea is rising."]
    assert finder.find([*others, CLAIM])[3] == finder.find([CLAIM])[0]
    assert finder.find([*others, CLAIM])[1] == ClaimEvidence(())


def test_what_is_given_takes_the_place_of_what_was_found(english: Index) -> None:
    finder = Finder(english, VerdictSettings())
    found = finder.find([CLAIM, CLAIM])
    first, second = finder.with_annotated(
        [CLAIM, CLAIM], [[("en-vaccines-measles", 12)], []], found
    )
    assert [(one.docid, one.number) for one in first.sentences] == [("en-vaccines-measles", 12)]
    assert first.bm25 == found[0].bm25
    assert second == found[1]
    with pytest.raises(NotFoundError, match="'nowhere'"):
        finder.with_annotated([CLAIM], [[("nowhere", 0)]], found[:1])


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("OBJECTIVE Dexamethasone cuts deaths in patients on ventilators.", False),
        ("Background: measles spreads quickly.", False),
        ("This trial was set up to determine the effect of vitamin D.", False),
        ("Do vaccines cause autism?", False),
        ("تهدف هذه الدراسة إلى قياس أثر اللقاح.", False),
        ("Dexamethasone reduced deaths by one third among ventilated patients.", True),
        ("The background radiation rose in 1986.", True),
        ("Objective measures improved.", True),
    ],
)
def test_a_sentence_that_asks_or_announces_states_no_finding(text: str, finding: bool) -> None:
    assert states_finding(text) == finding


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 5)), unique=True), st.floats(0, 5))
def test_lifting_loses_nothing_and_depends_on_no_order(
    places: list[tuple[str, int]], weight: float
) -> None:
    hits = [Hit(docid, 1 / (1 + number), number) for docid, number in places]
    found = raised_by_page(hits, weight)
    assert sorted((hit.docid, hit.passage) for hit in found) == sorted(places)
    assert raised_by_page(hits[::-1], weight) == found


WORDS = st.lists(
    st.sampled_from(
        "aspirin lowers raises risk not 20 30 % deaths in 2019 of never ؟ 12,000".split()
    ),
    max_size=12,
).map(" ".join)


def lower(word: str) -> tuple[str, ...]:
    return () if word in ("of", "in") else (word.lower(),)


def evidence(*texts: str) -> ClaimEvidence:
    return ClaimEvidence(
        tuple(
            EvidenceSentence(f"d{i}", i, text, 0.5, 0.5, 0, 0, "", "", "", "")
            for i, text in enumerate(texts)
        )
    )


def named(claim: str, *texts: str) -> dict[str, float]:
    row = matrix([claim], [evidence(*texts)], lower, lexicon("en"))[0]
    return dict(zip(NAMES, row.tolist(), strict=True))


@pytest.mark.parametrize(
    ("claim", "text", "name", "value"),
    [
        ("Aspirin lowers risk", "aspirin lowers the risk", "coverage", 1.0),
        ("Aspirin lowers risk", "aspirin and more words", "precision", 1 / 4),
        ("Aspirin lowers risk", "aspirin lowers it", "word pairs", 0.5),
        ("Aspirin lowers risk", "aspirin raises risk", "direction differs", 1.0),
        ("Aspirin lowers risk", "aspirin reduces risk", "direction agrees", 1.0),
        ("Aspirin lowers risk", "aspirin does not lower risk", "negation differs", 1.0),
        ("Aspirin never lowers risk", "aspirin does not lower risk", "both negated", 1.0),
        ("20 deaths", "there were 20 deaths", "numbers repeated", 1.0),
        ("20 deaths", "there were 20 deaths", "numbers contradicted", 0.0),
        ("20 deaths", "there were 30 deaths", "numbers repeated", 0.0),
        ("20 deaths", "there were 30 deaths", "numbers contradicted", 1.0),
        ("20 deaths", "there were 30 injuries", "numbers repeated", 0.0),
        ("20 deaths", "there were 30 injuries", "numbers contradicted", 0.0),
        ("more than 20 deaths", "there were 10 deaths", "numbers contradicted", 1.0),
        ("at most 20 deaths", "there were 10 deaths", "numbers repeated", 1.0),
        ("about 20 deaths", "there were 21 deaths", "numbers repeated", 1.0),
        ("in 2019", "in 2020", "numbers repeated", 0.0),
        ("in 2019", "in 2020", "numbers contradicted", 1.0),
        ("95% of 40 cases", "95 percent of 50 cases", "numbers repeated", 0.5),
        ("95% of 40 cases", "95 percent of 50 cases", "numbers contradicted", 1.0),
    ],
)
def test_a_feature_says_what_it_is_called(claim: str, text: str, name: str, value: float) -> None:
    assert named(claim, text)[f"{name}, first"] == pytest.approx(value)
    assert named(claim, text)[f"{name}, mean"] == pytest.approx(value)


@given(WORDS, st.lists(WORDS, max_size=5), st.sampled_from(["en", "ar", "xx"]))
def test_features_are_finite_and_highest_and_mean_know_no_order(
    claim: str, texts: list[str], language: str
) -> None:
    found = evidence(*texts)
    turned = found._replace(sentences=found.sentences[::-1])
    rows = matrix([claim, claim], [found, turned], lower, lexicon(language))
    assert rows.shape == (2, len(NAMES)) and np.isfinite(rows).all()
    later = [column for column, name in enumerate(NAMES) if not name.endswith(", first")]
    assert np.allclose(rows[0, later], rows[1, later])


@pytest.mark.real
def test_the_multilingual_encoder_tells_a_claim_from_its_opposite() -> None:
    try:
        find_model(MULTILINGUAL)
    except MachineError as error:
        pytest.skip(error.line)
    coffee = evidence(
        "A review of 50 studies concluded that coffee does not cause cancer.",
        "Coffee does not cause any cancer.",
    )
    sales = evidence("Sales rose by a third in 2019.", "In 2019 the firm's sales grew.")
    claims = {
        "Coffee does not cause cancer.": coffee,
        "Sales increased in 2019.": sales,
        "Coffee causes cancer.": coffee,
        "Sales decreased in 2019.": sales,
    }
    with closing(open_encoder(EncoderSettings(model=MULTILINGUAL, threads=1))) as encoder:
        rows = ContrastExtractor(encoder, "en").matrix(list(claims), list(claims.values()))
    assert (rows[:2] > 0).all(), rows
    assert (rows[2:] < 0).all(), rows
