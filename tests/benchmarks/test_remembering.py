"""An encoder that encodes a text once gives what it would give without."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.data import RememberingEncoder
from factseek.retrieval.config import EncoderSettings
from factseek.retrieval.encoders.runtime import open_encoder

pytestmark = pytest.mark.inner


def test_vectors_are_those_of_the_encoder_however_often_they_are_asked_for() -> None:
    plain = open_encoder(EncoderSettings())
    kept = RememberingEncoder(plain)
    texts = ["Masks slow the spread.", "The rate fell by 3 percent.", "Masks slow the spread."]
    for encode, again in (
        (plain.encode_query, kept.encode_query),
        (plain.encode_document, kept.encode_document),
    ):
        expected = encode(texts)
        assert (again(texts[:1]) == expected[:1]).all()
        assert (again(texts) == expected).all()
        assert (again(texts[::-1]) == expected[::-1]).all()
    assert kept.encode_query([]).shape == (0, plain.dimension)
    assert (np.concatenate(list(kept.encode_documents_stream(texts, 2))) == plain.encode_document(texts)).all()
    kept.close()
