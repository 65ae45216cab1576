"""Features of claims and evidence."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from factseek.claims.evidence.features import NAMES, covered, matrix
from factseek.claims.evidence.sentences import ClaimEvidence, EvidenceSentence
from factseek.claims.text.polarity import lexicon

WORDS = st.lists(
    st.sampled_from("aspirin lowers raises risk not 20 30 % deaths in 2019 of never ؟ 12,000".split()), max_size=12
).map(" ".join)


def lower(word: str) -> tuple[str, ...]:
    return () if word in ("of", "in") else (word.lower(),)


def evidence(*texts: str) -> ClaimEvidence:
    return ClaimEvidence(
        tuple(EvidenceSentence(f"d{i}", i, text, 0.5, 0.5, 0, 0, "", "", "", "") for i, text in enumerate(texts))
    )


def named(claim: str, *texts: str) -> dict[str, float]:
    row = matrix([claim], [evidence(*texts)], lower, lexicon("en"))[0]
    return dict(zip(NAMES, row.tolist(), strict=True))


@pytest.mark.parametrize(
    ("claim", "text", "name", "value"),
    [
        ("Aspirin lowers risk", "aspirin lowers the risk", "coverage", 1.0),
        ("Aspirin lowers risk", "aspirin", "coverage", 1 / 3),
        ("Aspirin lowers risk", "aspirin and more words", "precision", 1 / 4),
        ("Aspirin lowers risk", "risk lowers aspirin", "word pairs", 0.0),
        ("Aspirin lowers risk", "aspirin lowers it", "word pairs", 0.5),
        ("Aspirin lowers risk", "aspirin raises risk", "direction differs", 1.0),
        ("Aspirin lowers risk", "aspirin reduces risk", "direction agrees", 1.0),
        ("Aspirin lowers risk", "aspirin does not lower risk", "negation differs", 1.0),
        ("Aspirin never lowers risk", "aspirin does not lower risk", "both negated", 1.0),
        ("20 deaths", "there were 30 deaths", "numbers contradicted", 1.0),
        ("20 deaths", "there were 20 deaths", "numbers repeated", 1.0),
    ],
)
def test_a_feature_says_what_it_is_called(claim: str, text: str, name: str, value: float) -> None:
    assert named(claim, text)[f"{name}, first"] == pytest.approx(value)
    assert named(claim, text)[f"{name}, mean"] == pytest.approx(value)


def test_a_number_that_some_sentence_repeats_is_contradicted_by_none() -> None:
    row = named("20 deaths", "there were 30 deaths", "there were 20 deaths")
    assert [row[f"numbers contradicted, {which}"] for which in ("first", "highest", "mean")] == [0.0] * 3
    assert [row[f"numbers repeated, {which}"] for which in ("first", "highest", "mean")] == [0.0, 1.0, 0.5]
    assert named("20 deaths", "there were 30 deaths", "there were 40 deaths")["numbers contradicted, mean"] == 1.0


def test_all_evidence_counts_together() -> None:
    claim = "Aspirin lowers risk"
    assert (
        named(claim, "aspirin", "risk")["covered by all"] == covered(claim, evidence("aspirin", "risk"), lower) == 2 / 3
    )
    assert covered(claim, ClaimEvidence(()), lower) == 0.0
    assert covered("of", evidence("of"), lower) == 0.0


@given(WORDS, st.lists(WORDS, max_size=5), st.sampled_from(["en", "ar", "xx"]))
def test_features_are_finite_and_their_highest_and_mean_know_no_order(
    claim: str, texts: list[str], language: str
) -> None:
    found = evidence(*texts)
    turned = found._replace(sentences=found.sentences[::-1])
    rows = matrix([claim, claim], [found, turned], lower, lexicon(language))
    assert rows.shape == (2, len(NAMES)) and np.isfinite(rows).all()
    later = [column for column, name in enumerate(NAMES) if not name.endswith(", first")]
    assert np.allclose(rows[0, later], rows[1, later])


def test_no_claims_make_an_empty_matrix() -> None:
    assert matrix([], [], lower, lexicon("en")).shape == (0, len(NAMES))
