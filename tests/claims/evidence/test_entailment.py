"""Features of an entailment model: of each sentence, asked once, and cut where a probability says no more."""

from __future__ import annotations

import math

import pytest

from factseek.claims.evidence.extractors import ENTAILED, EntailmentExtractor
from factseek.claims.evidence.sentences import ClaimEvidence, EvidenceSentence
from factseek.retrieval.dense.encoder import Entailment

pytestmark = pytest.mark.inner

SAYS = {
    "The Nile is long.": Entailment(0.8, 0.1, 0.1),
    "The Nile is short.": Entailment(0.1, 0.7, 0.2),
    "Pluto is far.": Entailment(0.0, 1.0, 0.0),
}


class Known:
    """An entailment model that knows a few sentences by heart and remembers what it was asked."""

    name = "known"

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def judge(self, text: str, claim: str) -> Entailment:
        """Return what is known of a text."""
        self.asked.append((text, claim))
        return SAYS[text]


def of(*texts: str) -> ClaimEvidence:
    return ClaimEvidence(
        tuple(
            EvidenceSentence(text, 0, text, 1.0, 0.5, 0, len(text), title="", url="", date="", source="")
            for text in texts
        )
    )


def log_odds(probability: float) -> float:
    return math.log(probability / (1 - probability))


def test_first_highest_and_mean_of_the_log_odds() -> None:
    model = Known()
    rows = EntailmentExtractor(model).matrix(
        ["The Nile is a long river."], [of("The Nile is short.", "The Nile is long.")]
    )
    named = dict(zip(ENTAILED, rows[0].tolist(), strict=True))
    assert named == pytest.approx(
        {
            "entails, first": log_odds(0.1),
            "contradicts, first": log_odds(0.7),
            "entails, highest": log_odds(0.8),
            "contradicts, highest": log_odds(0.7),
            "entails, mean": (log_odds(0.1) + log_odds(0.8)) / 2,
            "contradicts, mean": (log_odds(0.7) + log_odds(0.1)) / 2,
        }
    )
    assert model.asked[0] == ("The Nile is short.", "The Nile is a long river."), (
        "the text comes first, as models learn it"
    )


def test_certainty_is_cut_and_nothing_is_zero() -> None:
    rows = EntailmentExtractor(Known()).matrix(["Pluto is near.", "Pluto is near."], [of("Pluto is far."), of()])
    assert rows.tolist() == [pytest.approx([-8.0, 8.0] * 3), [0.0] * 6]
    assert EntailmentExtractor(Known()).matrix([], []).shape == (0, len(ENTAILED))


def test_a_pair_is_asked_once() -> None:
    model = Known()
    reader = EntailmentExtractor(model)
    both = of("The Nile is short.", "The Nile is long.")
    reader.matrix(["c"], [both])
    reader.matrix(["c", "c"], [both._replace(sentences=(sentence,)) for sentence in both.sentences])
    assert len(model.asked) == 2
