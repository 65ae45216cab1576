"""Features by contrast: of each sentence the least that it is nearer to a claim than to an opposite, each text once."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import cast

import numpy as np
import pytest
from numpy.typing import NDArray

from factseek.claims.evidence.extractors import CONTRASTED, ContrastExtractor
from factseek.claims.evidence.sentences import ClaimEvidence, EvidenceSentence
from factseek.retrieval.config import EncoderSettings
from factseek.retrieval.dense.encoder import Encoder
from factseek.retrieval.encoders.runtime import open_encoder
from factseek.retrieval.encoders.sources import MULTILINGUAL, find_model
from factseek.retrieval.errors import MachineError

pytestmark = pytest.mark.inner

CLAIM = "The Nile is long."
VECTORS = {
    CLAIM: (1.0, 0.0),
    "The Nile is short.": (0.0, 1.0),
    "The Nile is not long.": (-1.0, 0.0),
    "It is a brook.": (0.6, 0.8),
    "It is 6,650 km long.": (1.0, 0.0),
    "It flows north.": (0.0, -1.0),
    "Pluto shines.": (0.0, 1.0),
    "It is not true that Pluto shines.": (0.8, 0.6),
}
NEARER = {"It is a brook.": 0.6 - 0.8, "It is 6,650 km long.": 1.0 - 0.0, "It flows north.": 0.0 - 0.0}
"""The least difference of each sentence: the opposite is the short Nile, the short Nile, the Nile that is not long."""


class Known:
    """An encoder that knows a few queries by heart and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def encode_query(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors that are known."""
        self.asked += texts
        return np.array([VECTORS[text] for text in texts], dtype=np.float32)


def reading(encoder: Known, language: str = "en") -> ContrastExtractor:
    return ContrastExtractor(cast(Encoder, encoder), language)


def of(*texts: str) -> ClaimEvidence:
    return ClaimEvidence(
        tuple(
            EvidenceSentence(text, 0, text, 1.0, 0.5, 0, len(text), title="", url="", date="", source="")
            for text in texts
        )
    )


@pytest.mark.parametrize("first", NEARER)
def test_first_highest_and_mean_of_the_least_difference(first: str) -> None:
    texts = [first, *(text for text in NEARER if text != first)]
    rows = reading(Known()).matrix([CLAIM], [of(*texts)])
    assert dict(zip(CONTRASTED, rows[0].tolist(), strict=True)) == pytest.approx(
        {
            "nearer than its opposites, first": NEARER[first],
            "nearer than its opposites, highest": 1.0,
            "nearer than its opposites, mean": (-0.2 + 1.0 + 0.0) / 3,
        },
        abs=1e-6,
    )


@pytest.mark.parametrize(
    ("claim", "language", "texts"),
    [(CLAIM, "en", []), (CLAIM, "de", NEARER), (" ", "en", NEARER), ("", "ar", [])],
    ids=["no sentence", "no lists", "blank claim", "neither"],
)
def test_without_a_sentence_or_an_opposite_all_is_zero_and_nothing_is_encoded(
    claim: str, language: str, texts: Sequence[str]
) -> None:
    encoder = Known()
    assert reading(encoder, language).matrix([claim], [of(*texts)]).tolist() == [[0.0] * len(CONTRASTED)]
    assert encoder.asked == []


def test_a_text_is_encoded_once() -> None:
    encoder = Known()
    reader = reading(encoder)
    evidence = of(*NEARER, *NEARER)
    reader.matrix([CLAIM, CLAIM], [evidence, evidence])
    reader.matrix([CLAIM], [evidence._replace(sentences=evidence.sentences[:1])])
    assert sorted(encoder.asked) == sorted([CLAIM, "The Nile is short.", "The Nile is not long.", *NEARER])


def test_claims_together_and_alone_have_the_same_values() -> None:
    claims = [CLAIM, "Pluto shines.", CLAIM, "Pluto shines."]
    evidence = [of(*NEARER), of("It flows north.", "It is a brook."), of(), of("It is 6,650 km long.")]
    together = reading(Known()).matrix(claims, evidence)
    alone = [
        reading(Known()).matrix([claim], [of_claim])[0].tolist()
        for claim, of_claim in zip(claims, evidence, strict=True)
    ]
    assert together.tolist() == alone
    assert together.shape == (4, len(CONTRASTED))


@pytest.mark.real
def test_the_multilingual_encoder_tells_a_claim_from_its_opposite() -> None:
    try:
        find_model(MULTILINGUAL)
    except MachineError as error:
        pytest.skip(error.line)
    coffee = of(
        "A review of 50 studies concluded that coffee does not cause cancer.", "Coffee does not cause any cancer."
    )
    sales = of("Sales rose by a third in 2019.", "In 2019 the firm's sales grew.")
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
