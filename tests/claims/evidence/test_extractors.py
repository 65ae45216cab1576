"""Features by contrast and by entailment: of the first sentence, the highest, the mean; each text is read once."""

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
from factseek.retrieval.dense.encoder import Encoder, Entailment
from factseek.retrieval.encoders.runtime import open_encoder
from factseek.retrieval.encoders.sources import MULTILINGUAL, find_model
from factseek.retrieval.errors import MachineError

CLAIM = "The Nile is long."
VECTORS = {
    CLAIM: (1.0, 0.0),
    "The Nile is short.": (0.0, 1.0),
    "The Nile is not long.": (-1.0, 0.0),
    "It is a brook.": (0.6, 0.8),
    "It is 6,650 km long.": (1.0, 0.0),
    "It flows north.": (0.0, -1.0),
}
NEARER = {"It is a brook.": 0.6 - 0.8, "It is 6,650 km long.": 1.0 - 0.0, "It flows north.": 0.0 - 0.0}
"""The least difference of each sentence: the opposite is the short Nile, the short Nile, the Nile that is not long."""
SAYS = {
    "It is a brook.": Entailment(0.1, 0.7, 0.2),
    "It is 6,650 km long.": Entailment(0.8, 0.1, 0.1),
    "It flows north.": Entailment(0.0, 1.0, 0.0),
}


class Known:
    """An encoder and an entailment model that know a few texts by heart and remember what they were asked."""

    def __init__(self) -> None:
        self.asked: list[object] = []

    def encode_query(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors that are known."""
        self.asked += texts
        return np.array([VECTORS[text] for text in texts], dtype=np.float32)

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


def test_contrast_is_the_least_difference_to_an_opposite() -> None:
    known = Known()
    extractor = ContrastExtractor(cast(Encoder, known), "en")
    both = of(*NEARER)
    rows = extractor.matrix([CLAIM, CLAIM, " "], [both, both._replace(sentences=both.sentences[::-1]), both])
    mean = (-0.2 + 1.0 + 0.0) / 3
    assert rows.tolist() == [pytest.approx([-0.2, 1.0, mean]), pytest.approx([0.0, 1.0, mean]), [0.0] * 3]
    assert extractor.matrix([CLAIM], [of()]).tolist() == [[0.0] * len(CONTRASTED)]
    assert sorted(map(str, known.asked)) == sorted(VECTORS), "each text is encoded once"
    assert ContrastExtractor(cast(Encoder, known), "de").matrix([CLAIM], [both]).tolist() == [[0.0] * 3]


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
